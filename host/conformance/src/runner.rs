//! Runs the rules: first a plan, which is a pure matter of tables, then its steps, several at once.
//! Whatever a rule does or the driver fails to do, every rule ends and what it made is removed.

mod fates;
mod leg;

use std::time::Duration;

use serde::Serialize;

use crate::catalogue::{Choice, Class, Layout, Rule};
use crate::exchange::Shown;
use crate::rules::{self, Code, Concurrency};
use crate::site::Site;
use crate::trial::{self, Finding, RunContext, Stop, lock};
use crate::with::WithFile;

use leg::{Book, Job};

/// How a rule ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The driver keeps it.
    Pass,
    /// The driver breaks it.
    Fail,
    /// The driver does otherwise than the specifications advise or allow.
    Advice,
    /// A decision that the driver takes otherwise.
    Differs,
    /// It is not for this driver, or an input is missing.
    Skip,
    /// What it needs could not be brought about.
    Blocked,
    /// The driver ended before it could be judged.
    #[serde(rename = "not judged")]
    Unjudged,
}

/// A rule and how it ended.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// How it ended.
    pub result: Kind,
    /// Why, unless it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The exchange that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Shown>,
    /// The command that runs a finding's rule alone.
    #[serde(rename = "run_alone", skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// What could not be removed again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
}

/// What is to be done about a rule.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// Nothing, for this reason.
    Skip(&'static str),
    /// Its code runs.
    Run(&'static Code),
    /// It is judged from what all other rules saw.
    Ambient,
}

/// What is to be done about every chosen rule.
pub(crate) fn plan(table: Vec<Rule>, choice: &Choice, layouts: &[Layout], with: &WithFile) -> Vec<(Rule, Step)> {
    let chosen = table.into_iter().filter(|rule| choice.has(rule.id));
    chosen.map(|rule| (rule.clone(), step(&rule, layouts, with))).collect()
}

fn step(rule: &Rule, layouts: &[Layout], with: &WithFile) -> Step {
    if let Some(reason) = rule.unobservable {
        return Step::Skip(reason);
    }
    if with.is_declared_impossible(rule.id) {
        return Step::Skip("--with says that the driver cannot do this");
    }
    if !rule.runs_in(layouts) {
        return Step::Skip("the rule is for other layouts");
    }
    if trial::AMBIENT.contains(&rule.id) {
        return Step::Ambient;
    }
    match rules::all().find(|code| code.id == rule.id) {
        Some(code) => Step::Run(code),
        None => Step::Skip("there is no code for it"),
    }
}

/// Runs a plan, until its end, or that of the run's context. `told` hears of every rule that ended.
pub(crate) async fn run(
    run_context: &RunContext,
    plan: Vec<(Rule, Step)>,
    told: &mut dyn FnMut(&Verdict),
) -> Vec<Verdict> {
    let (mut shared, mut alone, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (place, (rule, step)) in plan.into_iter().enumerate() {
        match step {
            Step::Run(code) if code.company == Concurrency::Shared => shared.push(Job { place, rule, code }),
            Step::Run(code) => alone.push(Job { place, rule, code }),
            Step::Skip(_) | Step::Ambient => rest.push((place, rule, step)),
        }
    }
    let mut book = Book { done: Vec::new(), told };
    leg::all(run_context, shared, width(run_context), &mut book).await;
    leg::all(run_context, alone, 1, &mut book).await;
    for (place, rule, step) in rest {
        let verdict = match step {
            Step::Skip(reason) => verdict(rule, Err(Stop::Skip(reason.to_owned())), run_context.with.strict),
            _ => ambient(run_context, rule),
        };
        book.enter(place, verdict);
    }
    book.done.sort_by_key(|(place, _)| *place);
    book.done.into_iter().map(|(_, verdict)| verdict).collect()
}

/// How many rules run at once: one, where they all have to use the same volume.
fn width(run_context: &RunContext) -> usize {
    let makes_volumes = run_context.sites.first().is_some_and(Site::makes_volumes);
    if makes_volumes { run_context.with.parallel } else { 1 }
}

/// No rule needs longer than a few answers and a few waits.
fn limit(with: &WithFile) -> Duration {
    with.deadline * 3 + with.patience * 4
}

fn verdict(rule: Rule, outcome: trial::Outcome, is_strict: bool) -> Verdict {
    let (result, reason) = match outcome {
        Ok(()) => (Kind::Pass, None),
        Err(Stop::Fail(why, _)) => (broken(&rule, is_strict), Some(why)),
        Err(Stop::Differs(why, _)) => (Kind::Differs, Some(why)),
        Err(Stop::Skip(why)) => (Kind::Skip, Some(why)),
        Err(Stop::Blocked(why, _)) => (Kind::Blocked, Some(why)),
        // Whatever a request is, it is no reason to end.
        Err(Stop::Ended(why)) => (Kind::Fail, Some(why)),
        Err(Stop::Unjudged(why)) => (Kind::Unjudged, Some(why)),
    };
    Verdict { rule, result, reason, exchange: None, alone: None, millis: 0, left_behind: Vec::new() }
}

/// What it means that a driver does otherwise than a rule says.
fn broken(rule: &Rule, is_strict: bool) -> Kind {
    match rule.class {
        Class::Decision => Kind::Differs,
        _ if is_strict || rule.is_demanded() => Kind::Fail,
        _ => Kind::Advice,
    }
}

/// Judges a rule from what the run saw.
fn ambient(run_context: &RunContext, rule: Rule) -> Verdict {
    let seen = lock(&run_context.ambient);
    let (id, is_strict) = (rule.id, run_context.with.strict);
    if id == "X-121" && run_context.with.secrets.is_empty() {
        return verdict(rule, Err(Stop::Skip("--with gives no secrets".to_owned())), is_strict);
    }
    match seen.finding(id) {
        Some(Finding { why, count, exchange }) => {
            let why = format!("{} of {}: {}", count, seen.looked(id), run_context.words.mask(why));
            Verdict { exchange: exchange.clone(), ..verdict(rule, Err(Stop::Fail(why, None)), is_strict) }
        }
        None if seen.looked(id) == 0 => {
            verdict(rule, Err(Stop::Skip("no answer of this kind came in the run".to_owned())), is_strict)
        }
        None => verdict(rule, Ok(()), is_strict),
    }
}

#[cfg(test)]
mod tests;
