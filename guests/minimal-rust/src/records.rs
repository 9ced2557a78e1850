//! The volumes as records in the host's state: `volume/NAME` holds id, size and parameters, `id/ID` the name.
//!
//! It knows nothing of requests. Every change is one commit with what was read before as its expectation: of two
//! calls for one name that run at the same time one makes the volume, and the other reads again and finds it. Ids
//! are drawn: calls for different names that counted them would all wait for one key.

use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::types::{StringMap, Volume};
use drivebay_sdk::{Answer, Error, Result, new_id};

/// What the state holds of a volume.
#[derive(Debug)]
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

/// No client is told a record: `find_or_create` has the volume beside it.
impl Answer for Record {}

/// The volume of this name, new if there is none, and what the client is told of it.
pub(crate) fn find_or_create(name: &str, parameters: &StringMap, told: &Volume) -> Result<(Record, Volume)> {
    let key = by_name(name);
    state::transact(|| {
        let tell = |record: Record| {
            let (volume_id, capacity_bytes) = (record.volume_id.clone(), record.capacity_bytes);
            (record, Volume { volume_id, capacity_bytes, ..told.clone() })
        };
        if let Some(found) = read(&key)? {
            return Ok((tell(parse(&key, &found)?), Commit::new()));
        }
        let volume_id = format!("vol-{}", new_id()?);
        let record = Record { volume_id, capacity_bytes: told.capacity_bytes, parameters: fingerprint(parameters) };
        let commit = Commit::new().expect_absent(&key).put(&key, print(&record)).put(by_id(&record.volume_id), name);
        Ok((tell(record), commit))
    })
}

/// Forgets a volume; success when there is none.
pub(crate) fn delete(volume_id: &str) -> Result<()> {
    let key = by_id(volume_id);
    state::transact(|| {
        let Some(name) = read(&key)? else { return Ok(((), Commit::new())) };
        let volume = by_name(&name);
        Ok(((), Commit::new().expect(&key, Some(name.into())).delete(&key).delete(volume)))
    })
}

/// The volume of this id; none: there is none.
pub(crate) fn find(volume_id: &str) -> Result<Option<Record>> {
    let Some(name) = read(&by_id(volume_id))? else { return Ok(None) };
    let key = by_name(&name);
    read(&key)?.map(|found| parse(&key, &found)).transpose()
}

fn by_name(name: &str) -> String {
    format!("volume/{name}")
}

fn by_id(volume_id: &str) -> String {
    format!("id/{volume_id}")
}

fn read(key: &str) -> Result<Option<String>> {
    state::get(key)?.map(|bytes| String::from_utf8(bytes).map_err(|_| damaged(key))).transpose()
}

fn print(record: &Record) -> String {
    let Record { volume_id, capacity_bytes, parameters } = record;
    format!("{volume_id} {capacity_bytes} {parameters}")
}

fn parse(key: &str, text: &str) -> Result<Record> {
    let mut parts = text.splitn(3, ' ');
    let mut next = || parts.next().ok_or_else(|| damaged(key));
    Ok(Record {
        volume_id: next()?.to_owned(),
        capacity_bytes: next()?.parse().map_err(|_| damaged(key))?,
        parameters: next()?.to_owned(),
    })
}

fn damaged(key: &str) -> Error {
    Error::failed_precondition(format!("the record {key} is damaged"))
}
