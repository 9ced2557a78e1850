//! How a source is replicated: the parameters of enabling.
//!
//! Pure reading. Other keys are refused, except those that the clients' own controllers add.

use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::schedule::{Start, parse_start};

/// What the parameters of other controllers begin with.
const FOREIGN: &str = "replication.storage.openshift.io/";

/// Seconds between two cuts where nobody says.
const DEFAULT_INTERVAL: u64 = 3_600;

/// When an acknowledged demotion may come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// At once; the last cut follows.
    #[default]
    Async,
    /// When the last cut is whole at the peer.
    SyncOnDemote,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Terms {
    pub(crate) mode: Mode,
    /// Seconds between two cuts.
    pub(crate) interval: u64,
    /// From when the intervals are counted; none: from enabling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Start>,
}

impl Terms {
    /// Reads `schedulingInterval`, `schedulingStartTime` and `mode`.
    pub(crate) fn read(parameters: &StringMap) -> Result<Self> {
        let own: Vec<_> = parameters.iter().filter(|(key, _)| !key.starts_with(FOREIGN)).cloned().collect();
        let mut own = Parameters::new(&own);
        let mode = own.choose("mode", &[("async", Mode::Async), ("sync-on-demote", Mode::SyncOnDemote)])?;
        let interval = own.take("schedulingInterval").map_or(Ok(DEFAULT_INTERVAL), parse_interval)?;
        let start = own.take("schedulingStartTime").map(read_start).transpose()?;
        own.finish()?;
        Ok(Self { mode, interval, start })
    }
}

/// A number with a unit, as the controllers write it: `30s`, `5m`, `2h`, `1d`. In seconds.
fn parse_interval(text: &str) -> Result<u64> {
    let refused = || Error::invalid_argument(format!("schedulingInterval must read like 5m, 2h or 1d, not {text:?}"));
    let (unit, digits) = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)]
        .into_iter()
        .find_map(|(word, unit)| Some((unit, text.strip_suffix(word)?)))
        .ok_or_else(refused)?;
    let number: u64 = digits.parse().map_err(|_| refused())?;
    number.checked_mul(unit).filter(|seconds| (1..=366 * 86_400).contains(seconds)).ok_or_else(refused)
}

fn read_start(text: &str) -> Result<Start> {
    parse_start(text).ok_or_else(|| {
        Error::invalid_argument(format!(
            "schedulingStartTime must read like 14:00:00-05:00 or 2026-01-31T14:00:00Z, not {text:?}"
        ))
    })
}

#[cfg(test)]
mod tests;
