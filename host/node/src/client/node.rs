//! The host's handle to the helper process.
//!
//! Owns the process, the socket and the replies that are awaited. It runs its I/O on threads of its
//! own and answers through oneshot channels, so that any runtime can await it and a busy runtime
//! never delays a thaw. It must not decide anything about volumes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType};
use tokio::sync::oneshot;

use super::launcher::Launcher;
use super::requests::{recovery, rereading, unexpected};
use crate::error::{ErrorCode, NodeError};
use crate::frames;
use crate::permissions::{Mandate, Permissions, PermissionsByName};
use crate::protocol::{Answer, Caller, Numbered, RecoveryReport, Reply, Request};

/// How to start the helper. It gets its socket as its standard input: that one is handed over without ever being
/// inheritable in this process, where other threads may start programs.
#[derive(Debug, Clone)]
pub(crate) enum Launch {
    /// By a process that still has the right to.
    Through(Arc<Launcher>),
    /// By this process, from another program: for tests.
    #[cfg(test)]
    Program { exe: std::path::PathBuf, arguments: Vec<String>, variable: &'static str, mandate: Mandate },
}

impl Launch {
    fn mandate(&self) -> &Mandate {
        match self {
            Self::Through(launcher) => launcher.mandate(),
            #[cfg(test)]
            Self::Program { mandate, .. } => mandate,
        }
    }
}

/// A handle to the helper; clones speak to the same process. When the last one is dropped the
/// helper finishes what it is doing, thaws what is frozen and ends.
#[derive(Debug, Clone)]
pub struct Node {
    inner: Arc<Inner>,
    /// The only helper that is spoken to; none: whichever there is.
    pinned: Option<u64>,
}

#[derive(Debug)]
struct Inner {
    launch: Launch,
    connection: Mutex<Connection>,
    /// What the helper allows, as far as it differs from the mandate: the next one reads it anew.
    reread: Mutex<PermissionsByName>,
    /// One next helper at a time.
    respawning: tokio::sync::Mutex<()>,
}

type Answered = Result<Answer, NodeError>;

#[derive(Debug)]
struct Connection {
    /// Tells this helper from those before it; process ids come again.
    serial: u64,
    outgoing: Outgoing,
    awaited: Arc<Mutex<Awaited>>,
    process: u32,
}

#[derive(Debug, Default)]
struct Awaited {
    replies: HashMap<u64, oneshot::Sender<Answered>>,
    watchers: Vec<oneshot::Sender<()>>,
    /// Why there will be no more replies.
    gone: Option<String>,
}

/// What a component says in a request, in bytes: paths, options and names.
const LONGEST_WORDS: usize = 64 * 1024;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);
static NEXT_HELPER: AtomicU64 = AtomicU64::new(1);

impl Node {
    pub(crate) fn start(launch: Launch) -> Result<Self, NodeError> {
        let connection = Connection::open(&launch)?;
        let inner = Inner {
            launch,
            connection: Mutex::new(connection),
            reread: Mutex::new(PermissionsByName::new()),
            respawning: tokio::sync::Mutex::new(()),
        };
        Ok(Self { inner: Arc::new(inner), pinned: None })
    }

    /// A handle to the helper that there is now and to no later one: to those that come after it,
    /// what is asked here is `gone`. For the work of one call, because the next helper begins by undoing
    /// what calls under way have made, and a call that went on with it would build on what is no more.
    #[must_use]
    pub fn pinned(&self) -> Self {
        let serial = lock(&self.inner.connection).serial;
        Self { inner: Arc::clone(&self.inner), pinned: Some(serial) }
    }

    /// Sends one request and awaits its answer. Dropping the future does not end the work.
    pub async fn request(&self, request: Request) -> Result<Answer, NodeError> {
        let receiver = self.submit(request)?;
        received(receiver).await
    }

    /// Whether the helper is known to allow a backend exactly this.
    pub(super) fn permits(&self, backend: &str, wanted: &Permissions) -> bool {
        let reread = lock(&self.inner.reread);
        let known = reread.get(backend).or_else(|| self.inner.launch.mandate().backends.get(backend));
        known == Some(wanted)
    }

    /// Keeps in mind what the helper read in the operator's configuration.
    pub(super) fn note(&self, backend: &str, permissions: Permissions) {
        lock(&self.inner.reread).insert(backend.to_owned(), permissions);
    }

    fn submit(&self, request: Request) -> Result<oneshot::Receiver<Answered>, NodeError> {
        let connection = lock(&self.inner.connection);
        if self.pinned.is_some_and(|serial| serial != connection.serial) {
            return Err(NodeError::gone("another one has taken over"));
        }
        Ok(connection.submit(request))
    }

    /// Completes when the helper is gone; [`Self::respawn`] should follow at once, because a file
    /// system may be frozen.
    pub async fn closed(&self) {
        let (sender, receiver) = oneshot::channel();
        {
            let connection = lock(&self.inner.connection);
            let mut awaited = lock(&connection.awaited);
            if awaited.gone.is_some() {
                return;
            }
            awaited.watchers.push(sender);
        }
        // An error means the connection was dropped, which is an end as well.
        let _ = receiver.await;
    }

    /// Whether the helper is known to be gone.
    pub fn is_closed(&self) -> bool {
        lock(&lock(&self.inner.connection).awaited).gone.is_some()
    }

    /// Starts a new helper if the last one is gone, has it read what the last one had read, and recovers.
    /// None: the helper is alive. Until it has recovered nobody else can ask it for anything.
    pub async fn respawn(&self) -> Result<Option<RecoveryReport>, NodeError> {
        let _alone = self.inner.respawning.lock().await;
        if !self.is_closed() {
            return Ok(None);
        }
        let connection = Connection::open(&self.inner.launch)?;
        let reread: Vec<_> = lock(&self.inner.reread).keys().cloned().collect();
        for backend in reread {
            let answer = received(connection.submit(rereading(&backend))).await;
            match answer {
                Ok(Answer::Permitted(permissions)) => self.note(&backend, permissions),
                Ok(other) => return Err(unexpected(&other)),
                Err(error) if error.code == ErrorCode::Gone => return Err(error),
                Err(error) => {
                    tracing::warn!(backend, %error, "node work goes on with what was granted at the start");
                    lock(&self.inner.reread).remove(&backend);
                }
            }
        }
        let answer = received(connection.submit(recovery())).await?;
        let Answer::Recovered(report) = answer else { return Err(unexpected(&answer)) };
        *lock(&self.inner.connection) = connection;
        Ok(Some(report))
    }

    /// The process id of the helper, for the log.
    pub fn process_id(&self) -> u32 {
        lock(&self.inner.connection).process
    }
}

async fn received(receiver: oneshot::Receiver<Answered>) -> Answered {
    receiver.await.unwrap_or_else(|_| Err(NodeError::gone("its connection was replaced")))
}

/// The most bytes of a request: a little for what a component says, since the helper reads one request after the other and
/// all backends wait for it, and room for what the client's call names.
fn longest(request: &Request) -> usize {
    /// In JSON a byte takes six at most.
    const ESCAPED: usize = 6;
    /// Of an entry of a list: its keys and quotes.
    const AROUND: usize = 64;
    let Caller { backend, call, volumes, paths } = &request.caller;
    let named = volumes.iter().chain(paths.iter().map(|it| &it.path)).chain([backend, call]);
    named.fold(LONGEST_WORDS, |sum, text| sum.saturating_add(text.len().saturating_mul(ESCAPED)).saturating_add(AROUND))
}

impl Connection {
    fn open(launch: &Launch) -> Result<Self, NodeError> {
        let failed = |errno| NodeError::system("making the node helper's socket", errno);
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(failed)?;
        let reading = ours.try_clone().map_err(|error| NodeError::io("copying a socket", &error))?;
        let process = start_process(launch, theirs)?;
        let awaited = Arc::new(Mutex::new(Awaited::default()));
        let (outgoing, queue, waiting) = Outgoing::new(ours);
        let (for_writer, for_reader) = (Arc::clone(&outgoing.socket), Arc::clone(&awaited));
        run("node-write", move || write(&for_writer, &queue, &waiting))?;
        run("node-read", move || read(&reading, &for_reader))?;
        Ok(Self { serial: NEXT_HELPER.fetch_add(1, Ordering::Relaxed), outgoing, awaited, process })
    }

    fn submit(&self, request: Request) -> oneshot::Receiver<Answered> {
        let (sender, receiver) = oneshot::channel();
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let most = longest(&request);
        let frame = frames::within(&Numbered { id, request }, most);
        let mut awaited = lock(&self.awaited);
        if let Some(why) = &awaited.gone {
            // The receiver is at hand, so this cannot fail.
            let _ = sender.send(Err(NodeError::gone(why)));
            return receiver;
        }
        let Ok(frame) = frame else {
            let message = "the words of a request for node work are too long: 64 KiB at most";
            // As above.
            let _ = sender.send(Err(NodeError::new(ErrorCode::Invalid, message)));
            return receiver;
        };
        awaited.replies.insert(id, sender);
        drop(awaited);
        self.outgoing.send(frame);
        receiver
    }
}

/// The way to the helper. Whoever has a frame sends it, which saves a thread's wake-up for each; what would have to wait is left
/// to the writer, and what comes then queues behind it.
#[derive(Debug)]
struct Outgoing {
    socket: Arc<OwnedFd>,
    queue: mpsc::Sender<Vec<u8>>,
    /// Frames that the writer has not sent yet.
    waiting: Arc<Mutex<usize>>,
}

impl Outgoing {
    fn new(socket: OwnedFd) -> (Self, mpsc::Receiver<Vec<u8>>, Arc<Mutex<usize>>) {
        let (queue, queued) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(0));
        (Self { socket: Arc::new(socket), queue, waiting: Arc::clone(&waiting) }, queued, waiting)
    }

    fn send(&self, frame: Vec<u8>) {
        let mut waiting = lock(&self.waiting);
        if *waiting == 0 && frames::try_send_frame(&*self.socket, &frame) {
            return;
        }
        *waiting += 1;
        // If the writer has ended, the reader is about to answer everything that is awaited.
        let _ = self.queue.send(frame);
    }
}

/// Starts a helper with its end of the socket; its log comes here. Gives its process id.
fn start_process(launch: &Launch, socket: OwnedFd) -> Result<u32, NodeError> {
    let made = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (lines, log) = made.map_err(|errno| NodeError::system("making a pipe for the node helper's log", errno))?;
    let process = match launch {
        Launch::Through(launcher) => {
            let process = launcher.launch(&socket, &log)?;
            // From now on the helper's alone: its death is known from that.
            drop((socket, log));
            process
        }
        #[cfg(test)]
        Launch::Program { exe, arguments, variable, mandate } => {
            start_program(exe, arguments, (variable, mandate), (socket, log))
        }
    };
    run("node-log", move || forward(File::from(lines)))?;
    Ok(process)
}

/// The launcher of tests: a thread that waits for its helper's end.
#[cfg(test)]
fn start_program(
    exe: &std::path::Path,
    arguments: &[String],
    (variable, mandate): (&str, &Mandate),
    (socket, log): (OwnedFd, OwnedFd),
) -> u32 {
    let mut command = std::process::Command::new(exe);
    let sealed = crate::sealed::seal(mandate).unwrap();
    command.args(arguments).env(variable, crate::sealed::number(&sealed).unwrap());
    command.stdin(socket).stdout(std::process::Stdio::null()).stderr(log);
    let mut child = command.spawn().unwrap();
    let process = child.id();
    thread::spawn(move || child.wait());
    process
}

fn run(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), NodeError> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| NodeError::io("starting a thread", &error))
}

fn write(socket: &OwnedFd, queue: &mpsc::Receiver<Vec<u8>>, waiting: &Mutex<usize>) {
    while let Ok(frame) = queue.recv() {
        if frames::send_frame(socket, &frame).is_err() {
            // What comes now is for nobody.
            break;
        }
        *lock(waiting) -= 1;
    }
    // The end of the stream is how the helper learns that nobody needs it any more. An error means
    // that it knows already.
    let _ = rustix::net::shutdown(socket, Shutdown::Write);
}

fn read(socket: &OwnedFd, awaited: &Mutex<Awaited>) {
    let mut refusal = None;
    let ended = loop {
        match frames::receive::<Reply>(socket) {
            // Why it cannot begin.
            Ok(Some(Reply { id: 0, result })) => refusal = result.err().map(|it| it.message),
            Ok(Some(reply)) => {
                if let Some(sender) = lock(awaited).replies.remove(&reply.id) {
                    // Nobody waits any more if the caller was dropped.
                    let _ = sender.send(reply.result);
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(format!("its answers could not be read: {error}")),
        }
    };
    let mut waiting = lock(awaited);
    let why = refusal.or(ended).unwrap_or_else(|| "it ended".to_owned());
    for (_, sender) in waiting.replies.drain() {
        // As above.
        let _ = sender.send(Err(NodeError::gone(&why)));
    }
    waiting.gone = Some(why);
    for watcher in waiting.watchers.drain(..) {
        // As above.
        let _ = watcher.send(());
    }
}

fn forward(lines: impl Read) {
    for line in BufReader::new(lines).lines() {
        let Ok(line) = line else { return };
        tracing::info!(target: "drivebay::node_helper", "{line}");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
