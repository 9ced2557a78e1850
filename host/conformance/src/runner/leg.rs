//! Runs rules beside each other until they have ended or the driver has. What the driver's end means for each of them
//! is decided in `fates`, which knows nothing of calls; here are the effects: removing, starting the driver again.

use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream;

use super::fates::{self, Fate};
use super::{Verdict, limit, verdict};
use crate::catalogue::Rule;
use crate::exchange::Shown;
use crate::rules::Code;
use crate::trial::{self, RunContext, Scene, Stop, Trial, Undo, lock};

/// A rule, its place in the plan, and its code.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) place: usize,
    pub(super) rule: Rule,
    pub(super) code: &'static Code,
}

/// A rule during which, or before which, the driver ended.
#[derive(Debug)]
struct Cut {
    job: Job,
    /// The call that got no answer; none was under way where the rule had not begun, or was between two calls.
    under_way: Option<Shown>,
    made: Vec<Undo>,
    millis: u64,
}

/// A rule that has ended, and what could not be removed because the driver ended meanwhile.
#[derive(Debug)]
struct Ended {
    place: usize,
    verdict: Verdict,
    made: Vec<Undo>,
}

#[derive(Debug)]
enum Done {
    Ended(Ended),
    Cut(Cut),
}

/// Takes what is decided.
pub(super) struct Book<'t> {
    pub(super) done: Vec<(usize, Verdict)>,
    pub(super) told: &'t mut dyn FnMut(&Verdict),
}

impl Book<'_> {
    pub(super) fn enter(&mut self, place: usize, verdict: Verdict) {
        (self.told)(&verdict);
        self.done.push((place, verdict));
    }
}

/// Judges all of these rules, so many at once, and goes on with a driver that was started again.
pub(super) async fn all(run_context: &RunContext, jobs: Vec<Job>, width: usize, book: &mut Book<'_>) {
    let mut jobs = jobs;
    while !jobs.is_empty() {
        let (cut, owing) = leg(run_context, jobs, width, book).await;
        if cut.is_empty() && owing.is_empty() {
            return;
        }
        jobs = after(run_context, cut, owing, book).await;
    }
}

/// Runs rules until the last of them or the driver ends.
async fn leg(run_context: &RunContext, jobs: Vec<Job>, width: usize, book: &mut Book<'_>) -> (Vec<Cut>, Vec<Ended>) {
    let mut results = stream::iter(jobs.into_iter().map(|job| one(run_context, job))).buffer_unordered(width);
    let (mut cut, mut owing) = (Vec::new(), Vec::new());
    while let Some(done) = results.next().await {
        match done {
            Done::Cut(it) => cut.push(it),
            Done::Ended(it) if it.made.is_empty() => book.enter(it.place, it.verdict),
            Done::Ended(it) => owing.push(it),
        }
    }
    (cut, owing)
}

/// The driver has ended: decides what becomes of the rules that it left, and tells which of them are still to be judged.
async fn after(run_context: &RunContext, mut cut: Vec<Cut>, owing: Vec<Ended>, book: &mut Book<'_>) -> Vec<Job> {
    let is_back = run_context.revive().await;
    for it in owing {
        let left_behind = trial::undo_all(run_context, it.made).await;
        book.enter(it.place, Verdict { left_behind, ..it.verdict });
    }
    let under_way: Vec<bool> = cut.iter().map(|it| it.under_way.is_some()).collect();
    let mut again = Vec::new();
    let mut suspects = Vec::new();
    for (it, fate) in cut.iter_mut().zip(fates::of(&under_way, is_back)) {
        let left = trial::undo_all(run_context, std::mem::take(&mut it.made)).await;
        match fate {
            Fate::Again => again.push(it.job.clone()),
            Fate::Alone => suspects.push(it.job.clone()),
            Fate::Finding | Fate::Open(_) => book.enter(it.job.place, told(run_context, it, fate, left)),
        }
    }
    for job in suspects {
        again.extend(alone(run_context, job, book).await);
    }
    again
}

/// Judges a rule that may have ended the driver with nothing beside it. The answer is the rule, if it is still to be
/// judged, because the driver was gone before it began.
async fn alone(run_context: &RunContext, job: Job, book: &mut Book<'_>) -> Option<Job> {
    let (cut, owing) = leg(run_context, vec![job], 1, book).await;
    if cut.is_empty() && owing.is_empty() {
        return None;
    }
    let is_back = run_context.revive().await;
    for it in owing {
        let left_behind = trial::undo_all(run_context, it.made).await;
        book.enter(it.place, Verdict { left_behind, ..it.verdict });
    }
    for mut it in cut {
        let left = trial::undo_all(run_context, std::mem::take(&mut it.made)).await;
        match fates::of(&[it.under_way.is_some()], is_back).first() {
            Some(Fate::Again) | None => return Some(it.job),
            Some(fate) => book.enter(it.job.place, told(run_context, &it, *fate, left)),
        }
    }
    None
}

/// The verdict on a rule that the driver's end cut off.
fn told(run_context: &RunContext, it: &Cut, fate: Fate, left_behind: Vec<String>) -> Verdict {
    let call = it.under_way.as_ref().map_or("", |shown| crate::wire::method(shown.rpc));
    let stop = match (fate, call) {
        (Fate::Finding, _) => Stop::Ended(format!("the driver ended while it was to answer {call}")),
        (_, "") => Stop::Unjudged("the driver had ended".to_owned()),
        (Fate::Open(others), _) => Stop::Unjudged(format!(
            "the driver ended while it was to answer {call} and calls of {others} other rules; run this one alone"
        )),
        _ => Stop::Unjudged("the driver ended meanwhile".to_owned()),
    };
    let base = verdict(it.job.rule.clone(), Err(stop), run_context.with.strict);
    Verdict { exchange: it.under_way.clone(), millis: it.millis, left_behind, ..base }
}

async fn one(run_context: &RunContext, job: Job) -> Done {
    let scene = Scene::default();
    let begun = Instant::now();
    let limit = limit(&run_context.with);
    let outcome = tokio::select! {
        // First, so that a rule that has not begun makes nothing.
        biased;
        ended = run_context.ending.of_rules() => Err(ended),
        outcome = tokio::time::timeout(limit, (job.code.run)(Trial::new(run_context, &scene))) => outcome
            .unwrap_or_else(|_| Err(Stop::Fail(format!("it did not end within {limit:?}"), None))),
    };
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let made = lock(&scene.notes).take();
    if matches!(outcome, Err(Stop::Unjudged(_))) {
        let at = *lock(&scene.cut_off);
        let under_way =
            at.and_then(|at| lock(&scene.exchanges).get(at).map(|exchange| run_context.words.show(exchange)));
        return Done::Cut(Cut { job, under_way, made, millis });
    }
    let left_behind = trial::undo_all(run_context, made.clone()).await;
    let at = match &outcome {
        Err(Stop::Fail(_, at) | Stop::Differs(_, at) | Stop::Blocked(_, at)) => *at,
        _ => None,
    };
    let exchange = at.and_then(|at| lock(&scene.exchanges).get(at).map(|exchange| run_context.words.show(exchange)));
    let base = verdict(job.rule, outcome, run_context.with.strict);
    let reason = base.reason.map(|it| run_context.words.mask(&it));
    let is_owing = run_context.ending.is_gone() && !left_behind.is_empty();
    let verdict = Verdict { reason, exchange, millis, left_behind, ..base };
    Done::Ended(Ended { place: job.place, verdict, made: if is_owing { made } else { Vec::new() } })
}
