//! Data that arrive from the other array.
//!
//! Nothing is put in place by half: what arrives stands beside the volumes until all of it is here,
//! and putting it in place is finished after a crash. Data of an older epoch are refused, so a
//! primary that has been overtaken overwrites nothing.

use serde::{Deserialize, Serialize};

use super::{Contents, Kind, Member, Pending, Phase, Replication, Role, Terms, Transfer};
use crate::array::Array;
use crate::blocks::Extent;
use crate::model::{Group, State, Volume, VolumeWish};
use crate::refusal::{Code, Refusal, Result, refuse};

/// What is to be copied here.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) source: String,
    pub(crate) epoch: u64,
    pub(crate) terms: Terms,
    /// Ids there, with their sizes.
    pub(crate) members: Vec<(String, u64)>,
}

/// What one side says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) role: Role,
    pub(crate) epoch: u64,
    pub(crate) mark: Option<String>,
    pub(crate) contents: Contents,
    pub(crate) phase: Phase,
    pub(crate) source: String,
    /// Ids there with ids here.
    pub(crate) members: Vec<(String, Option<String>)>,
}

impl From<&Replication> for Told {
    fn from(own: &Replication) -> Self {
        Self {
            role: own.role,
            epoch: own.epoch,
            mark: own.mark.clone(),
            contents: own.contents,
            phase: own.phase,
            source: own.source.clone(),
            members: own.members.iter().map(|member| (member.here.clone(), member.there.clone())).collect(),
        }
    }
}

/// The start of a transfer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Beginning {
    pub(crate) epoch: u64,
    /// The mark that only changes are sent against; none: everything is sent.
    pub(crate) base: Option<String>,
    /// Ids here, with their sizes.
    pub(crate) sizes: Vec<(String, u64)>,
}

/// The end of a transfer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) epoch: u64,
    pub(crate) mark: String,
    pub(crate) cut: u64,
    pub(crate) sizes: Vec<(String, u64)>,
}

impl Array {
    /// Makes the copies that an offer asks for. The same offer again finds them.
    pub(crate) fn accept(&self, offer: &Offer) -> Result<Told> {
        self.store.change(|change| {
            if let Some(known) = change.get::<Replication>(&offer.id)? {
                return Ok(Told::from(&known));
            }
            let group = match offer.kind {
                Kind::Volume => None,
                Kind::Group => {
                    let limit = (offer.members.len() as u64).max(100);
                    let name = format!("{} {}", offer.id, offer.source);
                    Some(Group { id: self.new_id("grp")?, name, limit })
                }
            };
            let mut members = Vec::new();
            for (there, bytes) in &offer.members {
                let volume = self.copy_of(&offer.id, there, *bytes, group.as_ref().map(|group| &group.id))?;
                change.put(&volume)?;
                members.push(Member { here: volume.id, there: Some(there.clone()) });
            }
            let source = match (&group, members.first()) {
                (Some(group), _) => group.id.clone(),
                (None, Some(member)) => member.here.clone(),
                (None, None) => return refuse(Code::Invalid, "an offer without volumes"),
            };
            if let Some(group) = &group {
                change.put(group)?;
            }
            let known = Replication {
                role: Role::Secondary,
                told: false,
                contents: Contents::Awaited,
                target: Some(offer.source.clone()),
                ..Replication::fresh(&offer.id, offer.kind, &source, members, &offer.terms, offer.epoch)
            };
            change.put(&known)?;
            Ok(Told::from(&known))
        })
    }

    fn copy_of(&self, replication: &str, there: &str, bytes: u64, group: Option<&String>) -> Result<Volume> {
        let id = self.new_id("vol")?;
        self.blocks.make(&id, bytes)?;
        let wish = VolumeWish {
            name: format!("{replication} {there}"),
            bytes,
            provisioning: crate::model::Provisioning::Thin,
            source: None,
            iops_limit: None,
            group: None,
            labels: std::collections::BTreeMap::new(),
        };
        Ok(Volume {
            id,
            name: wish.name.clone(),
            bytes,
            allocated: 0,
            provisioning: wish.provisioning,
            iops_limit: None,
            state: State::Ready,
            group: group.cloned(),
            exports: Vec::new(),
            job: None,
            wish,
            key: self.keys.make(None)?,
        })
    }

    /// What this side says of itself.
    pub(crate) fn tell(&self, id: &str) -> Result<Told> {
        self.store.change(|change| Ok(Told::from(&change.need::<Replication>(id)?)))
    }

    /// Makes room for a transfer beside the volumes.
    pub(crate) fn receive_begin(&self, id: &str, beginning: &Beginning) -> Result<()> {
        let known = self.receiving(id, beginning.epoch)?;
        self.beside(&known, || self.make_room(&known, beginning))
    }

    fn make_room(&self, known: &Replication, beginning: &Beginning) -> Result<()> {
        if beginning.base.is_some() && (beginning.base != known.mark || known.contents != Contents::Marked) {
            return refuse(Code::NotYet, "the contents here are not those that the changes are against");
        }
        if known.contents == Contents::Own && known.phase != Phase::Resyncing {
            return refuse(Code::NotYet, "the contents here have gone their own way; resync is needed");
        }
        for (here, bytes) in &beginning.sizes {
            let next = known.file(here, "next");
            match &beginning.base {
                Some(_) => self.blocks.copy(here, &next, *bytes)?,
                None => self.blocks.make(&next, *bytes)?,
            }
        }
        Ok(())
    }

    /// Takes a piece.
    pub(crate) fn receive_piece(&self, id: &str, here: &str, epoch: u64, offset: u64, bytes: &[u8]) -> Result<()> {
        let known = self.receiving(id, epoch)?;
        let volume = self.volume(here)?;
        let cipher = self.cipher(&volume.key)?;
        self.beside(&known, || self.blocks.write(&known.file(here, "next"), &cipher, offset, bytes))
    }

    /// Puts a transfer in place.
    pub(crate) fn receive_end(&self, id: &str, ending: &Ending) -> Result<()> {
        let known = self.receiving(id, ending.epoch)?;
        if known.mark.as_ref() == Some(&ending.mark) && known.contents == Contents::Marked {
            return Ok(());
        }
        if let Some(missing) = known.members.iter().find(|member| !self.blocks.has(&known.file(&member.here, "next"))) {
            return refuse(Code::NotYet, format!("nothing has arrived for {}", missing.here));
        }
        let pending = Pending { mark: ending.mark.clone(), cut: ending.cut, last: false };
        self.update(id, |known| {
            known.epoch = known.epoch.max(ending.epoch);
            known.installing = Some(ending.mark.clone());
            known.pending = Some(pending);
            Ok(())
        })?;
        self.beside(&known, || self.install(id))
    }

    /// Puts in place what is here, from wherever a crash has stopped it.
    pub(crate) fn install(&self, id: &str) -> Result<()> {
        let members = self.store.change(|change| Ok(change.need::<Replication>(id)?.members))?;
        let guards = self.guards(members.iter().map(|member| &member.here));
        let alone: Result<Vec<_>, _> = guards.iter().map(|guard| guard.write()).collect();
        let _alone = alone.map_err(|error| Refusal::internal("a lock", error))?;
        // Only now: somebody else may have put it in place, and have gone on from there.
        let known: Replication = self.store.change(|change| change.need(id))?;
        let Some(mark) = known.installing.clone() else {
            return Ok(());
        };
        for member in &known.members {
            let next = known.file(&member.here, "next");
            if self.blocks.has(&next) {
                self.blocks.replace(&next, &member.here)?;
            }
            self.blocks.copy(&member.here, &known.file(&member.here, "base"), 0)?;
        }
        self.store.change(|change| {
            let known: Replication = change.need(id)?;
            for member in &known.members {
                let (bytes, allocated) = (self.blocks.length(&member.here)?, self.blocks.allocated(&member.here)?);
                change.put(&Volume { bytes, allocated, ..change.need::<Volume>(&member.here)? })?;
            }
            let last = known.pending.as_ref().map(|pending| Transfer { cut: pending.cut, took: 0, bytes: 0 });
            change.put(&Replication {
                mark: Some(mark),
                installing: None,
                pending: None,
                contents: Contents::Marked,
                phase: Phase::Steady,
                last: last.or_else(|| known.last.clone()),
                trouble: String::new(),
                ..known
            })
        })
    }

    /// The other side has ended it, and so does this one, unless a client of it has enabled it, too. The copies stay:
    /// the receiver of them decides what becomes of them.
    pub(crate) fn ended_there(&self, id: &str) -> Result<()> {
        let ended: Option<Replication> = self.store.change(|change| {
            let Some(known) = change.get::<Replication>(id)? else {
                return Ok(None);
            };
            if known.told {
                let trouble = "the other array has ended it".to_owned();
                change.put(&Replication { trouble, ..known })?;
                return Ok(None);
            }
            change.remove::<Replication>(id)?;
            Ok(Some(known))
        })?;
        ended.iter().flat_map(Replication::files).try_for_each(|file| self.blocks.remove(&file))
    }

    fn receiving(&self, id: &str, epoch: u64) -> Result<Replication> {
        let known: Replication = self.store.change(|change| change.need(id))?;
        if known.role == Role::Primary {
            return refuse(Code::PeerPrimary, "this side is primary");
        }
        if epoch < known.epoch {
            return refuse(Code::NotPrimary, "the sender has been overtaken");
        }
        Ok(known)
    }

    /// Bytes of one piece of a volume's cut.
    pub(crate) fn piece(&self, file: &str, volume: &str, at: Extent) -> Result<Vec<u8>> {
        let volume = self.volume(volume)?;
        self.blocks.read(file, &self.cipher(&volume.key)?, at)
    }
}
