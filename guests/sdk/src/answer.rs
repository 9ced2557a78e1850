//! What a client is going to be told, held against the contract before anything is kept.
//!
//! The host checks every answer and refuses one that breaks the contract. What was committed before stays: the object is
//! there, no client knows of it, and every listing meets it again. [`state::transact`](crate::state::transact) therefore
//! checks its result before it commits. It knows the rules of an object by itself, no request and no feature.

use crate::types::{Snapshot, StringMap, Volume, VolumeContentSource, VolumeGroup};
use crate::{Error, Result};

/// Longest id in bytes.
const ID: usize = 128;
/// Largest context in bytes, keys and values together.
const CONTEXT: usize = 4 << 10;
/// Largest number of bytes that clients can read: they have a sign.
const BYTES: u64 = i64::MAX.unsigned_abs();

/// What a transaction results in.
///
/// A record of your own from which answers are made checks the answer that it becomes:
///
/// ```
/// use drivebay_sdk::{Answer, Result, types::Volume};
///
/// struct Record {
///     id: String,
///     bytes: u64,
///     pool: String,
/// }
///
/// impl Record {
///     fn volume(&self) -> Volume {
///         let context = vec![("pool".to_owned(), self.pool.clone())];
///         Volume { volume_context: context, ..Volume::new(&*self.id, self.bytes) }
///     }
/// }
///
/// impl Answer for Record {
///     fn check(&self) -> Result<()> {
///         self.volume().check()
///     }
/// }
///
/// let record = Record { id: "vol-1".to_owned(), bytes: 1 << 30, pool: "p".repeat(5_000) };
/// assert!(record.check().is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "what becomes of `{Self}` for clients is not known",
    note = "`impl Answer for {Self}`, so that nothing is committed which the host would refuse to tell; its default is for \
            what no client is told"
)]
pub trait Answer {
    /// Whether clients can be told this. Nothing to tell: yes.
    ///
    /// # Errors
    /// `internal`, with the first rule that it breaks; nothing has been changed.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

fn broken(what: &str, problem: impl std::fmt::Display) -> Error {
    Error::internal(format!("the backend would answer against the contract: {what} {problem}"))
}

fn id(what: &str, id: &str) -> Result<()> {
    match id.len() {
        0 => Err(broken(what, "is empty")),
        1..=ID if id.chars().any(char::is_control) => Err(broken(what, "has a control character")),
        1..=ID => Ok(()),
        bytes => Err(broken(what, format!("has {bytes} bytes; at most {ID} are allowed"))),
    }
}

fn bytes(what: &str, bytes: u64) -> Result<()> {
    if bytes <= BYTES { Ok(()) } else { Err(broken(what, format!("is {bytes}; at most {BYTES} is allowed"))) }
}

fn context(what: &str, context: &StringMap) -> Result<()> {
    let bytes: usize = context.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > CONTEXT {
        return Err(broken(what, format!("has {bytes} bytes; at most {CONTEXT} are allowed")));
    }
    let mut keys: Vec<_> = context.iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    if let Some([twice, _]) = keys.array_windows().find(|[one, next]| one == next) {
        return Err(broken(what, format!("has the key {twice:?} twice")));
    }
    let is_bad =
        |(key, value): &(String, String)| key.is_empty() || key.chars().any(char::is_control) || value.contains('\0');
    match context.iter().find(|pair| is_bad(pair)) {
        Some((key, _)) => Err(broken(what, format!("has an unusable key or value at {key:?}"))),
        None => Ok(()),
    }
}

impl Answer for Volume {
    fn check(&self) -> Result<()> {
        id("volume-id", &self.volume_id)?;
        bytes("capacity-bytes", self.capacity_bytes)?;
        context("volume-context", &self.volume_context)?;
        match &self.content_source {
            Some(VolumeContentSource::Snapshot(source) | VolumeContentSource::Volume(source)) => {
                id("content-source", source)
            }
            None => Ok(()),
        }
    }
}

impl Answer for Snapshot {
    fn check(&self) -> Result<()> {
        id("snapshot-id", &self.snapshot_id)?;
        id("source-volume-id", &self.source_volume_id)?;
        bytes("size-bytes", self.size_bytes)?;
        self.group_snapshot_id.as_deref().map_or(Ok(()), |group| id("group-snapshot-id", group))
    }
}

impl Answer for VolumeGroup {
    fn check(&self) -> Result<()> {
        id("volume-group-id", &self.volume_group_id)?;
        context("volume-group-context", &self.volume_group_context)?;
        self.volumes.check()
    }
}

impl<T: Answer> Answer for Vec<T> {
    fn check(&self) -> Result<()> {
        self.iter().try_for_each(T::check)
    }
}

impl<A: Answer> Answer for Option<A> {
    fn check(&self) -> Result<()> {
        self.as_ref().map_or(Ok(()), A::check)
    }
}

impl<A: Answer, B: Answer> Answer for (A, B) {
    fn check(&self) -> Result<()> {
        self.0.check()?;
        self.1.check()
    }
}

macro_rules! untold {
    ($($plain:ty),*) => { $(impl Answer for $plain {})* };
}
untold!((), bool, u8, u32, u64, i32, i64, usize, String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{self, Commit};
    use crate::{ErrorCode, testing};

    fn with_context(pairs: &[(&str, &str)]) -> Volume {
        let context = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Volume { volume_context: context, ..Volume::new("v", 1) }
    }

    #[test]
    fn an_answer_that_the_host_would_refuse_is_found() {
        let long = "v".repeat(CONTEXT);
        let source = Some(VolumeContentSource::Volume(String::new()));
        for (volume, word) in [
            (Volume::new("", 1), "volume-id is empty"),
            (Volume::new("i".repeat(129), 1), "129 bytes"),
            (Volume::new("a\nb", 1), "control"),
            (Volume::new("v", u64::MAX), "capacity-bytes"),
            (with_context(&[("k", &long)]), "4097 bytes"),
            (with_context(&[("k", "1"), ("j", "1"), ("k", "2")]), "twice"),
            (with_context(&[("", "1")]), "unusable"),
            (with_context(&[("k", "\0")]), "unusable"),
            (Volume { content_source: source, ..Volume::new("v", 1) }, "content-source is empty"),
        ] {
            let error = volume.check().unwrap_err();
            assert!(error.code == ErrorCode::Internal && error.message.contains(word), "{word}: {error:?}");
        }
        let good = Volume {
            volume_context: vec![("k".to_owned(), "v".repeat(CONTEXT - 1))],
            ..Volume::new("i".repeat(128), BYTES)
        };
        assert_eq!(good.check(), Ok(()));
    }

    #[test]
    fn nothing_is_committed_that_cannot_be_told() {
        testing::reset();
        let made = state::transact(|| Ok((Volume::new("", 1), Commit::new().put("volume", "1"))));
        assert!(made.unwrap_err().message.contains("volume-id is empty"));
        assert!(testing::keys().is_empty());
        state::transact(|| Ok((Volume::new("v", 1), Commit::new().put("volume", "1")))).unwrap();
        assert_eq!(testing::keys(), ["volume"]);
    }
}
