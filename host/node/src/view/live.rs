//! The view while there is a host: made when the host first asks for it, changed when the operator's configuration says
//! so and when the machine's files and mounts change.
//!
//! Owns when, and whose word counts: what the host said before it loaded anything, and later the operator's
//! configuration alone. It must not be asked for any path. Its work is done on threads of its own, because a
//! file system that hangs must not keep the launcher from starting a helper.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::View;
use super::watch::Watch;
use crate::configuration::{Reach, Text};
use crate::error::{ErrorCode, NodeError};
use crate::visible::{ReadVisible, Visible};

/// The kernel's list of mounts, which tells when it changes.
const MOUNTS: &str = "/proc/self/mountinfo";
/// How often it is looked for what took the place of something; of mounts, and of names in the same directory, the kernel
/// tells.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
/// Changes that come together are looked at together, and a directory in which much goes on costs little.
const TOGETHER: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// The same of mounts, unless a name changes meanwhile: a look reads some hundred names, and on a node pods come and go. What
/// was moved away must not be shown for so long: it may be a link between sites that is cut.
const MOUNTS_TOGETHER: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };
/// How long the host waits for what it asked for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Number of paths, and the namespace if it is new.
type Shown = (usize, Option<OwnedFd>);

/// What is shown to the host.
#[derive(Debug, Clone)]
pub(crate) struct LiveView {
    state_dir: PathBuf,
    file: Option<PathBuf>,
    at_first: Vec<Visible>,
    read: ReadVisible,
    view: Arc<Mutex<Option<View>>>,
}

impl LiveView {
    pub(crate) fn new(state_dir: PathBuf, file: Option<PathBuf>, at_first: Vec<Visible>, read: ReadVisible) -> Self {
        Self { state_dir, file, at_first, read, view: Arc::default() }
    }

    /// Makes the view, or shows what the configuration names by now.
    pub(crate) fn show(&self) -> Result<Shown, NodeError> {
        let (tell, told) = mpsc::channel();
        let own = self.clone();
        in_background(move || {
            // Nobody waits any more if it took too long.
            let _ = tell.send(own.shown());
        })?;
        let late = "the machine's files are not looked at in time: one of its file systems hangs";
        told.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(NodeError::new(ErrorCode::Limit, late)))
    }

    fn shown(&self) -> Result<Shown, NodeError> {
        let mut held = self.lock();
        if let Some(view) = &mut *held {
            self.renew(view)?;
            return Ok((view.paths(), None));
        }
        let view = View::make(&self.state_dir, self.at_first.clone())?;
        let failed = |error| NodeError::io("copying a descriptor", &error);
        let namespace = view.namespace().try_clone_to_owned().map_err(failed)?;
        let mounts = File::open(MOUNTS).map_err(|error| NodeError::io(format!("opening {MOUNTS}"), &error))?;
        let paths = view.paths();
        *held = Some(view);
        drop(held);
        let own = self.clone();
        in_background(move || own.follow(&mounts))?;
        Ok((paths, Some(namespace)))
    }

    /// Shows what the configuration names by now, and what is there by now.
    fn renew(&self, view: &mut View) -> Result<(), NodeError> {
        let new = match &self.file {
            None => Vec::new(),
            Some(file) => {
                let reach = Reach { state_dir: &self.state_dir, written: view.written() };
                let text = Text::read(file, &reach)?;
                let mut visible = text.says(self.read)?;
                visible.retain(|it| !view.knows(it));
                if !visible.is_empty() {
                    text.believe()?;
                }
                visible
            }
        };
        let refused = view.show(new)?;
        if refused.is_empty() { Ok(()) } else { Err(super::failed_to_show(&refused)) }
    }

    fn follow(&self, mounts: &File) {
        // Without it, what is moved is found by looking.
        let names = Watch::new().ok();
        loop {
            if let (Some(view), Some(names)) = (&*self.lock(), &names) {
                names.cover(view.places());
            }
            let mut changes = vec![PollFd::new(mounts, PollFlags::PRI)];
            changes.extend(names.as_ref().map(|names| PollFd::new(names, PollFlags::IN)));
            // Whatever it says, a look does no harm.
            let told = poll(&mut changes, Some(&LOOK_EVERY));
            if told.is_ok_and(|count| count > 0) {
                let mut moved: Vec<_> = names.iter().map(|names| PollFd::new(names, PollFlags::IN)).collect();
                let _ = poll(&mut moved, Some(&MOUNTS_TOGETHER));
                let _ = poll(&mut [], Some(&TOGETHER));
            }
            names.iter().for_each(Watch::forget);
            // Right before they are watched, so that what hangs is known.
            if let Some(view) = &mut *self.lock() {
                view.follow();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<View>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_background(work: impl FnOnce() + Send + 'static) -> Result<(), NodeError> {
    let started = thread::Builder::new().name("live".to_owned()).spawn(work);
    started.map(drop).map_err(|error| NodeError::io("starting a thread", &error))
}
