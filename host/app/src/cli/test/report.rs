//! What a test found, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use drivebay_chaos as chaos;
use drivebay_conformance as conformance;
use drivebay_kit::budget::Used;

/// A test.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// The rules of CSI and csi-addons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) conform: Option<conformance::Report>,
    /// What its calls use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<Judged>,
    /// The failing world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deep: Option<chaos::Report>,
}

/// What calls use, held against a budget.
#[derive(Debug, Serialize)]
pub(super) struct Judged {
    pub(super) measured: BTreeMap<String, Used>,
    /// What is more than it may be.
    pub(super) excess: Vec<String>,
    /// Whether there is a budget.
    pub(super) is_held: bool,
}

/// Measures as the budget has them.
pub(super) fn used(measured: &BTreeMap<String, chaos::Measure>) -> BTreeMap<String, Used> {
    let one = |measure: &chaos::Measure| Used {
        time_us: measure.time_us,
        memory_kib: measure.memory_kib,
        host_calls: measure.host_calls,
    };
    measured.iter().map(|(rpc, measure)| (rpc.clone(), one(measure))).collect()
}

impl Report {
    /// Whether nothing is wrong.
    pub(super) fn is_good(&self) -> bool {
        self.conform.as_ref().is_none_or(conformance::Report::is_good)
            && self.budget.as_ref().is_none_or(|budget| budget.excess.is_empty())
            && self.deep.as_ref().is_none_or(chaos::Report::is_good)
    }

    /// For programs.
    pub(super) fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))
    }

    /// For people. `again` plays the failing world again.
    pub(super) fn text(&self, again: &str) -> String {
        let mut out = String::new();
        if let Some(report) = &self.conform {
            out.push_str(&report.failures());
        }
        if let Some(budget) = &self.budget {
            if !out.is_empty() {
                out.push('\n');
            }
            budget.text(&mut out);
        }
        if let Some(report) = &self.deep {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&report.text(again));
        }
        out
    }
}

impl Judged {
    fn text(&self, out: &mut String) {
        let _ = writeln!(out, "{:<34} {:>9} {:>10} {:>10}", "call", "time", "memory", "host calls");
        for (rpc, used) in &self.measured {
            let Used { time_us, memory_kib, host_calls } = used;
            let (time, memory) = (format!("{time_us} us"), format!("{memory_kib} KiB"));
            let _ = writeln!(out, "{rpc:<34} {time:>9} {memory:>10} {host_calls:>10}");
        }
        for excess in &self.excess {
            let _ = writeln!(out, "FAIL budget: {excess}");
        }
        let words = match (self.is_held, self.excess.len()) {
            (false, _) => "no budget; --write-budget makes one",
            (true, 0) => "within the budget",
            (true, _) => "over the budget; when that is meant, --write-budget and commit the file",
        };
        let _ = writeln!(out, "budget: {words}");
    }
}
