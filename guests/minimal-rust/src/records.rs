//! The volumes as records in the host's state: `volume/NAME` holds id, size and parameters,
//! `id/ID` the name, `counter` the last number given.
//!
//! Every change is one commit with what was read before as its expectation: two calls that run at
//! the same time never share an id, and a call that loses the race reads again.

use crate::bindings::drivebay::backend::types::{Error, ErrorCode, StringMap};
use crate::bindings::drivebay::host::state::{self, Change, Entry, Error as StateError, Expectation};
use crate::error;

/// As often a call tries before it lets its client come back.
const ATTEMPTS: u32 = 16;

const COUNTER: &str = "counter";

/// What the state holds of a volume.
pub(crate) struct Record {
    pub(crate) volume_id: String,
    pub(crate) capacity_bytes: u64,
    /// As [`fingerprint`] makes it.
    pub(crate) parameters: String,
}

/// One text for each set of parameters, whatever their order. Never empty.
pub(crate) fn fingerprint(parameters: &StringMap) -> String {
    let mut sorted: Vec<_> = parameters.iter().collect();
    sorted.sort();
    format!("{sorted:?}")
}

/// The volume of this name, new if there is none.
pub(crate) fn find_or_create(name: &str, parameters: &StringMap, capacity_bytes: u64) -> Result<Record, Error> {
    let key = format!("volume/{name}");
    for _ in 0..ATTEMPTS {
        if let Some(found) = read(&key)? {
            return parse(&found).ok_or_else(|| damaged(&key));
        }
        let counter = read(COUNTER)?;
        let last: u64 = match &counter {
            None => 0,
            Some(text) => text.parse().map_err(|_| damaged(COUNTER))?,
        };
        let record =
            Record { volume_id: format!("vol-{}", last + 1), capacity_bytes, parameters: fingerprint(parameters) };
        let committed = state::commit(&[
            expect(COUNTER, counter),
            expect(&key, None),
            put(COUNTER, (last + 1).to_string()),
            put(&key, print(&record)),
            put(&format!("id/{}", record.volume_id), name.to_owned()),
        ]);
        match committed {
            Ok(()) => return Ok(record),
            Err(StateError::Conflict(_)) => {}
            Err(failed) => return Err(refused(&failed)),
        }
    }
    Err(crowded())
}

/// Forgets a volume; success when there is none.
pub(crate) fn delete(volume_id: &str) -> Result<(), Error> {
    let key = format!("id/{volume_id}");
    for _ in 0..ATTEMPTS {
        let Some(name) = read(&key)? else {
            return Ok(());
        };
        let volume = Change::Delete(format!("volume/{name}"));
        match state::commit(&[expect(&key, Some(name)), Change::Delete(key.clone()), volume]) {
            Ok(()) => return Ok(()),
            Err(StateError::Conflict(_)) => {}
            Err(failed) => return Err(refused(&failed)),
        }
    }
    Err(crowded())
}

/// Whether there is a volume of this id.
pub(crate) fn exists(volume_id: &str) -> Result<bool, Error> {
    Ok(read(&format!("id/{volume_id}"))?.is_some())
}

fn read(key: &str) -> Result<Option<String>, Error> {
    let value = state::get(key).map_err(|failed| refused(&failed))?;
    let text = value.map(String::from_utf8).transpose();
    text.map_err(|_| damaged(key))
}

fn print(record: &Record) -> String {
    let Record { volume_id, capacity_bytes, parameters } = record;
    format!("{volume_id} {capacity_bytes} {parameters}")
}

fn parse(text: &str) -> Option<Record> {
    let mut parts = text.splitn(3, ' ');
    Some(Record {
        volume_id: parts.next()?.to_owned(),
        capacity_bytes: parts.next()?.parse().ok()?,
        parameters: parts.next()?.to_owned(),
    })
}

fn put(key: &str, value: String) -> Change {
    Change::Put(Entry { key: key.to_owned(), value: value.into_bytes() })
}

fn expect(key: &str, value: Option<String>) -> Change {
    Change::Expect(Expectation { key: key.to_owned(), value: value.map(String::into_bytes) })
}

fn damaged(key: &str) -> Error {
    error(ErrorCode::FailedPrecondition, format!("the record {key} is damaged"))
}

fn refused(failed: &StateError) -> Error {
    let code = match failed {
        StateError::QuotaExceeded => ErrorCode::ResourceExhausted,
        StateError::ReadOnly => ErrorCode::FailedPrecondition,
        StateError::Conflict(_) | StateError::Invalid(_) | StateError::Unavailable(_) => ErrorCode::Unavailable,
    };
    error(code, format!("the state answered {failed}"))
}

fn crowded() -> Error {
    Error {
        reason: Some("busy".to_owned()),
        ..error(ErrorCode::Aborted, "other calls changed the state again and again")
    }
}
