//! Heartbeats: sending one, and deciding whether the other site is alive.
//!
//! A heartbeat counts from the moment this site saw it change. The clocks of the two sites are never compared.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use local_pool::disk::Lasting;
use local_pool::record::{self, FORMAT, Moment};
use serde::{Deserialize, Serialize};

use crate::Replication;
use crate::wire::SiteText;

/// Seconds between two heartbeats.
pub(super) const BEAT: i64 = 5;

/// Missed heartbeats that make a site silent.
const MOST_MISSED: i64 = 3;

/// The key of the state under which the heartbeats are remembered.
const HEARD: &str = "heartbeat";

/// In the state: this site's last heartbeat, and the other's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Heard {
    format: u32,
    pub(super) own: Moment,
    pub(super) peer: Option<String>,
    peer_beat: Option<Moment>,
    /// When the other's heartbeat was seen to change.
    changed: Moment,
}

impl Replication<'_> {
    /// Whether a site has given a sign within three heartbeats. One that is new since the last look
    /// is of now; one that is damaged is none, and says nothing about the others.
    pub(crate) fn is_heard(&self, site: &str) -> Result<bool> {
        let heard = self.heartbeats()?;
        let beat = self.beat_of(site)?;
        let known = heard.peer.as_deref() == Some(site);
        if beat.is_some() && !(known && beat == heard.peer_beat) {
            return Ok(true);
        }
        if !known || heard.peer_beat.is_none() {
            return Ok(false);
        }
        let age = self.host.now().seconds.saturating_sub(heard.changed.seconds);
        Ok(age <= MOST_MISSED * BEAT)
    }

    fn beat_of(&self, site: &str) -> Result<Option<Moment>> {
        let path = format!("{}/site.json", self.site_folder(site)?);
        let text = self.read_link::<SiteText>(&path)?.and_then(std::result::Result::ok);
        Ok(text.filter(|text| text.site == site).map(|text| text.beat))
    }

    /// What is remembered of the heartbeats.
    pub(crate) fn heartbeats(&self) -> Result<Heard> {
        let known = self.host.get(HEARD)?;
        Ok(known.and_then(|bytes| record::decode(&bytes).ok()).unwrap_or_default())
    }

    /// Gives a sign, and notes the other's.
    pub(crate) fn beat(&self) -> Result<()> {
        let now = self.host.now();
        let mut heard = Heard { format: FORMAT, own: now, ..self.heartbeats()? };
        let given = self.give_sign(now);
        let other = given.and_then(|()| self.other_site());
        if let Ok(Some(site)) = &other {
            if heard.peer.as_ref() != Some(site) {
                heard.peer = Some(site.clone());
                heard.peer_beat = None;
            }
            if let Some(beat) = self.beat_of(site)?.filter(|beat| heard.peer_beat != Some(*beat)) {
                heard.peer_beat = Some(beat);
                heard.changed = now;
            }
        }
        let noted = Commit::new().put(HEARD, record::encode(&heard)?);
        self.host.commit(&noted)?;
        other.map(|_| ())
    }

    fn give_sign(&self, now: Moment) -> Result<()> {
        self.join_link()?;
        let site = self.pool.id()?.to_owned();
        let path = format!("{}/site.json", self.own_folder()?);
        self.write_link(&path, &SiteText { format: FORMAT, site, beat: now }, Lasting::Soon).map(|_| ())
    }
}
