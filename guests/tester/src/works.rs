//! Background work as records: `work/ID` = `due=MS;objects=KIND:ID:ACCESS,…;do=WORD;every=MS`.
//!
//! `steps/ID` counts the steps that were begun. Work with `every` comes again: a step sets the next
//! time beyond the present, however many were missed. While the key `paused` is there nothing is
//! due; recovery removes it, so a test can have work fall due while no host runs.

use std::time::{SystemTime, UNIX_EPOCH};

use drivebay_sdk::background::{DueWorks, ObjectAccess, ObjectKind, Step, Work, WorkObject};
use drivebay_sdk::state::{self, Commit, transact};
use drivebay_sdk::types::{Instant, StringMap};
use drivebay_sdk::{Background, Error, Recovery, Result};

use crate::records::text;
use crate::{Tester, act};

impl Recovery for Tester {
    fn recover() -> Result<()> {
        act::enter("recover", "host", &StringMap::new())?;
        Commit::new().delete("paused").run()?;
        Ok(())
    }
}

impl Background for Tester {
    fn list_due(_: Instant) -> Result<DueWorks> {
        let flaw = act::quietly("list-due", "host")?;
        if flaw == "now" {
            return Ok(DueWorks { works: Vec::new(), next: Some(Instant::now()) });
        }
        if text("paused")?.is_some() {
            return Ok(DueWorks { works: Vec::new(), next: None });
        }
        let works = state::range("work/")
            .map(|entry| {
                let entry = entry?;
                let id = entry.key.strip_prefix("work/").unwrap_or_default();
                work(id, &String::from_utf8_lossy(&entry.value))
            })
            .collect::<Result<Vec<_>>>()?;
        let next = works.iter().map(|work| work.due).filter(|due| *due > Instant::now()).min();
        Ok(DueWorks { works, next })
    }

    fn run_step(id: String) -> Result<Step> {
        let step = count(&id)?;
        act::enter("run-step", &format!("{id} {step}"), &StringMap::new())?;
        let record = text(&format!("work/{id}"))?.unwrap_or_default();
        let word = field(&record, "do").unwrap_or_default();
        let (verb, rest) = word.split_once(' ').unwrap_or((word, ""));
        let least = rest.parse::<u64>().unwrap_or(0);
        match verb {
            "again" if step < least => return Ok(Step::Again),
            "fail" if step <= least => return Err(Error::unavailable("the work asks for it")),
            "" | "again" | "fail" => {}
            _ => {
                act::obey(word, "run-step", &id, &StringMap::new())?;
            }
        }
        finish(&id, &record)
    }
}

/// Counts a step and tells which one it is.
fn count(id: &str) -> Result<u64> {
    let key = format!("steps/{id}");
    transact(|| {
        let before = state::get(&key)?;
        let text = before.as_deref().map(String::from_utf8_lossy);
        let step = text.map_or(0, |text| text.parse::<u64>().unwrap_or(0)) + 1;
        let commit = Commit::new().expect(&key, before).put(&key, step.to_string());
        Ok((step, commit))
    })
}

/// Strikes the work out, or sets its next time.
fn finish(id: &str, record: &str) -> Result<Step> {
    let key = format!("work/{id}");
    let every = field(record, "every").and_then(|ms| ms.parse::<u64>().ok());
    let Some(every) = every.filter(|ms| *ms > 0) else {
        Commit::new().delete(&key).run()?;
        return Ok(Step::Done);
    };
    let due = milliseconds(record);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let missed = now.saturating_sub(due) / every;
    let next = due.saturating_add(every.saturating_mul(missed + 1));
    let moved = record.replace(&format!("due={due}"), &format!("due={next}"));
    Commit::new().put(&key, moved).run()?;
    Ok(Step::Later)
}

fn field<'a>(record: &'a str, name: &str) -> Option<&'a str> {
    let fields = record.split(';').filter_map(|field| field.split_once('='));
    fields.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn milliseconds(record: &str) -> u64 {
    field(record, "due").and_then(|ms| ms.parse().ok()).unwrap_or(0)
}

fn work(id: &str, record: &str) -> Result<Work> {
    let due = milliseconds(record);
    let objects = field(record, "objects").unwrap_or_default();
    Ok(Work {
        id: id.to_owned(),
        objects: objects
            .split(',')
            .filter(|object| !object.is_empty())
            .map(|text| object(text).ok_or_else(|| Error::failed_precondition(format!("no object: {text}"))))
            .collect::<Result<_>>()?,
        due: Instant {
            seconds: i64::try_from(due / 1_000).unwrap_or(i64::MAX),
            nanoseconds: u32::try_from(due % 1_000 * 1_000_000).unwrap_or(0),
        },
    })
}

/// `KIND:ID:ACCESS`.
fn object(text: &str) -> Option<WorkObject> {
    let (kind, rest) = text.split_once(':')?;
    let (id, access) = rest.rsplit_once(':')?;
    Some(WorkObject {
        kind: match kind {
            "volume" => ObjectKind::Volume,
            "snapshot" => ObjectKind::Snapshot,
            "group-snapshot" => ObjectKind::GroupSnapshot,
            "volume-group" => ObjectKind::VolumeGroup,
            _ => return None,
        },
        id: id.to_owned(),
        access: match access {
            "exclusive" => ObjectAccess::Exclusive,
            "shared" => ObjectAccess::Shared,
            _ => return None,
        },
    })
}
