//! Whether an attack is contained, by what was seen from outside. Starts and looks at nothing itself.

use std::net::IpAddr;

use serde::Serialize;
use tonic::Code;

use super::catalogue::FORGED;
use super::model::{Attack, Sign};
use super::names::ARRAY;
use super::network::Arrival;
use super::place::{OUTSIDE, SECRET};
use super::scene::Seen;

/// Resident memory that a host under attack may have had, in MiB: its two backends' instances, its own needs, and
/// what an answer of the largest size takes on its way.
const MEMORY: u64 = 400;

/// What the host says of a component that it does not take.
pub(super) const REFUSED: &str = "refused: ";

/// What became of one attack.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) id: &'static str,
    pub(super) tried: &'static str,
    pub(super) by: &'static str,
    /// None: it was not tried.
    pub(super) contained: Option<bool>,
    /// What the client saw.
    pub(super) client: String,
    /// What the host lost, or why it was not tried; empty: nothing.
    pub(super) lost: String,
    pub(super) neighbour_calls: u64,
    pub(super) neighbour_failures: u64,
    pub(super) memory_mib: u64,
    pub(super) milliseconds: u128,
}

impl Verdict {
    pub(super) fn new(attack: &'static Attack, contained: Option<bool>, lost: String) -> Self {
        let Attack { id, tried, by, .. } = *attack;
        Self {
            id,
            tried,
            by,
            contained,
            client: String::new(),
            lost,
            neighbour_calls: 0,
            neighbour_failures: 0,
            memory_mib: 0,
            milliseconds: 0,
        }
    }
}

/// Whether everything was seen that must be, and nothing that must not.
pub(super) fn judge(attack: &'static Attack, seen: &Seen) -> Verdict {
    let client = match &seen.answer {
        None => "nothing".to_owned(),
        Some(Ok(())) => "OK".to_owned(),
        Some(Err(status)) => format!("{:?}: {}", status.code(), status.message()),
    };
    let (calls, failures) = seen.neighbour;
    let losses = [
        seen.end.clone(),
        (failures > 0).then(|| format!("{failures} of {calls} calls of the neighbour")),
        (seen.memory > MEMORY).then(|| format!("{} MiB of memory", seen.memory)),
        seen.is_touched.then(|| "a file outside of the grant".to_owned()),
        client.contains(OUTSIDE).then(|| "what a file outside of the grant says".to_owned()),
        panics(&seen.log),
        missing(attack, seen),
    ];
    let found: Vec<_> = losses.into_iter().flatten().chain(seen.left.iter().cloned()).collect();
    Verdict {
        client,
        neighbour_calls: calls,
        neighbour_failures: failures,
        memory_mib: seen.memory,
        ..Verdict::new(attack, Some(found.is_empty()), found.join("; "))
    }
}

/// A guest's own panic stands in a line of the host's log; the host's would begin one.
pub(super) fn panics(log: &str) -> Option<String> {
    log.lines().any(|line| line.starts_with("thread '")).then(|| "a panic".to_owned())
}

/// What should have been seen of this attack and was not, or the other way round.
fn missing(attack: &Attack, seen: &Seen) -> Option<String> {
    let failed = |code: Code, words: &str| match &seen.answer {
        Some(Err(status)) => status.code() == code && status.message().contains(words),
        _ => false,
    };
    let is_well = matches!(seen.answer, Some(Ok(())));
    match attack.sign {
        Sign::Fails(code, words) => {
            (!failed(code, words)).then(|| format!("the call did not fail with {code:?} and \"{words}\""))
        }
        Sign::Short(most) => {
            let length = u64::try_from(seen.log.len()).unwrap_or(u64::MAX);
            (!is_well || length > most).then(|| format!("{length} bytes of log"))
        }
        // What is lost then is looked for in any case.
        Sign::KeptIn => seen.answer.is_none().then(|| "the call was not made".to_owned()),
        Sign::Stores(_, most) => (seen.stored > most).then(|| format!("{} bytes of state", seen.stored)),
        Sign::Copies(most) => (seen.copies > most).then(|| format!("{} copies at once", seen.copies)),
        Sign::Unheard => heard(seen),
        Sign::Arrive(most) => {
            let arrived = seen.arrivals.len();
            heard(seen).or_else(|| (arrived > most).then(|| format!("{arrived} requests arrived")))
        }
        Sign::Silent(text) => {
            let told = seen.answer.as_ref().and_then(|answer| answer.as_ref().err());
            let is_told = told.is_some_and(|status| status.message().contains(text));
            let is_logged = if text == FORGED {
                seen.log.lines().any(|line| line.starts_with(text)) || seen.log.contains('\u{1b}')
            } else {
                seen.log.contains(text)
            };
            (is_told || is_logged).then(|| "the log or the answer has what it must not have".to_owned())
        }
        Sign::Logged(words) => (!seen.log.contains(words)).then(|| format!("the log never said \"{words}\"")),
        Sign::Thaws => (!is_well).then(|| "the call failed".to_owned()),
    }
}

/// What was sent to whom no grant leads.
fn heard(seen: &Seen) -> Option<String> {
    let is_granted =
        |name: &String| ["array.test", "rebind.test"].contains(&name.as_str()) || name.ends_with(".pub.test");
    let name = seen.asked.iter().find(|name| !is_granted(name)).map(|name| format!("the name {name} was asked for"));
    let arrival = seen.arrivals.iter().find(|arrival| !is_plain(arrival));
    let arrival = arrival.map(|it| format!("{}:{} heard {:?}", it.to, it.port, it.head.lines().next().unwrap_or("")));
    name.or(arrival)
}

/// Whether it is a request to the granted origin, written so that nobody takes it for another.
fn is_plain(arrival: &Arrival) -> bool {
    let (line, rest) = arrival.head.split_once("\r\n").unwrap_or((&arrival.head, ""));
    let hosts = rest.lines().filter_map(|header| header.to_ascii_lowercase().strip_prefix("host:").map(str::to_owned));
    let hosts: Vec<_> = hosts.map(|host| host.trim().to_owned()).collect();
    arrival.to == IpAddr::from(ARRAY)
        && arrival.port == 80
        && line.starts_with("GET /")
        && !line.starts_with("GET //")
        && matches!(hosts.as_slice(), [host] if host == "array.test" || host == "rebind.test")
        && !arrival.head.contains(SECRET)
}
