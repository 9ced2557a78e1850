//! What a guest can do with its processor, its memory and its imports. A deed that is contained does not return;
//! one that does return says in its error what it got.

use std::hint::black_box;
use std::io::Write as _;
use std::time::Duration;

use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result, log};

use crate::endless::for_a_while;
use crate::paths::{self, got};
use crate::{by_hand, floods, labour, network};

const MIB: usize = 1 << 20;

/// Does what a deed says; those it does not know are lies, told in the answer.
#[allow(clippy::panic, clippy::infinite_loop, reason = "misbehaving is what the deed asks for")]
#[allow(clippy::too_many_lines, reason = "a table: a line for each deed")]
pub(crate) fn perform(deed: &str, secrets: &StringMap) -> Result<()> {
    let (verb, rest) = deed.split_once(' ').unwrap_or((deed, ""));
    let number = rest.parse::<u64>().unwrap_or(0);
    match verb {
        "trap" => panic!("as the deed asks"),
        "exit" => std::process::exit(3),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "sleep" => loop {
            std::thread::sleep(Duration::from_hours(1));
        },
        "allocate" => allocate(number),
        "take" => {
            allocate(number);
            std::thread::sleep(Duration::from_secs(1));
        }
        "hold" => {
            allocate(number);
            std::thread::sleep(Duration::from_hours(1));
        }
        "recurse" => {
            black_box(deeper(number));
        }
        "host-calls" => loop {
            black_box(state::get("nothing")?);
        },
        "clock" => loop {
            black_box(std::time::SystemTime::now());
        },
        "commit" => return Ok(Commit::new().put("kept", vec![1; 4_096]).run()?),
        "commits" => for_a_while(commit),
        "burst" => return burst(),
        "complain" => return Err(Error::internal("x".repeat(MIB))),
        "look" => return looked(),
        "reads" => for_a_while(looked),
        "writes" => for_a_while(write),
        "names" => return paths::names(number),
        "files" => return paths::files(number),
        "far-file" => return paths::far_file(number),
        "tricks" => return paths::tricks(),
        "polls" => by_hand::polls(number),
        "one-write" => by_hand::one_write(number),
        "streams" => return paths::streams(number),
        "cross" => return cross(),
        "log" => (0..number).for_each(|line| log::info("flood", format!("{line} {}", "x".repeat(1_000)))),
        "blank" => (0..number).for_each(|_| ["", "y"].into_iter().for_each(|text| log::info("", text))),
        "stdout" => return stdout(number),
        "forge" => {
            log::info("forge", "one\n2026-01-01T00:00:00Z ERROR drivebay: forged-line\u{1b}[2J\u{1b}]0;owned\u{7}");
        }
        "fill" => return fill(number),
        "large-key" => return got("a key of a megabyte", Commit::new().put("k".repeat(MIB), b"v".to_vec()).run()),
        "range" => loop {
            black_box(state::range("").count());
        },
        "range-full" => return range_full(),
        "handles" => return floods::of_handles(rest),
        "cursors" => return floods::of_cursors(),
        "eternity" => floods::eternity(),
        "timers" => floods::timers(),
        "random" => floods::random_bytes(number),
        "jobs" => return labour::jobs(number),
        "job-words" => return labour::job_words(number),
        "read" => return paths::read(rest),
        "write" => return got(rest, std::fs::write(rest, b"escaped")),
        "hard-link" => return paths::hard_link(rest),
        "rename" => return paths::rename(rest),
        "connect" => return got(rest, std::net::TcpStream::connect(rest)),
        "send" => return got(rest, std::net::UdpSocket::bind("0.0.0.0:0").and_then(|it| it.send_to(b"x", rest))),
        "listen" => return got(rest, std::net::TcpListener::bind(rest)),
        "resolve" => return resolve(rest),
        "fetch" => return network::fetch(rest),
        "follow" => return network::follow(rest),
        "flood" => return network::flood(rest),
        "again" => return network::again(rest),
        "smuggle" => return network::smuggle(),
        "spellings" => return network::spellings(),
        "refused" => network::refused(number),
        "secrets" => return leak(secrets),
        "secrets-coded" => in_digits(secrets),
        "secrets-escaped" => escaped(secrets),
        "secrets-trap" => panic!("with {}", told(secrets)),
        _ => {}
    }
    Ok(())
}

fn allocate(mebibytes: u64) {
    let taken: Vec<Vec<u8>> = (0..mebibytes).map(|_| vec![1; MIB]).collect();
    black_box(&taken);
}

/// On the engine's stack alone; no plain sum, or it would become a loop.
#[inline(never)]
fn deeper(left: u64) -> u64 {
    match left {
        0 => 1,
        _ => deeper(left - 1).rotate_left(7) ^ left,
    }
}

/// Moves half a megabyte after the other out of the state.
#[allow(clippy::infinite_loop, reason = "it is what the deed asks for")]
fn cross() -> Result<()> {
    Commit::new().put("crossing", vec![0; MIB / 2]).run()?;
    loop {
        black_box(state::get("crossing")?);
    }
}

/// A commit as large as it can be.
fn commit() -> Result<()> {
    let mut commit = Commit::new();
    for n in 0..3 {
        commit = commit.put(format!("large/{n}"), vec![1; MIB - 1_024]);
    }
    Ok(commit.run()?)
}

/// A few commits, each as large as the others of its kind leave room for, until one is refused.
fn burst() -> Result<()> {
    for _ in 0..5 {
        let commit = (0..3).fold(Commit::new(), |commit, n| commit.put(format!("burst/{n}"), vec![1; MIB / 2]));
        commit.run()?;
    }
    Ok(())
}

/// What a well-behaved backend does with a file of its own.
fn looked() -> Result<()> {
    std::fs::read("/data/file").map(drop).map_err(|error| Error::internal(error.to_string()))
}

/// Writes a file of 64 MiB anew, to the disk.
fn write() -> Result<()> {
    let piece = vec![1; MIB];
    let written = std::fs::File::create("/data/written").and_then(|mut file| {
        for _ in 0..64 {
            file.write_all(&piece)?;
        }
        file.sync_all()
    });
    written.map_err(|error| Error::internal(error.to_string()))
}

fn stdout(lines: u64) -> Result<()> {
    let mut out = std::io::stdout();
    let text = "y".repeat(1_000);
    for line in 0..lines {
        writeln!(out, "{line} {text}").map_err(|error| Error::internal(error.to_string()))?;
    }
    Ok(())
}

fn fill(mebibytes: u64) -> Result<()> {
    for n in 0..mebibytes * 2 {
        let put = Commit::new().put(format!("fill/{n}"), vec![1; MIB / 2]).run();
        if let Err(error) = put {
            return Err(Error::resource_exhausted(format!("kept in: after {n} values: {error}")));
        }
    }
    Err(Error::internal("escaped: the state took everything"))
}

/// Fills the state as far as it goes, and looks through all of it over and over.
fn range_full() -> Result<()> {
    let _ = fill(64);
    loop {
        black_box(state::range("").count());
    }
}

fn resolve(name: &str) -> Result<()> {
    use std::net::ToSocketAddrs as _;
    got(name, (name, 80).to_socket_addrs().map(Iterator::count))
}

/// Every secret in every way that a guest has.
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "the streams of a guest are log lines")]
fn leak(secrets: &StringMap) -> Result<()> {
    let all = told(secrets);
    network::tell(secrets);
    println!("on stdout: {all}");
    eprintln!("on stderr: {all}");
    log::critical("leak", format!("in the log: {all}"));
    log::info(&all, "as the context");
    Err(Error { reason: Some(all.clone()), ..Error::unavailable(format!("in the message: {all}")) })
}

fn in_digits(secrets: &StringMap) {
    let digits: Vec<_> = told(secrets).bytes().map(|byte| format!("{byte:02x}")).collect();
    log::info("coded", digits.concat());
}

/// As texts are written in JSON by those who escape all that is not theirs.
fn escaped(secrets: &StringMap) {
    let letters: Vec<_> = told(secrets).chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
    log::info("escaped", letters.concat());
}

fn told(secrets: &StringMap) -> String {
    secrets.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" and ")
}
