//! The limits of a host under attack, and how each is switched off. What cannot be switched off has its reason here.

use std::time::Duration;

use clap::ValueEnum as _;

use super::times::PATIENCE;
use drivebay_observe::drill::Defence;

/// Small, so that running into them takes little time: name, value, value when it is switched off. A time is small
/// only for those that are to run into it.
const NUMBERS: &[(&str, &str, &str)] = &[
    ("memory", "32MiB", "1GiB"),
    ("memory-total", "96MiB", "100GiB"),
    ("table-elements", "20000", "300000"),
    ("cpu", "300ms", "1h"),
    ("read-time", "1s", "1h"),
    ("change-time", "1s", "1h"),
    ("probe-time", "600ms", "1h"),
    ("step-time", "600ms", "1h"),
    ("recovery-time", "600ms", "1h"),
    ("load-time", "2s", "1h"),
    ("calls", "8", "100"),
    ("crossing", "4MiB", "1GiB"),
    ("crossing-total", "8MiB", "1000GiB"),
    ("log-rate", "4KiB", "1GiB"),
    ("log-burst", "16KiB", "1GiB"),
    ("state", "2MiB", "1GiB"),
    ("state-waiting", "2MiB", "1GiB"),
    ("handles", "64", "1000000"),
    ("open-files", "32", "1000000"),
    ("node-devices", "1", "1000"),
    ("jobs", "2", "1000"),
    ("failures", "4", "1000000"),
    ("http-requests", "16", "1000000"),
    ("compile-memory", "160MiB", "64GiB"),
    ("compile-time", "8s", "1h"),
];

/// A time for all others: much more than they take, also where much else is at work.
const ROOMY: &str = "2min";

/// How long something is waited for that is not to show: far longer than it takes on a machine with little else to do.
const BRIEFLY: Duration = Duration::from_secs(8);

/// Switched off by granting what the attacks on it want.
const NETWORK: &str = "network";

/// What contains attacks and has no switch, each with its reason.
const FIXED: &[(&str, &str)] = &[
    ("instance", "an instance that crashed or ended is gone: the engine cannot enter it again"),
    ("conversion", "an answer that the protocol has no words for cannot be passed on"),
    ("links", "links that lead out of a grant are never followed, whatever is granted"),
    ("kinds", "a guest opens regular files and directories: the host waits for nobody at a FIFO, whatever is granted"),
    ("file-size", "a write beyond what the system allows fails; the signal that would end the host is ignored"),
    ("permit", "a stream takes no more at once than it says; more is a trap, as WASI has it"),
    ("words", "the host keeps no word of a job, and hands none to the helper, that is longer than a path can be"),
    ("mounts", "the helper refuses what is not of the call or of the backend; it is root's, and has no switch"),
    ("thaw", "the helper ends every freeze after 30 s; it is root's, and has no switch"),
    ("form", "a request that is written for somebody else cannot be made from the parts that a guest can set"),
    ("sockets+landlock", "a guest has no sockets, and the host's process may not listen: either is enough"),
];

/// What a run leaves away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Without {
    Nothing,
    /// A number of the configuration.
    Number(&'static str),
    /// A limit on origins.
    Network,
    /// What a host can only be without when this command starts it.
    Defence(Defence),
}

impl Without {
    /// What `--without` names.
    ///
    /// # Errors
    /// Why it cannot be switched off, and what can.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        if let Some(why) = why_fixed(name) {
            return Err(format!("\"{name}\" cannot be switched off: {why}"));
        }
        if let Some((number, ..)) = NUMBERS.iter().find(|(number, ..)| *number == name) {
            return Ok(Self::Number(number));
        }
        if name == NETWORK {
            return Ok(Self::Network);
        }
        let defence = Defence::from_str(name, false).map(Self::Defence);
        defence
            .map_err(|_| format!("\"{name}\" is no limit that can be switched off; these are: {}", names().join(", ")))
    }

    /// Whether it is what contains these attacks.
    pub(super) fn contains(self, by: &str) -> bool {
        match self {
            Self::Nothing => true,
            // Of one limit's two numbers either is meant.
            Self::Number("log-burst") => by == "log-rate",
            Self::Number(name) => by == name,
            Self::Network => by == NETWORK,
            Self::Defence(defence) => defence.to_possible_value().is_some_and(|value| value.get_name() == by),
        }
    }

    /// How long what shows that an attack is contained is waited for. Where it is not to be contained, the answer is
    /// that it does not show: nothing else comes of waiting longer.
    pub(super) fn patience(self) -> Duration {
        if self == Self::Nothing { PATIENCE } else { BRIEFLY }
    }

    /// The numbers of this run, for a backend that is to run into these.
    pub(super) fn numbers(self, meant: &[&str]) -> Vec<(&'static str, &'static str)> {
        // The rate of a log means nothing while a burst is unbounded, and the other way round.
        let is_off = |name: &str| match self {
            Self::Number("log-rate" | "log-burst") => name.starts_with("log-"),
            Self::Number(off) => off == name,
            _ => false,
        };
        let is_time = |name: &str| name == "cpu" || name.ends_with("-time");
        let value = |name: &str, on, off| match (is_off(name), meant.contains(&name)) {
            (true, _) => off,
            (false, false) if is_time(name) => ROOMY,
            // Below the limit of handles, which would never be met.
            (false, false) if name == "open-files" => off,
            (false, _) => on,
        };
        NUMBERS.iter().map(|(name, on, off)| (*name, value(name, *on, *off))).collect()
    }
}

/// Everything that `--without` takes.
pub(super) fn names() -> Vec<String> {
    let numbers = NUMBERS.iter().map(|(name, ..)| (*name).to_owned());
    let defences = Defence::value_variants().iter().filter_map(Defence::to_possible_value);
    numbers.chain([NETWORK.to_owned()]).chain(defences.map(|value| value.get_name().to_owned())).collect()
}

/// Why what contains an attack has no switch, if it has none.
pub(super) fn why_fixed(by: &str) -> Option<&'static str> {
    FIXED.iter().find(|(name, _)| *name == by).map(|(_, why)| *why)
}
