//! The volumes as records in the host's state: `volume/NAME` holds id, size and parameters,
//! `id/ID` the name.
//!
//! Every change is one commit with what was read before as its expectation: of two calls for one
//! name that run at the same time one makes the volume, and the other reads again and finds it. Ids
//! are drawn: calls for different names that counted them would all wait for one key.

use crate::bindings::drivebay::backend::types::{Error, ErrorCode, StringMap};
use crate::bindings::drivebay::host::state::{self, Change, Entry, Error as StateError, Expectation};
use crate::error;

/// As often a call tries before it lets its client come back. Only calls for one object meet here, and the host
/// lets those of one name in one after the other.
const ATTEMPTS: u32 = 4;

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
        let record = Record { volume_id: draw_id()?, capacity_bytes, parameters: fingerprint(parameters) };
        let committed = state::commit(&[
            expect(&key, None),
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

/// The volume of this id; none: there is none.
pub(crate) fn find(volume_id: &str) -> Result<Option<Record>, Error> {
    let Some(name) = read(&format!("id/{volume_id}"))? else {
        return Ok(None);
    };
    let key = format!("volume/{name}");
    read(&key)?.map(|found| parse(&found).ok_or_else(|| damaged(&key))).transpose()
}

/// 128 random bits, so that no id is ever given twice, to a volume deleted long ago neither.
fn draw_id() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|failed| error(ErrorCode::Unavailable, format!("the host gave no random numbers: {failed}")))?;
    Ok(format!("vol-{:032x}", u128::from_be_bytes(bytes)))
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
