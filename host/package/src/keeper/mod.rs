//! Packages for a host, fetched by two processes of their own. The **keeper** is started before the host gives its rights
//! up: it sees the operator's files, reads the configuration and the credentials itself, and shows what arrived. It speaks
//! to no network: for every package it starts a **puller**, which has one repository's credential, no rights, and the
//! component's file as its only place to write. The host may name a backend and hear how it went, and nothing else: it
//! runs guests and is not believed.

mod client;
mod puller;
mod words;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use drivebay_policy::package::{Reference, package_place, packages_of};
use rustix::process::{Signal, set_parent_process_death_signal};

pub use client::Keeper;
pub use puller::main as puller_main;
pub use words::{Named, Order, ReadNamed, ResolvedPackage};

use crate::access;
use crate::layout::Layout;
use crate::place::{Fetched, Place, Stage, answers};
use crate::store::Store;
use words::{Answer, Pull, Pulled, Request};

/// The word on the command line that makes this program the keeper. Its argument is the number of the socket's descriptor.
pub const KEEPER_SUBCOMMAND: &str = "package-keeper";
/// The same for a puller.
pub const PULLER_SUBCOMMAND: &str = "package-puller";
/// What it says when it has begun.
const READY: &[u8] = b"ready\n";
/// The program as the kernel runs it, also when its file was replaced meanwhile.
const PROGRAM: &str = "/proc/self/exe";
/// Where the system's authorities are, if somebody has said so: all that a puller gets of the environment.
const AUTHORITIES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
/// Bytes of the longest line of a host, and of the largest answer of a puller.
const LONGEST: u64 = 64 << 10;
const LARGEST_ANSWER: u64 = 96 << 20;

/// Runs the keeper on the inherited descriptor until the host is gone. `read` is how what is wanted is found in the
/// operator's configuration.
pub fn keeper_main(descriptor: RawFd, read: ReadNamed) -> ExitCode {
    let served = adopt(descriptor).and_then(|socket| serve(&socket, read));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The host's log; nobody can be told if it cannot be written.
            let _ = writeln!(std::io::stderr(), "the process that keeps packages: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(unsafe_code, reason = "a descriptor's number arrives as text; no crate can check its owner")]
fn adopt(descriptor: RawFd) -> Result<UnixStream> {
    if descriptor < 0 {
        bail!("the descriptor's number is negative");
    }
    // SAFETY: this process was started with that descriptor open and nothing else here closes it; it is only borrowed for
    // copying, and a number that is not open is refused by the system.
    let inherited = unsafe { BorrowedFd::borrow_raw(descriptor) };
    Ok(UnixStream::from(rustix::io::fcntl_dupfd_cloexec(inherited, 3)?))
}

fn serve(socket: &UnixStream, read: ReadNamed) -> Result<()> {
    let mut lines = BufReader::new(socket);
    let Some(order) = line(&mut lines)? else { return Ok(()) };
    let order: Order = serde_json::from_str(&order).context("the order of the host")?;
    // It is there before the host gives up what it sees.
    drop(Place::open(packages_of(&order.state))?);
    let mut to = socket;
    to.write_all(READY)?;
    while let Some(request) = line(&mut lines)? {
        let request: Request = serde_json::from_str(&request).context("a request of the host")?;
        let answer = match look(&order, read, &request) {
            Ok(looked) => Answer::Done(looked),
            Err(error) => Answer::Failed(format!("{error:#}")),
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        let mut to = socket;
        to.write_all(&text)?;
    }
    Ok(())
}

/// A line; none: the host is gone.
fn line(from: &mut BufReader<&UnixStream>) -> Result<Option<String>> {
    let mut line = String::new();
    let length = from.take(LONGEST).read_line(&mut line).context("hearing the host")?;
    if length > 0 && !line.ends_with('\n') {
        bail!("the host said something too long");
    }
    Ok((length > 0).then_some(line))
}

/// Has what is configured for a backend shown in its place.
fn look(order: &Order, read: ReadNamed, request: &Request) -> Result<ResolvedPackage> {
    let reference = wanted(order, read, &request.backend)?;
    let place = Place::open(package_place(&order.state, &request.backend))?;
    let current = place.current();
    let is_right = current.as_ref().is_some_and(|(record, _)| answers(record, &reference));
    // What has its digest never changes; a tag is looked up when that is asked for.
    if let Some((record, _)) =
        current.as_ref().filter(|_| is_right && (reference.digest.is_some() && !request.again || !request.now))
    {
        return Ok(ResolvedPackage::of(record, false));
    }
    let fetched = fetch(order, &place, &reference, current.as_ref());
    if fetched.is_err() && !is_right {
        place.hide();
    }
    fetched.with_context(|| reference.to_string())
}

fn wanted(order: &Order, read: ReadNamed, backend: &str) -> Result<Reference> {
    let named = match &order.file {
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            read(&file.display().to_string(), &text).map_err(|words| anyhow!("{words}"))?
        }
        None => order.named.clone(),
    };
    let found = named.into_iter().find(|named| named.backend == backend);
    let found = found.with_context(|| format!("no package is configured for \"{backend}\""))?;
    found.reference.parse().map_err(|words| anyhow!("{words}"))
}

fn fetch(
    order: &Order,
    place: &Place,
    reference: &Reference,
    current: Option<&(crate::place::Record, Fetched)>,
) -> Result<ResolvedPackage> {
    let stage = place.stage()?;
    let have = current.map(|(record, _)| record.digest.clone());
    let pulled = match &order.registries.layout {
        // Files of the operator's, which the puller might not be allowed to read.
        Some(layout) => {
            puller::of_store(&Store::Layout(Layout::new(layout)), reference, have.as_deref(), stage.component()?)?
        }
        None => pull(order, reference, have, &stage)?,
    };
    let fetched = Fetched { manifest: pulled.manifest, vouching: pulled.vouching };
    if !pulled.has_component {
        // Only what was there already is left out.
        match current {
            Some((record, before)) if before.vouching == fetched.vouching && answers(record, reference) => {
                return Ok(ResolvedPackage::of(record, false));
            }
            _ => place.take_over(&stage)?,
        }
    }
    let record = place.show(stage, reference, &fetched)?;
    Ok(ResolvedPackage::of(&record, true))
}

/// Starts a puller and waits for its end.
fn pull(order: &Order, reference: &Reference, have: Option<String>, stage: &Stage) -> Result<Pulled> {
    let access = access::open(reference, &order.registries)?;
    let pull = Pull { access, reference: reference.to_string(), have };
    let mut command = Command::new(PROGRAM);
    command
        .arg(PULLER_SUBCOMMAND)
        .env_clear()
        .envs(AUTHORITIES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::piped()).stdout(Stdio::from(stage.component()?)).stderr(Stdio::piped());
    let mut puller = command.spawn().context("starting a puller")?;
    let told = puller
        .stdin
        .take()
        .map_or(Ok(()), |mut to| to.write_all(&serde_json::to_vec(&pull)?).map_err(anyhow::Error::from));
    let mut answer = Vec::new();
    let heard = puller.stderr.take().map(|from| from.take(LARGEST_ANSWER).read_to_end(&mut answer)).transpose();
    let ended = puller.wait();
    told.context("telling a puller what is wanted")?;
    heard.context("hearing a puller")?;
    let ended = ended.context("waiting for a puller")?;
    let answer: Result<Pulled, String> = serde_json::from_slice(&answer).map_err(|_| {
        let said: String =
            String::from_utf8_lossy(&answer).chars().filter(|letter| !letter.is_control()).take(400).collect();
        anyhow!("the puller ended with {ended}: {said}")
    })?;
    answer.map_err(|words| anyhow!("{words}"))
}

/// Ends this process with the one that started it.
fn die_with_parent() -> Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}
