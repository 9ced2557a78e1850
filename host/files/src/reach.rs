//! Opening a directory whose server may never answer, for those who can do without it: apart, with an end to the
//! waiting. Only a directory that is optional is reached so; decides nothing else.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rustix::io::Errno;

/// How long is waited for a directory to be opened.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether a directory has hung, and still does.
#[derive(Debug, Default)]
pub(super) struct Reach(Arc<AtomicBool>);

impl Reach {
    /// Does `open` on a thread of its own. One that hangs holds that thread, and no other is begun until it is back.
    ///
    /// # Errors
    /// Its own, or `ETIMEDOUT` where it hangs.
    pub(super) fn try_to<T: Send + 'static>(
        &self,
        open: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        if self.0.load(Ordering::Acquire) {
            return Err(Errno::TIMEDOUT.into());
        }
        let (tell, told) = mpsc::channel();
        let hangs = Arc::clone(&self.0);
        std::thread::Builder::new().name("reach".to_owned()).spawn(move || {
            let opened = open();
            // Whoever asked may have given up.
            let _ = tell.send(opened);
            hangs.store(false, Ordering::Release);
        })?;
        if let Ok(opened) = told.recv_timeout(PATIENCE) {
            return opened;
        }
        self.0.store(true, Ordering::Release);
        // It may have come back just before that was written down.
        let Ok(opened) = told.try_recv() else { return Err(Errno::TIMEDOUT.into()) };
        self.0.store(false, Ordering::Release);
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_asked_once_until_it_is_back() {
        let reach = Reach::default();
        assert_eq!(reach.try_to(|| Ok(1)).unwrap(), 1);
        assert!(reach.try_to::<()>(|| Err(io::ErrorKind::NotFound.into())).is_err());
        let (free, held) = mpsc::channel::<()>();
        let hangs = reach.try_to(move || held.recv().map_err(io::Error::other));
        assert_eq!(hangs.unwrap_err().raw_os_error(), Some(Errno::TIMEDOUT.raw_os_error()));
        let (asked, was_asked) = mpsc::channel();
        let meanwhile = reach.try_to(move || asked.send(()).map_err(io::Error::other));
        assert_eq!(meanwhile.unwrap_err().raw_os_error(), Some(Errno::TIMEDOUT.raw_os_error()));
        assert!(was_asked.try_recv().is_err(), "nobody else waits for it");
        free.send(()).unwrap();
        while reach.0.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        assert_eq!(reach.try_to(|| Ok(2)).unwrap(), 2);
    }
}
