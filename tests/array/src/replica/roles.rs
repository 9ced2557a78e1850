//! Enabling, disabling, and who is primary.
//!
//! A promotion without force is agreed with the other side: it must be secondary and must have
//! nothing that has not arrived here. Both sides may be asked at once, so the other side notes the
//! epoch that was agreed on, and a promotion whose epoch has moved meanwhile is refused.

use serde::{Deserialize, Serialize};

use super::{Contents, Kind, Member, Phase, Replication, Role, Terms, Told};
use crate::array::Array;
use crate::model::{Group, Volume};
use crate::refusal::{Code, Refusal, Result, refuse};

/// The force that a client puts behind a wish.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default)]
    pub(crate) force: bool,
}

impl Replication {
    /// A primary that has sent nothing yet.
    pub(crate) fn fresh(id: &str, kind: Kind, source: &str, members: Vec<Member>, terms: &Terms, epoch: u64) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            source: source.to_owned(),
            target: None,
            members,
            role: Role::Primary,
            epoch,
            told: true,
            terms: terms.clone(),
            mark: None,
            contents: Contents::Marked,
            phase: Phase::Steady,
            cuts: 0,
            pending: None,
            installing: None,
            last: None,
            due: 0,
            trouble: String::new(),
        }
    }

    /// Whether the contents are those of the mark, and nothing is left to send.
    fn is_settled(&self) -> bool {
        self.contents == Contents::Marked && self.phase != Phase::Draining
    }
}

impl Array {
    /// Begins to replicate. A source that is replicated keeps its role.
    pub(crate) fn enable(&self, kind: Kind, source: &str, terms: &Terms) -> Result<Replication> {
        if terms.interval_seconds == 0 {
            return refuse(Code::Invalid, "the interval is at least one second");
        }
        let found = self.store.change(|change| {
            let volumes: Vec<Volume> = match kind {
                Kind::Volume => vec![change.need(source)?],
                Kind::Group => change.children(&change.need::<Group>(source)?.id)?,
            };
            if let Some(known) = Self::replication_of(change, source)? {
                if known.told && known.terms != *terms {
                    return refuse(Code::Taken, format!("{source} is replicated on other terms"));
                }
                let known = Replication { told: true, terms: terms.clone(), ..known };
                change.put(&known)?;
                return Ok(known);
            }
            if volumes.is_empty() {
                return refuse(Code::Invalid, format!("group {source} has no volume to replicate"));
            }
            for volume in &volumes {
                Self::check_not_replicated(change, volume)?;
                if kind == Kind::Volume && volume.state != crate::model::State::Ready {
                    return refuse(Code::Busy, format!("volume {} is not ready yet", volume.id));
                }
            }
            let members = volumes.into_iter().map(|volume| Member { here: volume.id, there: None }).collect();
            let known = Replication::fresh(&self.new_id("rep")?, kind, source, members, terms, 1);
            change.put(&known)?;
            Ok(known)
        })?;
        self.stir.notify_one();
        Ok(found)
    }

    /// The replication of a source that must exist. `not-enabled`: it has none.
    pub(crate) fn replication(&self, kind: Kind, source: &str) -> Result<Replication> {
        self.store.change(|change| {
            match kind {
                Kind::Volume => drop(change.need::<Volume>(source)?),
                Kind::Group => drop(change.need::<Group>(source)?),
            }
            match Self::replication_of(change, source)? {
                Some(known) => Ok(known),
                None => refuse(Code::NotEnabled, format!("{source} is not replicated")),
            }
        })
    }

    /// Ends it here; the other side hears of it at its next look.
    pub(crate) fn disable(&self, kind: Kind, source: &str) -> Result<()> {
        let known = match self.replication(kind, source) {
            Err(Refusal { code: Code::NotEnabled, .. }) => return Ok(()),
            known => known?,
        };
        if known.contents == Contents::Awaited {
            return refuse(Code::Busy, format!("the copy {source} has not arrived yet"));
        }
        self.store.change(|change| change.remove::<Replication>(&known.id))?;
        known.files().try_for_each(|file| self.blocks.remove(&file))
    }

    /// Makes this side primary.
    pub(crate) async fn promote(&self, kind: Kind, source: &str, wanted: Wanted) -> Result<Replication> {
        let own = self.replication(kind, source)?;
        if own.role == Role::Primary {
            return Ok(own);
        }
        if own.contents == Contents::Awaited {
            return refuse(Code::NotYet, format!("the copy {source} has not arrived yet"));
        }
        let peer = match self.peer_of(&own).await {
            Ok(peer) => Some(peer),
            Err(refusal) if refusal.code == Code::PeerUnreachable => None,
            Err(refusal) => return Err(refusal),
        };
        if !wanted.force {
            may_take_over(&own, peer.as_ref())?;
        }
        let epoch = own.epoch.max(peer.as_ref().map_or(0, |peer| peer.epoch)) + 1;
        if peer.is_some() && !wanted.force {
            let body = serde_json::to_vec(&epoch)?;
            let path = format!("/link/v1/replications/{}/agree", own.id);
            self.ask::<serde_json::Value>("POST", &path, body.into()).await?;
        }
        let promoted = self.update(&own.id, |known| {
            if known.epoch != own.epoch || known.role != own.role || known.installing.is_some() {
                return refuse(Code::Busy, "the other side is changing the roles, too");
            }
            known.role = Role::Primary;
            known.epoch = epoch;
            known.cuts = 0;
            known.due = 0;
            known.phase = Phase::Steady;
            known.pending = None;
            known.trouble = String::new();
            Ok(())
        })?;
        self.stir.notify_one();
        Ok(promoted)
    }

    /// The other side wants to be primary, and this side lets it.
    pub(crate) fn agree(&self, id: &str, epoch: u64) -> Result<()> {
        self.update(id, |known| {
            if known.role == Role::Primary || known.phase == Phase::Draining || epoch <= known.epoch {
                return refuse(Code::PeerPrimary, "this side does not give way");
            }
            known.epoch = epoch;
            Ok(())
        })?;
        Ok(())
    }

    /// Makes this side secondary. What is written here by then is sent before anything else.
    pub(crate) fn demote(&self, kind: Kind, source: &str) -> Result<Replication> {
        let own = self.replication(kind, source)?;
        if own.role == Role::Secondary {
            return Ok(own);
        }
        let demoted = self.store.change(|change| {
            let mut known: Replication = change.need(&own.id)?;
            let is_overtaken = known.phase == Phase::Superseded;
            for member in known.members.iter().filter(|_| !is_overtaken) {
                if let Some(export) = change.need::<Volume>(&member.here)?.exports.first() {
                    let message = format!("volume {} is exported to host {}", member.here, export.host);
                    return refuse(Code::InUse, message);
                }
            }
            known.role = Role::Secondary;
            known.contents = Contents::Own;
            // Who has been overtaken has nothing to say any more.
            if !is_overtaken {
                known.phase = Phase::Draining;
            }
            change.put(&known)?;
            Ok(known)
        })?;
        self.stir.notify_one();
        Ok(demoted)
    }

    /// Makes the contents here those of the primary; true when they are.
    pub(crate) async fn resync(&self, kind: Kind, source: &str) -> Result<bool> {
        let own = self.replication(kind, source)?;
        if own.role == Role::Primary {
            return refuse(Code::NotDemoted, format!("{source} is primary here; demote it first"));
        }
        let peer = self.peer_of(&own).await?;
        match peer.role {
            Role::Secondary => Ok(own.is_settled() && peer.phase != Phase::Draining && own.mark == peer.mark),
            Role::Primary if own.contents == Contents::Marked && is_of(own.mark.as_deref(), peer.epoch) => Ok(true),
            Role::Primary => {
                self.update(&own.id, |known| {
                    known.phase = Phase::Resyncing;
                    known.pending = None;
                    Ok(())
                })?;
                let path = format!("/link/v1/replications/{}/hurry", own.id);
                self.ask::<serde_json::Value>("POST", &path, bytes::Bytes::new()).await?;
                Ok(false)
            }
        }
    }

    /// The other side wants a cut as soon as possible.
    pub(crate) fn hurry(&self, id: &str) -> Result<()> {
        self.update(id, |known| {
            known.due = 0;
            Ok(())
        })?;
        self.stir.notify_one();
        Ok(())
    }

    /// What the other side says of it. `not-enabled`: it has ended it; `not-yet`: it has not heard of it.
    pub(crate) async fn peer_of(&self, own: &Replication) -> Result<Told> {
        let path = format!("/link/v1/replications/{}", own.id);
        match self.ask("GET", &path, bytes::Bytes::new()).await {
            Err(Refusal { code: Code::NotFound, .. }) if own.target.is_none() => {
                refuse(Code::NotYet, "the other array has not made the copies yet")
            }
            Err(Refusal { code: Code::NotFound, .. }) => {
                refuse(Code::NotEnabled, format!("the other array does not replicate {}", own.source))
            }
            told => told,
        }
    }
}

/// Refuses a promotion that would lose something or make two primaries.
fn may_take_over(own: &Replication, peer: Option<&Told>) -> Result<()> {
    let Some(peer) = peer else {
        return refuse(Code::ForceRequired, "the other array is silent; only force can promote");
    };
    if peer.role == Role::Primary {
        return refuse(Code::PeerPrimary, "the other array is primary; demote it first");
    }
    let has_all = own.contents == Contents::Marked && peer.phase != Phase::Draining && own.mark == peer.mark;
    if own.phase == Phase::Draining || has_all {
        return Ok(());
    }
    refuse(Code::NotYet, "the last transfer is not complete yet")
}

/// Whether a mark was made in this epoch.
fn is_of(mark: Option<&str>, epoch: u64) -> bool {
    mark.and_then(|mark| mark.split_once('.')).is_some_and(|(of, _)| of == epoch.to_string())
}
