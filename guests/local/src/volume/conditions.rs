//! Conditions of the volumes on a page of a listing.
//!
//! Judging a volume takes one look at its contents. Clients poll the list, so a large page is judged once a minute; in
//! between it tells what was found then, and opens no file for each volume. `GetVolume` always judges.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use drivebay_sdk::types::{VolumeCondition, VolumeHealthEntry};
use local_pool::record::{self, FORMAT, Moment, VolumeRecord};
use serde::{Deserialize, Serialize};

use crate::backend::Backend;

/// Pages with fewer volumes are judged each time.
const SMALL: usize = 100;

/// How long a page tells what was found, in seconds.
const LASTING: u64 = 60;

/// What the keys in the state begin with; the id behind it is the one that the page begins after.
const JUDGED: &str = "judged/";

/// Superseded entries that one commit removes.
const SUPERSEDED: usize = 64;

/// In the state: what was found on a page.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Judged {
    format: u32,
    at: Moment,
    /// The last volume of the page.
    upto: String,
    /// Volumes with something wrong, and what.
    ailing: Vec<(String, String)>,
}

impl Backend<'_> {
    /// The conditions of the volumes on the page that begins after an id; none: there was no time to look.
    pub(super) fn conditions(
        &self,
        after: Option<&str>,
        volumes: &[VolumeRecord],
    ) -> Result<Vec<Option<VolumeCondition>>> {
        if volumes.len() < SMALL {
            return Ok(volumes.iter().map(|volume| self.condition_in_time(volume)).collect());
        }
        let key = format!("{JUDGED}{}", after.unwrap_or_default());
        let known = self.judged(&key)?;
        let told = |volume: &VolumeRecord| match &known {
            Some(known) if volume.id <= known.upto => Some(known.condition_of(&volume.id)),
            _ => self.condition_in_time(volume),
        };
        let conditions: Vec<_> = volumes.iter().map(told).collect();
        if known.is_none() {
            self.remember(&key, volumes, &conditions)?;
        }
        Ok(conditions)
    }

    /// The condition of a volume; none: there is no time to look.
    fn condition_in_time(&self, volume: &VolumeRecord) -> Option<VolumeCondition> {
        let ailments = if self.pool.is_out_of_time() { None } else { self.ailments_of(volume).ok() };
        ailments.map(|ailments| condition(&ailments))
    }

    /// What was found on a page lately.
    fn judged(&self, key: &str) -> Result<Option<Judged>> {
        let now = self.host.now();
        let known: Option<Judged> = self.host.get(key)?.and_then(|bytes| record::decode(&bytes).ok());
        Ok(known.filter(|known| known.at <= now && now.seconds_since(known.at) < LASTING))
    }

    /// Remembers what was found, unless something was not looked at. Pages that began in the middle of this one go.
    fn remember(&self, key: &str, volumes: &[VolumeRecord], found: &[Option<VolumeCondition>]) -> Result<()> {
        let (Some(last), true) = (volumes.last(), found.iter().all(Option::is_some)) else {
            return Ok(());
        };
        let ailing = volumes.iter().zip(found.iter().flatten()).filter(|(_, condition)| condition.abnormal);
        let judged = Judged {
            format: FORMAT,
            at: self.host.now(),
            upto: last.id.clone(),
            ailing: ailing.map(|(volume, condition)| (volume.id.clone(), condition.message.clone())).collect(),
        };
        let end = format!("{JUDGED}{}", last.id);
        let inside = self.host.range(JUDGED, Some(key), SUPERSEDED)?.into_iter().map(|entry| entry.key);
        let commit = Commit::new().put(key, record::encode(&judged)?);
        let commit = inside.filter(|inside| *inside < end).fold(commit, Commit::delete);
        self.host.commit(&commit)
    }
}

impl Judged {
    fn condition_of(&self, id: &str) -> VolumeCondition {
        let found = self.ailing.iter().find(|(ailing, _)| ailing == id);
        VolumeCondition { abnormal: found.is_some(), message: message(found.map(|(_, message)| message.as_str())) }
    }
}

/// What is wrong, as older clients learn it.
pub(crate) fn condition(ailments: &[VolumeHealthEntry]) -> VolumeCondition {
    let first = ailments.first().map(|ailment| ailment.message.as_str());
    VolumeCondition { abnormal: first.is_some(), message: message(first) }
}

fn message(wrong: Option<&str>) -> String {
    wrong.unwrap_or("healthy").to_owned()
}
