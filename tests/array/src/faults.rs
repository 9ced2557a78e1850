//! What goes wrong on demand.
//!
//! It owns the plan: which faults are set, how often each still happens, and the random ones, which
//! a seed decides. It does nothing by itself; `serve` asks before and after each request.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A state that comes at random lasts for so many requests: long enough that those of one call meet it.
const SPELL: u32 = 20;

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// The request waits before it is handled.
    Slow,
    /// 500, and nothing was done.
    Error,
    /// The connection is cut before anything was done.
    Drop,
    /// The work is done, and the connection is cut before the answer.
    LostAnswer,
    /// The work is done, and the answer is 500.
    ErrorAfter,
    /// The token of the request has expired.
    ExpiredToken,
    /// The pool takes nothing more.
    FullPool,
    /// The other array does not hear this one, nor this one the other.
    Partition,
}

impl Kind {
    /// Those that come at random, each as often as the others.
    const ALL: [Self; 8] = [
        Self::Slow,
        Self::Error,
        Self::Drop,
        Self::LostAnswer,
        Self::ErrorAfter,
        Self::ExpiredToken,
        Self::FullPool,
        Self::Partition,
    ];

    /// Whether it is a state of the array and not the fate of one request.
    const fn is_state(self) -> bool {
        matches!(self, Self::FullPool | Self::Partition)
    }
}

/// A fault that was ordered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// Only requests with this method; empty: any.
    #[serde(default)]
    pub(crate) method: String,
    /// Only requests whose path begins so; empty: all.
    #[serde(default)]
    pub(crate) path: String,
    /// So many times; none: until it is taken back.
    #[serde(default)]
    pub(crate) times: Option<u32>,
    /// For `slow`.
    #[serde(default = "second")]
    pub(crate) milliseconds: u64,
}

const fn second() -> u64 {
    1_000
}

/// Faults at random, the same ones for the same seed and the same order of requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chance {
    /// So many requests of a thousand meet a fault.
    pub(crate) per_mille: u32,
    pub(crate) seed: u64,
    /// For `slow`.
    #[serde(default = "second")]
    pub(crate) milliseconds: u64,
}

/// What a request meets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) wait: Option<Duration>,
    pub(crate) kind: Option<Kind>,
}

#[derive(Debug, Default)]
struct Plan {
    ordered: Vec<Fault>,
    chance: Option<Chance>,
    dice: u64,
    /// States that came at random, and for how many requests they last.
    spells: BTreeMap<Kind, u32>,
    seen: Seen,
}

/// What has happened so far.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Seen {
    /// Requests of clients.
    requests: u64,
    /// Those that met a fault, by its kind.
    met: BTreeMap<Kind, u64>,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    plan: Mutex<Plan>,
}

impl Faults {
    /// Orders one more.
    pub(crate) fn order(&self, fault: Fault) {
        self.with(|plan| plan.ordered.push(fault));
    }

    /// Begins with random ones, or ends them.
    pub(crate) fn roll(&self, chance: Option<Chance>) {
        self.with(|plan| {
            plan.dice = chance.as_ref().map_or(0, |chance| chance.seed);
            plan.chance = chance;
        });
    }

    /// Takes all back.
    pub(crate) fn clear(&self) {
        self.with(|plan| *plan = Plan { seen: std::mem::take(&mut plan.seen), ..Plan::default() });
    }

    /// What is ordered, and what has happened so far.
    pub(crate) fn list(&self) -> (Vec<Fault>, Seen) {
        self.with(|plan| (plan.ordered.clone(), plan.seen.clone()))
    }

    /// Whether such a state is on: `full-pool` or `partition`.
    pub(crate) fn is_on(&self, kind: Kind) -> bool {
        self.with(|plan| plan.spells.contains_key(&kind) || plan.ordered.iter().any(|fault| fault.kind == kind))
    }

    /// What this request meets.
    pub(crate) fn fate(&self, method: &str, path: &str) -> Fate {
        self.with(|plan| {
            plan.seen.requests += 1;
            plan.spells.retain(|_, left| {
                *left -= 1;
                *left > 0
            });
            let fate = plan.ordered_fate(method, path).or_else(|| plan.random_fate()).unwrap_or_default();
            if let Some(kind) = fate.kind {
                *plan.seen.met.entry(kind).or_default() += 1;
            }
            fate
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Plan) -> T) -> T {
        work(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Plan {
    fn ordered_fate(&mut self, method: &str, path: &str) -> Option<Fate> {
        let meets = |fault: &Fault| {
            !fault.kind.is_state()
                && (fault.method.is_empty() || fault.method.eq_ignore_ascii_case(method))
                && path.starts_with(&fault.path)
        };
        let place = self.ordered.iter().position(meets)?;
        let fault = self.ordered.get_mut(place)?;
        let fate = fate(fault.kind, fault.milliseconds);
        if let Some(times) = &mut fault.times {
            *times = times.saturating_sub(1);
            if *times == 0 {
                self.ordered.remove(place);
            }
        }
        Some(fate)
    }

    fn random_fate(&mut self) -> Option<Fate> {
        let chance = self.chance.clone()?;
        if self.next() % 1_000 >= u64::from(chance.per_mille) {
            return None;
        }
        let pick = usize::try_from(self.next() % Kind::ALL.len() as u64).ok()?;
        let kind = *Kind::ALL.get(pick)?;
        if kind.is_state() {
            self.spells.insert(kind, SPELL);
        }
        Some(fate(kind, chance.milliseconds))
    }

    /// A step of splitmix64: enough for dice, and the same everywhere.
    fn next(&mut self) -> u64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.dice;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

fn fate(kind: Kind, milliseconds: u64) -> Fate {
    Fate { wait: (kind == Kind::Slow).then(|| Duration::from_millis(milliseconds)), kind: Some(kind) }
}
