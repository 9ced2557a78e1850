//! What is kept: `volume/NAME` has id and size, `id/ID` the name, `space` the bytes of all volumes, and what mistakes keep beside
//! these.

use std::time::SystemTime;

use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::{Answer, Error, Result, new_id};

use crate::mistake::{Mistake, makes};

/// The bytes of all volumes; absent: none.
pub(crate) const SPACE: &str = "space";
/// All ids in one value, where that is the mistake.
const INDEX: &str = "index";
/// The last id, where ids are counted.
const COUNTER: &str = "counter";

/// A volume.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) bytes: u64,
}

/// No client is told a record.
impl Answer for Record {}

pub(crate) fn text(key: &str) -> Result<Option<String>> {
    Ok(state::get(key)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

pub(crate) fn number(key: &str) -> Result<u64> {
    Ok(text(key)?.and_then(|text| text.parse().ok()).unwrap_or_default())
}

impl Record {
    pub(crate) fn key(name: &str) -> String {
        format!("volume/{name}")
    }

    pub(crate) fn by_id(id: &str) -> String {
        format!("id/{id}")
    }

    pub(crate) fn parse(name: &str, text: &str) -> Result<Self> {
        let parts = text.split_once(' ').and_then(|(id, bytes)| Some((id, bytes.parse().ok()?)));
        let (id, bytes) = parts.ok_or_else(|| Error::failed_precondition("a record is damaged"))?;
        Ok(Self { name: name.to_owned(), id: id.to_owned(), bytes })
    }

    pub(crate) fn print(&self) -> String {
        format!("{} {}", self.id, self.bytes)
    }

    pub(crate) fn of_name(name: &str) -> Result<Option<Self>> {
        text(&Self::key(name))?.map(|text| Self::parse(name, &text)).transpose()
    }

    pub(crate) fn of_id(id: &str) -> Result<Option<Self>> {
        let Some(name) = text(&Self::by_id(id))? else { return Ok(None) };
        Ok(Self::of_name(&name)?.filter(|record| record.id == id))
    }

    /// All of them, in the order of their ids.
    pub(crate) fn all() -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for entry in state::range("volume/") {
            let entry = entry?;
            let name = entry.key.strip_prefix("volume/").unwrap_or_default();
            all.push(Self::parse(name, &String::from_utf8_lossy(&entry.value))?);
        }
        if makes(Mistake::IndexOverwritten) {
            let index = text(INDEX)?.unwrap_or_default();
            all.retain(|record| index.split(' ').any(|id| id == record.id));
        }
        all.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(all)
    }
}

/// An id for a volume of this name.
pub(crate) fn id_for(name: &str) -> Result<String> {
    if makes(Mistake::IdFromName) {
        return Ok(format!("vol-{}", drivebay_sdk::names::encode(name)));
    }
    if makes(Mistake::IdFromClock) {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        return Ok(format!("vol-{}", since.as_nanos()));
    }
    if makes(Mistake::IdFromCounter) {
        return Ok(format!("vol-{}", number(COUNTER)? + 1));
    }
    if makes(Mistake::IdFreed) {
        let all = Record::all()?;
        let free = (1..u64::MAX).find(|number| all.iter().all(|record| record.id != format!("vol-{number}")));
        return Ok(format!("vol-{}", free.unwrap_or_default()));
    }
    Ok(format!("vol-{}", new_id()?))
}

/// What goes with a new volume into the same commit.
pub(crate) fn beside(commit: Commit, record: &Record) -> Result<Commit> {
    let mut commit = commit;
    if makes(Mistake::IdFromCounter) {
        commit = commit.put(COUNTER, (number(COUNTER)? + 1).to_string());
    }
    if makes(Mistake::IndexOverwritten) {
        let index = text(INDEX)?.unwrap_or_default();
        commit = commit.put(INDEX, format!("{index} {}", record.id));
    }
    Ok(commit)
}

/// The same when it goes.
pub(crate) fn without(commit: Commit, record: &Record) -> Result<Commit> {
    if !makes(Mistake::IndexOverwritten) {
        return Ok(commit);
    }
    let index = text(INDEX)?.unwrap_or_default();
    let rest: Vec<_> = index.split(' ').filter(|id| *id != record.id).collect();
    Ok(commit.put(INDEX, rest.join(" ")))
}

/// The space that all volumes take, changed in a commit.
pub(crate) fn space(commit: Commit, change: impl FnOnce(u64) -> u64) -> Result<Commit> {
    let before = text(SPACE)?;
    let now = change(before.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default());
    // Without what would notice the other call, either.
    let is_raced = makes(Mistake::SpaceRaced) || makes(Mistake::IndexOverwritten) || makes(Mistake::IdFromCounter);
    let commit = if is_raced { commit } else { commit.expect(SPACE, before.map(String::into_bytes)) };
    Ok(if now == 0 { commit.delete(SPACE) } else { commit.put(SPACE, now.to_string()) })
}
