//! The heartbeat, and the watch for the peer's bell.
//!
//! Neither locks an object, so no long step delays them.

use std::time::Duration;

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use local_pool::ids;
use local_pool::record::{self, FORMAT};
use serde::{Deserialize, Serialize};

use crate::Replication;

/// What a site rings for when it has begun to replicate something.
pub(super) const NEW: &str = "new";

/// The key of the state under which the last ringing is remembered.
const WATCHED: &str = "watched";

/// The key of the state that a call changes when it puts something on the agenda and goes on: the host asks what is due
/// after steps and calls, and this call may wait for just that.
const HURRIED: &str = "hurried";

/// How long between two looks at the peer's bell.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks of one step: few enough that nobody waits for its end.
const LOOKS: u32 = 32;

/// What has been heard of the peer's ringing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Watched {
    format: u32,
    bell: String,
    new: u64,
    #[serde(default)]
    hurried: String,
}

impl Replication<'_> {
    /// `run-step` of the heartbeat.
    pub(crate) fn beat_once(&self) -> Result<()> {
        if !self.index.is_writer()? {
            self.index.open()?;
        }
        self.restore_agenda()?;
        self.beat()?;
        self.adopt_all()
    }

    /// `run-step` of the watch: waits a while for the peer's bell, and lets the background look at
    /// what it rang for.
    pub(crate) fn watch(&self) -> Result<()> {
        let known: Option<Watched> = self.host.get(WATCHED)?.and_then(|bytes| record::decode(&bytes).ok());
        let known = known.unwrap_or_default();
        let peer = self.heartbeats()?.peer;
        for _ in 0..LOOKS {
            let hurried = self.host.get(HURRIED)?.unwrap_or_default();
            if hurried != known.hurried.as_bytes() {
                let hurried = String::from_utf8_lossy(&hurried).into_owned();
                return self.remember(Watched { hurried, ..known });
            }
            // A link that is gone is the heartbeat's to tell.
            match &peer {
                Some(site) => {
                    let bell = self.bell_of(site).unwrap_or_default();
                    if bell != known.bell {
                        return self.answer_bell(site, Watched { bell, ..known });
                    }
                }
                // Two sites that start together know each other at once, and not a heartbeat later.
                None if matches!(self.other_site(), Ok(Some(_))) => return self.beat_once(),
                None => {}
            }
            self.host.pause(PAUSE);
        }
        Ok(())
    }

    /// A commit after which the host asks what is due, though the call goes on.
    pub(crate) fn hurried(&self, commit: Commit) -> Result<Commit> {
        let another = ids::make(self.host.random()?);
        Ok(commit.put(HURRIED, another.into_bytes()))
    }

    fn remember(&self, watched: Watched) -> Result<()> {
        let watched = Watched { format: FORMAT, ..watched };
        self.host.commit(&Commit::new().put(WATCHED, record::encode(&watched)?))
    }

    fn answer_bell(&self, site: &str, known: Watched) -> Result<()> {
        // Noted before it is looked at: what rings meanwhile rings again.
        let (new, known_new) = (self.rung_by(site, NEW)?, known.new);
        self.remember(Watched { new, ..known })?;
        if new != known_new {
            self.adopt_all()?;
        }
        self.hurry_rung(site)
    }
}
