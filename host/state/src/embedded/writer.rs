//! The writer: one thread that makes waiting work durable together, and mends the store after a
//! failure.
//!
//! Owns the grouping and the decision to reopen. It must not answer before the disk has. Why a
//! thread and not a task: a sync blocks for milliseconds, and while one is under way the next group
//! gathers by itself, so no timer has to trade latency against throughput.

use std::collections::HashMap;
use std::sync::Arc;

use redb::{Database, Durability};

use super::apply::{Effect, Fault, apply};
use super::backing::Backing;
use super::copy::{Copying, Piece};
use super::gate::{Gate, in_words};
use super::layout::FORMAT;
use super::open;
use super::shared::Shared;
use super::work::{Job, Work};
use crate::{Quota, StateError};

const DISTRUSTED: &str =
    "the disk did not confirm a write, so what it holds is not certain; check it, then restart the host";

/// The state of the writer's thread.
pub(super) struct Writer {
    gate: Arc<Gate>,
    backing: Backing,
    store_id: String,
    shared: Arc<Shared>,
    /// Copies that are under way, by target.
    copies: HashMap<String, Copying>,
}

impl Writer {
    pub(super) fn new(gate: Arc<Gate>, backing: Backing, store_id: &str, shared: Arc<Shared>) -> Self {
        Self { gate, backing, store_id: store_id.to_owned(), shared, copies: HashMap::new() }
    }

    /// Serves until all callers are gone and all work is answered.
    pub(super) fn run(mut self) {
        while let Some(next) = self.shared.next() {
            if next.is_failing {
                self.check_health();
            }
            if self.gate.closed().is_some() {
                self.reopen();
            }
            self.work(next.group);
        }
    }

    /// Does a group. A piece of a copy is alone in its own.
    fn work(&mut self, mut group: Vec<Job>) {
        match group.pop() {
            Some(job) if matches!(job.work, Work::Copy { .. }) => self.copy(job),
            Some(last) => {
                group.push(last);
                self.serve(group);
            }
            None => {}
        }
    }

    /// Does the group in one transaction and answers each, or tells all of them that it failed.
    fn serve(&mut self, group: Vec<Job>) {
        let outcome = self.gate.write(|database| write(database, &group));
        match outcome {
            Some(Ok((verdicts, effect))) => {
                if effect == Effect::Written {
                    self.gate.count_durable();
                }
                for (job, verdict) in group.into_iter().zip(verdicts) {
                    self.shared.finish(job, verdict);
                }
            }
            Some(Err(error)) => {
                let why = in_words(&error);
                tracing::error!(%error, "the state store cannot be written: {why}");
                self.fail(&why);
                // First, so that a caller that is told of the failure can read what is there.
                self.reopen();
                self.refuse(group, &why);
            }
            None => {
                let why = self.gate.closed().unwrap_or_default();
                self.refuse(group, &why);
            }
        }
    }

    /// Does the next piece of a copy.
    fn copy(&mut self, job: Job) {
        let Work::Copy { from, to, quota } = &job.work else { return };
        let (to, under_way) = (to.clone(), self.copies.remove(to));
        let outcome = self.gate.write(|database| Ok(copy_piece(database, under_way, from, &to, *quota)));
        match outcome {
            Some(Ok(Ok((Piece::Last, _)))) => {
                self.gate.count_durable();
                self.shared.finish(job, Ok(()));
            }
            Some(Ok(Ok((Piece::More, copying)))) => {
                self.gate.count_durable();
                self.copies.insert(to, copying);
                self.shared.put_back(job);
            }
            Some(Ok(Err(Fault::Refused(error)))) => self.shared.finish(job, Err(error)),
            Some(Ok(Err(Fault::Broken(error))) | Err(error)) => {
                let why = in_words(&error);
                tracing::error!(%error, "the state store cannot be written: {why}");
                self.fail(&why);
                self.reopen();
                self.refuse(vec![job], &why);
            }
            None => {
                let why = self.gate.closed().unwrap_or_default();
                self.refuse(vec![job], &why);
            }
        }
    }

    /// Closes the database. Copies that are under way begin anew: what they read is closed with it.
    fn fail(&mut self, why: &str) {
        self.copies.clear();
        self.gate.close(why.to_owned());
    }

    /// Tells all of a group why nothing can be said of its work.
    fn refuse(&self, group: Vec<Job>, why: &str) {
        for job in group {
            self.shared.finish(job, Err(StateError::Unavailable(why.to_owned())));
        }
    }

    /// After a reader's failure: closes the database if redb has given it up.
    fn check_health(&mut self) {
        let probe = self.gate.write(|database| Ok(database.begin_write()?.abort()?));
        if let Some(Err(error)) = probe {
            self.fail(&in_words(&error));
        }
    }

    /// Opens the closed store again unless the disk can no longer be trusted. Called when someone
    /// wants the store, so a store that nobody uses is not repaired over and over.
    fn reopen(&self) {
        if self.backing.sync_failed() {
            self.gate.close(DISTRUSTED.to_owned());
            return;
        }
        match open::open(&self.backing, &[FORMAT]) {
            Ok(opened) if opened.id == self.store_id => {
                tracing::warn!("the state store was reopened after a failure");
                self.gate.open(opened.database);
            }
            Ok(_) => {
                tracing::error!(path = %self.backing.path().display(), "the state file was replaced");
                self.gate.close("its file was replaced; restart the host".to_owned());
            }
            Err(error) => {
                tracing::error!(%error, "the state store cannot be reopened");
                self.gate.close("it cannot be reopened; the host's log says why".to_owned());
            }
        }
    }
}

/// Does all work of a group in order and makes it durable. A refusal is that one's verdict; an
/// error means that nothing can be said of any.
fn write(database: &Database, group: &[Job]) -> Result<(Vec<Result<(), StateError>>, Effect), redb::Error> {
    let mut transaction = database.begin_write()?;
    // One phase: checksums find a torn commit. Two would cost a second sync, against an attacker who
    // orders the disk's writes and cuts its power; a guest can do neither.
    transaction.set_durability(Durability::Immediate)?;
    let mut verdicts = Vec::with_capacity(group.len());
    let mut effect = Effect::Nothing;
    for job in group {
        match apply(&transaction, &job.work) {
            Ok(done) => {
                if done == Effect::Written {
                    effect = done;
                }
                verdicts.push(Ok(()));
            }
            Err(Fault::Refused(error)) => verdicts.push(Err(error)),
            Err(Fault::Broken(error)) => return Err(error),
        }
    }
    match effect {
        Effect::Written => transaction.commit()?,
        Effect::Nothing => transaction.abort()?,
    }
    Ok((verdicts, effect))
}

/// Does one piece of a copy and makes it durable; begins with the first where none is under way.
fn copy_piece(
    database: &Database,
    under_way: Option<Copying>,
    from: &str,
    to: &str,
    quota: Quota,
) -> Result<(Piece, Copying), Fault> {
    let mut copying = match under_way {
        Some(copying) => copying,
        None => Copying::begin(database, from, to, quota)?,
    };
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    let piece = copying.go_on(&transaction, from, to)?;
    transaction.commit()?;
    Ok((piece, copying))
}
