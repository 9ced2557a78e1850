//! Work in a directory whose server may never answer, for those who can do without it: apart, with an end to the
//! waiting. Only a directory that is optional is worked in like this; decides nothing else.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rustix::io::Errno;

/// How long is waited for one piece of work: less than a step of the background may take. A server that is slower than
/// this is taken for one that hangs.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long is waited for a directory to be opened or looked at: whoever asks for all of them waits for each.
const A_LOOK: Duration = Duration::from_secs(1);

const UNDER_WAY: u8 = 0;
const GIVEN_UP: u8 = 1;
const DONE: u8 = 2;

/// A way to a directory, with how many pieces of work hang there now.
#[derive(Debug, Clone, Default)]
pub struct Reach(Arc<AtomicUsize>);

impl Reach {
    /// Does `work` on a thread of its own. Work that hangs holds that thread, and nothing else is begun until it is back:
    /// what it does then comes before whatever is done later.
    ///
    /// # Errors
    /// Its own, or `ETIMEDOUT` where it hangs.
    pub fn try_to<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        self.try_for(PATIENCE, work)
    }

    /// The same for a look at the directory itself.
    ///
    /// # Errors
    /// As `try_to`.
    pub(super) fn try_to_look<T: Send + 'static>(&self, look: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        self.try_for(A_LOOK, look)
    }

    fn try_for<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        if self.hangs() {
            return Err(Errno::TIMEDOUT.into());
        }
        let (tell, told) = mpsc::channel();
        let (stage, hanging) = (Arc::new(AtomicU8::new(UNDER_WAY)), Arc::clone(&self.0));
        let own = Arc::clone(&stage);
        std::thread::Builder::new().name("reach".to_owned()).spawn(move || {
            // Whoever asked may have given up.
            let _ = tell.send(work());
            if own.swap(DONE, Ordering::AcqRel) == GIVEN_UP {
                hanging.fetch_sub(1, Ordering::AcqRel);
            }
        })?;
        match told.recv_timeout(patience) {
            Ok(done) => Ok(done),
            // It broke, which the log says.
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(Errno::IO.into()),
            Err(mpsc::RecvTimeoutError::Timeout) => self.give_up(&stage, &told),
        }
    }

    /// Does `work` on a thread that nobody waits for; until it is back, it hangs. Without a thread it is dropped.
    pub(super) fn leave_to(&self, work: impl FnOnce() + Send + 'static) {
        self.0.fetch_add(1, Ordering::AcqRel);
        let hanging = Arc::clone(&self.0);
        let begun = std::thread::Builder::new().name("reach".to_owned()).spawn(move || {
            work();
            hanging.fetch_sub(1, Ordering::AcqRel);
        });
        if begun.is_err() {
            self.0.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn give_up<T>(&self, stage: &AtomicU8, told: &mpsc::Receiver<T>) -> io::Result<T> {
        self.0.fetch_add(1, Ordering::AcqRel);
        let given_up = stage.compare_exchange(UNDER_WAY, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire);
        if given_up.is_ok() {
            return Err(Errno::TIMEDOUT.into());
        }
        // It came back just now.
        self.0.fetch_sub(1, Ordering::AcqRel);
        told.try_recv().map_err(|_| Errno::IO.into())
    }

    /// Whether something hangs there.
    pub fn hangs(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    #[test]
    fn what_hangs_is_asked_once_until_it_is_back() {
        let reach = Reach::default();
        assert_eq!(reach.try_to(|| 1).unwrap(), 1);
        let (free, held) = mpsc::channel::<()>();
        let hangs = reach.try_for(SOON, move || held.recv());
        assert_eq!(hangs.unwrap_err().raw_os_error(), Some(Errno::TIMEDOUT.raw_os_error()));
        let (asked, was_asked) = mpsc::channel();
        let meanwhile = reach.try_to(move || asked.send(()));
        assert_eq!(meanwhile.unwrap_err().raw_os_error(), Some(Errno::TIMEDOUT.raw_os_error()));
        assert!(was_asked.try_recv().is_err(), "nobody else waits for it");
        free.send(()).unwrap();
        while reach.hangs() {
            std::thread::yield_now();
        }
        assert_eq!(reach.try_to(|| 2).unwrap(), 2);
    }

    #[test]
    fn work_within_work_that_hangs_is_still_hanging_when_the_outer_has_ended() {
        let reach = Reach::default();
        let (free, held) = mpsc::channel::<()>();
        let within = reach.clone();
        let outer = reach.try_to(move || within.try_for(SOON, move || held.recv()).is_err());
        assert!(outer.unwrap() && reach.hangs());
        free.send(()).unwrap();
        while reach.hangs() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn work_that_breaks_leaves_nothing_hanging() {
        let reach = Reach::default();
        assert!(reach.try_to(|| panic!("broken on purpose")).is_err());
        assert!(!reach.hangs());
    }
}
