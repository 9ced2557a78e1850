//! One host at the limits that it is released with: backends that take all they can, one kind of work after the other,
//! beside a neighbour whose commits, reads of files and publishes are timed. Owns what is measured when.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::geteuid;
use serde::Serialize;
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;

use super::catalogue::PEACE;
use super::clients::{self, PublishedAt};
use super::lasting::{TIMES, ratio};
use super::meter::{self, Calls, Mix, What};
use super::model::{Act, Attack};
use super::place::{Place, Stage};
use super::process::{Process, client};
use super::times::PATIENCE;

/// How long the neighbour is looked at in peace: its p99 is one of some hundred calls of each kind.
const PEACEFUL: Duration = Duration::from_secs(4);
/// How long each kind of work goes on.
const EACH: Duration = Duration::from_secs(1);
/// How often it is measured anew where it was more: whatever else runs on a machine makes it worse, and nothing better.
const TRIES: usize = 3;

/// What is done, and by how many calls at once.
const WORK: [(&str, usize); 12] = [
    ("loop", 8),
    ("commits", 32),
    ("range-full", 16),
    ("names 4000", 24),
    ("reads", 24),
    ("writes", 8),
    ("log 1000000", 16),
    ("random 0", 16),
    ("timers", 16),
    ("take 60", 40),
    ("streams 1000", 16),
    ("trap", 32),
];
/// Publishes at once, of volumes of their own.
const PUBLISHES: usize = 48;

/// When a kind of work went on.
struct Work {
    name: &'static str,
    begin: Instant,
    end: Instant,
}

/// What the neighbour noticed.
#[derive(Debug, Serialize)]
pub(super) struct Storm {
    pub(super) p99_in_peace_us: u128,
    pub(super) p99_under_attack_us: u128,
    pub(super) times: f64,
    pub(super) neighbour_calls: usize,
    pub(super) neighbour_failures: usize,
    /// How often it was measured.
    pub(super) tries: usize,
    /// Of each kind of its calls, in microseconds: p99 in peace and under attack.
    pub(super) kinds: Vec<(What, u128, u128)>,
    /// The p99 of all of its calls under each kind of work, in microseconds.
    pub(super) works: Vec<(&'static str, u128)>,
    /// What is wrong with how the host ended; empty: nothing.
    pub(super) left: String,
}

impl Storm {
    fn of(calm: &Calls, stormy: &Calls, works: &[Work]) -> Self {
        let (quiet, under) = (calm.p99(), stormy.p99());
        Self {
            p99_in_peace_us: quiet,
            p99_under_attack_us: under,
            times: ratio(under, quiet),
            neighbour_calls: calm.len() + stormy.len(),
            neighbour_failures: calm.failed + stormy.failed,
            tries: 1,
            kinds: What::ALL.map(|what| (what, calm.p99_of(what), stormy.p99_of(what))).to_vec(),
            works: works.iter().map(|work| (work.name, stormy.p99_within(work.begin, work.end))).collect(),
            left: String::new(),
        }
    }

    /// Whether nothing failed, nothing was left, and the neighbour was served in time, where that is judged.
    pub(super) fn is_well(&self, times_are_judged: bool) -> bool {
        let in_time = self.times <= TIMES || !times_are_judged;
        self.neighbour_failures == 0 && self.left.is_empty() && in_time
    }

    /// The figures, for people.
    pub(super) fn lines(&self) -> [String; 2] {
        let works = self.works.iter().map(|(name, us)| format!("{name} {:.1}", ratio(*us, 1_000)));
        let under = format!("its p99 under each kind of work, in ms: {}", works.collect::<Vec<_>>().join(", "));
        [self.line(), under]
    }

    fn line(&self) -> String {
        let ms = |us: u128| ratio(us, 1_000);
        let kinds =
            self.kinds.iter().filter(|(_, quiet, _)| *quiet > 0).fold(String::new(), |mut all, (what, a, b)| {
                let comma = if all.is_empty() { "" } else { ", " };
                // Writing to a text cannot fail.
                let _ = write!(all, "{comma}{} {:.1} ({:.1})", what.word(), ms(*b), ms(*a));
                all
            });
        let left = if self.left.is_empty() { "nothing" } else { &self.left };
        format!(
            "at the released limits: the neighbour's p99 {:.1} ms under attack, {:.1} ms in peace: {:.1} times ({TIMES} at \
             most, measured {} times); under attack, and in peace: {kinds} ms; {} of its {} calls failed; left over: {left}",
            ms(self.p99_under_attack_us),
            ms(self.p99_in_peace_us),
            self.times,
            self.tries,
            self.neighbour_failures,
            self.neighbour_calls,
        )
    }
}

/// Plays it, again if it was not well; gives the best.
///
/// # Errors
/// When a host cannot be started, or does not answer.
pub(super) async fn play(stage: &Stage) -> Result<Storm> {
    let mut all = vec![once(stage).await?];
    while all.len() < TRIES && all.iter().all(|storm| storm.times > TIMES) {
        all.push(once(stage).await?);
    }
    // What went wrong once went wrong.
    let (tries, neighbour_failures) = (all.len(), all.iter().map(|storm| storm.neighbour_failures).sum());
    let left: Vec<_> = all.iter().map(|storm| storm.left.clone()).filter(|left| !left.is_empty()).collect();
    let best = all.into_iter().min_by(|a, b| a.times.total_cmp(&b.times)).context("nothing was measured")?;
    Ok(Storm { tries, neighbour_failures, left: left.join("; "), ..best })
}

async fn once(stage: &Stage) -> Result<Storm> {
    let is_root = geteuid().is_root();
    let act = if is_root { Act::Publish } else { Act::Nothing };
    let attack = Attack { id: "storm", act, ..PEACE };
    let stage = Stage { as_released: true, ..stage.clone() };
    let place = Place::new(&stage, &attack)?;
    let mut host = Process::start(&place, None)?;
    let (socket, attacker) = (place.at("neighbour.sock"), client(&place.at("attacker.sock"), PATIENCE).await);
    let attacker = attacker.with_context(|| place.log())?;
    clients::ready(&attacker).await?;
    let mix = Mix::Work(is_root.then(|| PublishedAt::new(&place, "neighbours")));
    let calm = meter::beside(socket.clone(), mix.clone(), sleep(PEACEFUL)).await?;
    let works = RefCell::new(Vec::new());
    let ended = |name, begin| works.borrow_mut().push(Work { name, begin, end: Instant::now() });
    let storm = async {
        for (deed, calls) in WORK {
            let begin = Instant::now();
            many(calls, |n| told(&attacker, deed, n)).await;
            ended(deed, begin);
        }
        if is_root {
            let begin = Instant::now();
            many(PUBLISHES, |n| published(&attacker, PublishedAt::new(&place, &format!("bad-{n}")))).await;
            ended("publishes", begin);
        }
    };
    let stormy = meter::beside(socket, mix, storm).await?;
    if is_root {
        calm_down(&attacker, &place).await;
    }
    drop(attacker);
    let end = host.end_busy(PATIENCE).await;
    let left = end.into_iter().chain(place.holds()).chain(super::judge::panics(&place.log()));
    Ok(Storm { left: left.collect::<Vec<_>>().join("; "), ..Storm::of(&calm, &stormy, &works.into_inner()) })
}

/// Unpublishes what clients had published when they gave up; what stays is seen afterwards.
async fn calm_down(attacker: &Channel, place: &Place) {
    let all = (0..PUBLISHES).map(|n| PublishedAt::new(place, &format!("bad-{n}")));
    let undone = futures_util::future::join_all(all.map(|at| async move {
        // A call whose client has gone holds its volume for as long as it goes on.
        while at.unpublish(attacker).await.is_err() {
            breathe().await;
        }
    }));
    let _in_time = timeout(PATIENCE, undone).await;
}

/// So many clients that do one thing over and over, for as long as one kind of work goes on.
async fn many<F: Future<Output = ()>>(clients: usize, one: impl Fn(usize) -> F) {
    let all = futures_util::future::join_all((0..clients).map(|n| {
        let one = &one;
        async move {
            loop {
                one(n).await;
            }
        }
    }));
    // Their clients give them up; the host goes on with what it has begun.
    let _over = timeout(EACH, all).await;
}

async fn told(channel: &Channel, deed: &str, n: usize) {
    // Whatever comes of it: it is the neighbour that is looked at.
    if clients::told(channel, &format!("bad-{deed}-{n}"), deed).await.is_err() {
        breathe().await;
    }
}

async fn published(channel: &Channel, at: PublishedAt) {
    if at.publish(channel).await.is_err() || at.unpublish(channel).await.is_err() {
        breathe().await;
    }
}

/// What is refused at once is not asked for again at once: it is the host that is attacked, and not its socket.
async fn breathe() {
    sleep(Duration::from_millis(5)).await;
}
