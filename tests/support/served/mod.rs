//! A directory behind a server, which the test is (FUSE): all that is asked goes through to a plain directory, until the
//! server stops answering, as one on another machine does, or says that what was there is gone. The kernel keeps nothing:
//! every look asks.

mod server;

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

use self::server::Server;
use super::place::may_mount;

/// How the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Well,
    /// It takes no request: what asks waits, and can be killed.
    Hangs,
    /// Every answer is ESTALE.
    Stale,
}

/// The directory; it goes with all that is in it.
#[derive(Debug)]
pub struct Served {
    shared: PathBuf,
    mounted: PathBuf,
    control: Arc<Control>,
    thread: Option<JoinHandle<()>>,
    _directory: TempDir,
}

#[derive(Debug)]
struct Control {
    state: Mutex<State>,
    changed: Condvar,
    wake: OwnedFd,
}

#[derive(Debug)]
struct State {
    /// None: it is to end.
    mood: Option<Mood>,
    parked: bool,
}

impl Served {
    /// None: nothing can be mounted here, which is said aloud.
    pub fn make() -> Option<Self> {
        if !may_mount() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let (plain, mounted) = (directory.path().join("plain"), directory.path().join("mounted"));
        std::fs::create_dir_all(plain.join("shared")).unwrap();
        std::fs::create_dir(&mounted).unwrap();
        let device = rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty());
        let device = device.expect("root can open /dev/fuse");
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
        let options = CString::new(options).unwrap();
        mount("served", &mounted, "fuse", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str()).unwrap();
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
        let state = Mutex::new(State { mood: Some(Mood::Well), parked: false });
        let control = Arc::new(Control { state, changed: Condvar::new(), wake });
        let (own, server) = (Arc::clone(&control), Server::of(&plain));
        let thread = std::thread::spawn(move || own.serve(&device, server));
        let shared = mounted.join("shared");
        Some(Self { shared, mounted, control, thread: Some(thread), _directory: directory })
    }

    /// A directory within what is served.
    pub fn path(&self) -> &Path {
        &self.shared
    }

    /// From now on the server is like this: when this returns, nothing is answered otherwise.
    pub fn set(&self, mood: Mood) {
        self.control.tell(Some(mood));
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The end of the server is the end of all that waits.
        self.control.tell(None);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = unmount(&self.mounted, UnmountFlags::DETACH);
    }
}

impl Control {
    fn tell(&self, mood: Option<Mood>) {
        let mut state = self.state.lock().unwrap();
        state.mood = mood;
        self.changed.notify_all();
        rustix::io::write(&self.wake, &1_u64.to_ne_bytes()).unwrap();
        while state.mood == Some(Mood::Hangs) && !state.parked {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// Waits while it hangs; none: it is to end.
    fn mood(&self) -> Option<Mood> {
        let mut state = self.state.lock().unwrap();
        while state.mood == Some(Mood::Hangs) {
            state.parked = true;
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap();
        }
        state.parked = false;
        state.mood
    }

    fn serve(&self, device: &OwnedFd, mut server: Server) {
        let mut buffer = vec![0; 1 << 18];
        while let Some(mood) = self.mood() {
            let mut ready = [PollFd::new(device, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
            poll(&mut ready, None).unwrap();
            let woken = !ready[1].revents().is_empty();
            if woken {
                let _ = rustix::io::read(&self.wake, &mut [0; 8]);
                continue;
            }
            match rustix::io::read(device, &mut *buffer) {
                Ok(length) => {
                    if let Some(answer) = server.answer(&buffer[..length], mood) {
                        // A request that was interrupted is not waited for any more.
                        let _ = rustix::io::write(device, &answer);
                    }
                }
                Err(Errno::AGAIN | Errno::INTR | Errno::NOENT) => {}
                Err(_) => return,
            }
        }
    }
}
