//! `drivebay.budget.toml`: what each RPC of a component may use, as its vendor commits it. Pure: reads, writes and compares;
//! it measures nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// What the file is called, beside the component's project.
pub const FILE: &str = "drivebay.budget.toml";

/// What one call of an RPC uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Used {
    /// The processor's time in microseconds: the median.
    pub time_us: u64,
    /// Memory in KiB: the most.
    pub memory_kib: u64,
    /// Host calls: the most.
    pub host_calls: usize,
}

/// How much more is still within the budget.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Margin {
    /// Times the time. Machines differ, so it is wide.
    pub time: f64,
    /// On top of that, in microseconds: little work is measured badly.
    pub time_us: u64,
    /// Times the memory.
    pub memory: f64,
    /// So many host calls more.
    pub host_calls: usize,
}

impl Default for Margin {
    fn default() -> Self {
        Self { time: 2.0, time_us: 1_000, memory: 1.25, host_calls: 0 }
    }
}

/// The file.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// How much more is still well.
    pub margin: Margin,
    /// By RPC.
    pub rpc: BTreeMap<String, Used>,
}

/// An RPC that uses more than it may, in words.
pub type Excess = String;

impl Budget {
    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(text: &str) -> Result<Self> {
        toml::from_str(text).context(FILE)
    }

    /// The text of a file that holds what was measured, with the margin of the one before.
    pub fn write(margin: Margin, measured: &BTreeMap<String, Used>) -> String {
        let mut text =
            "# What each RPC may use. Written by `drivebay test --write-budget`; commit it. More than this, times the \
                        margin, is a failure.\n[margin]\n"
                .to_owned();
        let Margin { time, time_us, memory, host_calls } = margin;
        let _ = writeln!(text, "time = {time:?}\ntime-us = {time_us}\nmemory = {memory:?}\nhost-calls = {host_calls}");
        for (rpc, used) in measured {
            let Used { time_us, memory_kib, host_calls } = used;
            let _ = writeln!(text, "\n[rpc.{rpc}]");
            let _ = writeln!(text, "time-us = {time_us}\nmemory-kib = {memory_kib}\nhost-calls = {host_calls}");
        }
        text
    }

    /// What is more than it may be. An RPC that the file does not have is new, and free.
    pub fn compare(&self, measured: &BTreeMap<String, Used>) -> Vec<Excess> {
        let mut excesses = Vec::new();
        for (rpc, used) in measured {
            let Some(may) = self.rpc.get(rpc) else { continue };
            let most = times(may.time_us, self.margin.time).saturating_add(self.margin.time_us);
            let mut held = |what: &str, used: u64, may: u64, most: u64| {
                if used > most {
                    excesses
                        .push(format!("{rpc}: {used} {what}, the budget is {may}, and at most {most} with its margin"));
                }
            };
            held("us of processor time", used.time_us, may.time_us, most);
            held("KiB of memory", used.memory_kib, may.memory_kib, times(may.memory_kib, self.margin.memory));
            let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
            let most = count(may.host_calls).saturating_add(count(self.margin.host_calls));
            held("host calls", count(used.host_calls), count(may.host_calls), most);
        }
        excesses
    }
}

/// A whole number times a margin, rounded down.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "budgets are far below what a float holds exactly, and a negative margin allows nothing"
)]
fn times(number: u64, margin: f64) -> u64 {
    (number as f64 * margin) as u64
}

#[cfg(test)]
mod tests {
    use super::{Budget, Margin, Used};
    use std::collections::BTreeMap;

    fn measured(time_us: u64, memory_kib: u64, host_calls: usize) -> BTreeMap<String, Used> {
        BTreeMap::from([("CreateVolume".to_owned(), Used { time_us, memory_kib, host_calls })])
    }

    #[test]
    fn what_is_written_is_read_and_holds_itself() {
        let used = measured(150, 1_152, 2);
        let margin = Margin { host_calls: 3, ..Margin::default() };
        let read = Budget::read(&Budget::write(margin, &used)).unwrap();
        assert_eq!(read, Budget { margin, rpc: used.clone() });
        assert!(read.compare(&used).is_empty());
    }

    #[test]
    fn more_than_the_margin_is_told() {
        let budget = Budget { margin: Margin::default(), rpc: measured(1_000, 1_000, 2) };
        assert!(budget.compare(&measured(3_000, 1_250, 2)).is_empty());
        for (used, word) in [
            (measured(3_001, 1, 1), "3001 us of processor time, the budget is 1000, and at most 3000"),
            (measured(1, 1_251, 1), "KiB of memory"),
            (measured(1, 1, 3), "3 host calls, the budget is 2"),
        ] {
            let found = budget.compare(&used);
            assert!(found.len() == 1 && found[0].contains(word), "{found:?}");
        }
        let other = BTreeMap::from([("ListVolumes".to_owned(), Used { time_us: 9, memory_kib: 9, host_calls: 9 })]);
        assert!(budget.compare(&other).is_empty(), "what is new is free");
    }

    #[test]
    fn a_key_that_nobody_reads_is_a_mistake() {
        let refused = Budget::read("[margin]\ntiem = 2.0\n").unwrap_err();
        assert!(format!("{refused:#}").contains("tiem"), "{refused:#}");
    }
}
