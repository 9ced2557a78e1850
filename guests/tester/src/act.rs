//! What a call does besides its work.
//!
//! An instruction is a text in the state under `act/OPERATION/OBJECT`; with `times N` before it it
//! holds for N calls only. Every call says in the log that it was entered, which is how a test knows
//! that a call has reached the guest.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, ErrorCode, Result, log};

use crate::records::text;
use crate::{fetch, labour};

/// How often a held call looks whether it may go on.
const LOOK: Duration = Duration::from_millis(20);
const CHUNK: usize = 1 << 20;

/// What is to be wrong with the answer; empty: nothing.
pub(crate) type Flaw = String;

/// Counts the uses of this instance; gives how many there were, this one included.
pub(crate) fn used() -> u32 {
    static USES: AtomicU32 = AtomicU32::new(0);
    USES.fetch_add(1, Ordering::Relaxed) + 1
}

/// Begins a call: says so, and does what the instruction for it says.
pub(crate) fn enter(operation: &str, object: &str, secrets: &StringMap) -> Result<Flaw> {
    let uses = used();
    log::info("tester", format!("entered {operation} {object}"));
    log::debug("uses", format!("use {uses}."));
    match instruction(operation, object)? {
        Some(word) => obey(&word, operation, object, secrets),
        None => Ok(Flaw::new()),
    }
}

/// As `enter`, for calls that the host makes by itself and often.
pub(crate) fn quietly(operation: &str, object: &str) -> Result<Flaw> {
    used();
    asked(operation, object)
}

/// As `quietly`, for what the host asks before another call, which is the same use of the instance.
pub(crate) fn asked(operation: &str, object: &str) -> Result<Flaw> {
    match instruction(operation, object)? {
        Some(word) => obey(&word, operation, object, &StringMap::new()),
        None => Ok(Flaw::new()),
    }
}

/// The instruction for a call, counted down if it holds for some calls only.
fn instruction(operation: &str, object: &str) -> Result<Option<String>> {
    let key = format!("act/{operation}/{object}");
    let Some(word) = text(&key)? else {
        return Ok(None);
    };
    let Some((times, rest)) = word.strip_prefix("times ").and_then(|rest| rest.split_once(' ')) else {
        return Ok(Some(word));
    };
    let commit = Commit::new().expect(&key, Some(word.clone().into_bytes()));
    let left = times.parse::<u32>().unwrap_or(1).saturating_sub(1);
    match left {
        0 => commit.delete(&key).run()?,
        _ => commit.put(&key, format!("times {left} {rest}")).run()?,
    }
    Ok(Some(rest.to_owned()))
}

/// Does what a word says, or several with `then` between them.
pub(crate) fn obey(words: &str, operation: &str, object: &str, secrets: &StringMap) -> Result<Flaw> {
    words.split(" then ").try_fold(Flaw::new(), |_, word| obey_one(word, operation, object, secrets))
}

#[allow(clippy::panic, clippy::infinite_loop, reason = "misbehaving is what the word asks for")]
fn obey_one(word: &str, operation: &str, object: &str, secrets: &StringMap) -> Result<Flaw> {
    let (verb, rest) = word.split_once(' ').unwrap_or((word, ""));
    match verb {
        "refuse" => return Err(refusal(rest)),
        "leak" => return Err(leak(secrets)),
        "keep" => Commit::new().put("kept-secret", all(secrets)).run()?,
        "tell" => return Err(tell()?),
        "mutter" => mutter(secrets)?,
        "bad" => return Ok(rest.to_owned()),
        "hold" => {
            hold(rest)?;
            log::info("tester", format!("released {operation} {object}"));
        }
        "set" => Commit::new().put(rest, "open").run()?,
        "wait" => std::thread::sleep(Duration::from_millis(number(rest))),
        "nap" => (0..number(rest)).for_each(|_| std::thread::sleep(LOOK)),
        "trap" => panic!("the instruction asks for it"),
        "panic" => {
            let values: Vec<_> = secrets.iter().map(|(_, value)| value.as_str()).collect();
            panic!("with secrets: {}", values.join(" and "));
        }
        "exit" => std::process::exit(3),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "allocate" => allocate(number(rest)),
        "recurse" => {
            std::hint::black_box(deeper(number(rest)));
        }
        "cross" => cross(number(rest))?,
        "flood" => (0..number(rest)).for_each(|line| {
            log::info("flood", format!("{line} {}", "x".repeat(1_000)));
        }),
        "blank" => (0..number(rest)).for_each(|_| ["", "y"].into_iter().for_each(|text| log::info("blank", text))),
        "fill" => fill(number(rest))?,
        "open" => {
            open(rest)?;
        }
        "format" => labour::format(rest)?,
        "fetch" => fetch::run(object, rest),
        "bind" => labour::bind(object, rest)?,
        "unmount" => labour::unmount(object, rest)?,
        _ => return Err(Error::invalid_argument(format!("no instruction: {word}"))),
    }
    Ok(Flaw::new())
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn hold(gate: &str) -> Result<()> {
    log::info("tester", format!("holding {gate}"));
    while state::get(&format!("gate/{gate}"))?.is_none() {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

const CODES: [(&str, ErrorCode); 12] = [
    ("invalid-argument", ErrorCode::InvalidArgument),
    ("not-found", ErrorCode::NotFound),
    ("already-exists", ErrorCode::AlreadyExists),
    ("failed-precondition", ErrorCode::FailedPrecondition),
    ("resource-exhausted", ErrorCode::ResourceExhausted),
    ("out-of-range", ErrorCode::OutOfRange),
    ("aborted", ErrorCode::Aborted),
    ("unauthenticated", ErrorCode::Unauthenticated),
    ("permission-denied", ErrorCode::PermissionDenied),
    ("unavailable", ErrorCode::Unavailable),
    ("unimplemented", ErrorCode::Unimplemented),
    ("internal", ErrorCode::Internal),
];

/// `CODE WORDS`, the words being what the client shall read; none: an empty message.
fn refusal(rest: &str) -> Error {
    let (code, message) = rest.split_once(' ').unwrap_or((rest, ""));
    match CODES.iter().find(|(name, _)| *name == code) {
        Some((_, code)) => Error { code: *code, reason: None, message: message.to_owned() },
        None => Error::invalid_argument(format!("no error code: {code}")),
    }
}

fn all(secrets: &StringMap) -> String {
    secrets.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" and ")
}

/// Says what an earlier call has kept.
fn tell() -> Result<Error> {
    let kept = text("kept-secret")?.unwrap_or_default();
    log::info("tell", format!("it was {kept}"));
    Ok(Error::unavailable(format!("it was {kept}")))
}

/// Says secrets in a line that it does not end.
#[allow(clippy::print_stdout, reason = "the streams of a guest are log lines")]
fn mutter(secrets: &StringMap) -> Result<()> {
    print!("muttered: {}", all(secrets));
    std::io::stdout().flush().map_err(|error| Error::internal(error.to_string()))
}

/// Says every secret in every way that a guest has.
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "the streams of a guest are log lines")]
fn leak(secrets: &StringMap) -> Error {
    let values: Vec<_> = secrets.iter().map(|(_, value)| value.as_str()).collect();
    let all = values.join(" and ");
    println!("on stdout: {all}");
    eprintln!("on stderr: {all}");
    log::critical("leak", format!("in the log: {all}"));
    for value in &values {
        log::debug(value, format!("in base64: {}", base64(value.as_bytes())));
        for user in ["u", "us", "use"] {
            log::debug("basic", format!("as a header: {}", base64(format!("{user}:{value}").as_bytes())));
        }
        let written = |form: fn(u8) -> String| value.bytes().map(form).collect::<String>();
        log::debug(
            "hex",
            format!("in digits: {} {}", written(|b| format!("{b:02x}")), written(|b| format!("{b:02X}"))),
        );
        log::debug(
            "uri",
            format!("escaped: {} {}", written(|b| format!("%{b:02x}")), written(|b| format!("%{b:02X}"))),
        );
        log::debug("case", format!("louder: {}", value.to_ascii_uppercase()));
    }
    let coded: Vec<_> = values.iter().map(|value| base64(value.as_bytes())).collect();
    Error { reason: Some(all.clone()), ..Error::unavailable(format!("leaked {all}, {}", coded.join(" and "))) }
}

/// Standard base 64 with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, n| bits << 8 | usize::from(group.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            let digit = DIGITS.get(bits >> (18 - 6 * n) & 63).copied();
            out.push(digit.filter(|_| n <= group.len()).map_or('=', char::from));
        }
    }
    out
}

/// Takes so many MiB of memory.
fn allocate(mebibytes: u64) {
    let taken: Vec<Vec<u8>> = (0..mebibytes).map(|_| vec![1; CHUNK]).collect();
    std::hint::black_box(&taken);
}

/// Recurses so deep, on the engine's stack alone: nothing here has an address, so the stack that
/// the compiler keeps in memory is not what overflows. The result is no plain sum, or it would be
/// computed in a loop.
#[inline(never)]
fn deeper(left: u64) -> u64 {
    match left {
        0 => 1,
        _ => deeper(left - 1).rotate_left(7) ^ left,
    }
}

/// Moves so many MiB through the state.
fn cross(mebibytes: u64) -> Result<()> {
    Commit::new().put("crossing", vec![0; CHUNK / 2]).run()?;
    for _ in 0..mebibytes * 2 {
        std::hint::black_box(state::get("crossing")?);
    }
    Ok(())
}

/// Puts so many MiB into the state, under keys of their own.
fn fill(mebibytes: u64) -> Result<()> {
    for n in 0..mebibytes * 2 {
        Commit::new().put(format!("fill/{n}"), vec![1; CHUNK / 2]).run()?;
    }
    Ok(())
}

/// `COUNT PATH`: opens a file so often and keeps it open.
fn open(rest: &str) -> Result<Vec<std::fs::File>> {
    let (count, path) = rest.split_once(' ').unwrap_or((rest, ""));
    (0..number(count)).map(|_| std::fs::File::open(path).map_err(|e| Error::unavailable(e.to_string()))).collect()
}
