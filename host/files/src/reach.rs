//! Work in a directory whose server may never answer, for those who can do without it: apart, with an end to the
//! waiting. Only a directory that is optional is worked in like this; decides nothing else.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use rustix::io::Errno;

/// How long is waited for one piece of work: less than a step of the background may take. A server that is slower than
/// this is taken for one that hangs.
const PATIENCE: Duration = Duration::from_secs(3);
/// The same for what brings all that was written to the server's disk, sets blocks aside or reads hundreds of megabytes: a
/// server that does so is slow, and answers.
const LONG: Duration = Duration::from_secs(30);
/// How long is waited for a directory to be opened or looked at: a look at all of them waits for each.
const A_LOOK: Duration = Duration::from_secs(1);

const UNDER_WAY: u8 = 0;
const GIVEN_UP: u8 = 1;
const DONE: u8 = 2;

/// The ways to a backend's directories. All its generations share them: what hangs for one hangs for the next.
#[derive(Debug, Clone, Default)]
pub struct Reaches(Arc<Mutex<BTreeMap<PathBuf, Reach>>>);

impl Reaches {
    /// The way to the directory of this path.
    pub(super) fn to(&self, host: &Path) -> Reach {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(host.to_owned()).or_default().clone()
    }
}

/// A way to a directory, or to several, with how many pieces of work hang in each of them now.
#[derive(Debug, Clone)]
pub struct Reach {
    hanging: Vec<Arc<AtomicUsize>>,
    patience: Duration,
}

impl Default for Reach {
    fn default() -> Self {
        Self { hanging: vec![Arc::default()], patience: PATIENCE }
    }
}

impl Reach {
    /// For work in the directories of all of these; none: it is waited for without end.
    pub fn to_all(guards: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        guards.into_iter().flatten().reduce(Self::and)
    }

    fn and(mut self, other: Self) -> Self {
        for counter in other.hanging {
            if !self.hanging.iter().any(|known| Arc::ptr_eq(known, &counter)) {
                self.hanging.push(counter);
            }
        }
        self
    }

    /// For work that takes long where a server is slow.
    #[must_use]
    pub fn for_long(self) -> Self {
        Self { patience: LONG, ..self }
    }

    /// Does `work` on a thread of its own. Work that hangs holds that thread, and nothing else is begun until it is back:
    /// what it does then comes before whatever is done later.
    ///
    /// # Errors
    /// Its own, or `ETIMEDOUT` where it hangs.
    pub fn try_to<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        self.try_for(self.patience, work)
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
        let (stage, hanging) = (Arc::new(AtomicU8::new(UNDER_WAY)), self.clone());
        let own = Arc::clone(&stage);
        std::thread::Builder::new().name("reach".to_owned()).spawn(move || {
            // The caller may have given up.
            let _ = tell.send(work());
            if own.swap(DONE, Ordering::AcqRel) == GIVEN_UP {
                hanging.is_back();
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
        self.hang();
        let hanging = self.clone();
        let begun = std::thread::Builder::new().name("reach".to_owned()).spawn(move || {
            work();
            hanging.is_back();
        });
        if begun.is_err() {
            self.is_back();
        }
    }

    fn give_up<T>(&self, stage: &AtomicU8, told: &mpsc::Receiver<T>) -> io::Result<T> {
        self.hang();
        let given_up = stage.compare_exchange(UNDER_WAY, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire);
        if given_up.is_ok() {
            return Err(Errno::TIMEDOUT.into());
        }
        // It came back just now.
        self.is_back();
        told.try_recv().map_err(|_| Errno::IO.into())
    }

    /// Whether something hangs there.
    pub fn hangs(&self) -> bool {
        self.hanging.iter().any(|hanging| hanging.load(Ordering::Acquire) > 0)
    }

    fn hang(&self) {
        for hanging in &self.hanging {
            hanging.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn is_back(&self) {
        for hanging in &self.hanging {
            hanging.fetch_sub(1, Ordering::AcqRel);
        }
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
    fn the_next_generation_knows_what_hangs_and_other_directories_do_not() {
        let (reaches, (free, held)) = (Reaches::default(), mpsc::channel::<()>());
        let [one, other] = ["/one", "/other"].map(Path::new);
        reaches.to(one).try_for(SOON, move || held.recv()).unwrap_err();
        assert!(reaches.to(one).hangs() && !reaches.to(other).hangs());
        free.send(()).unwrap();
        while reaches.to(one).hangs() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn work_in_two_directories_hangs_in_both_and_is_not_begun_where_one_hangs() {
        let [one, other] = [Reach::default(), Reach::default()];
        let (free, held) = mpsc::channel::<()>();
        let both = Reach::to_all([None, Some(one.clone()), Some(other.clone()), Some(one.clone())]).unwrap();
        both.try_for(SOON, move || held.recv()).unwrap_err();
        assert!(one.hangs() && other.hangs());
        free.send(()).unwrap();
        while both.hangs() {
            std::thread::yield_now();
        }
        let (free, held) = mpsc::channel::<()>();
        other.try_for(SOON, move || held.recv()).unwrap_err();
        assert!(both.try_to(|| ()).is_err() && one.try_to(|| ()).is_ok());
        free.send(()).unwrap();
    }

    #[test]
    fn what_takes_long_is_waited_for_longer() {
        assert_eq!(Reach::default().patience, PATIENCE);
        assert!(Reach::default().for_long().patience >= 5 * PATIENCE);
    }

    #[test]
    fn work_that_breaks_leaves_nothing_hanging() {
        let reach = Reach::default();
        assert!(reach.try_to(|| panic!("broken on purpose")).is_err());
        assert!(!reach.hangs());
    }
}
