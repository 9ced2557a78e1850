//! Data that leave for the other array: cuts by schedule, the last cut after a demotion.
//!
//! It owns the loop that looks at every replication. A cut is written down before it is sent, so a
//! killed array sends the same cut again, and the receiver knows it by its mark.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::{Beginning, Contents, Ending, Kind, Offer, Pending, Phase, Replication, Role, Told, Transfer};
use crate::array::{Array, milliseconds, nanoseconds};
use crate::blocks::{Extent, pieces};
use crate::model::{Group, Volume};
use crate::refusal::{Code, Refusal, Result, refuse};

/// As many stretches as are asked for at once.
const STRETCHES: usize = 256;

impl Array {
    /// Looks at every replication until the array ends: at each beat, and when something was changed.
    pub(crate) async fn replicate(self: Arc<Self>) {
        while !self.end.is_cancelled() {
            if let Err(error) = self.look().await {
                self.say(&format!("replication: {error}"));
            }
            tokio::select! {
                biased;
                () = self.end.cancelled() => {}
                () = self.stir.notified() => {}
                () = tokio::time::sleep(self.options.beat) => {}
            }
        }
    }

    async fn look(&self) -> Result<()> {
        for known in self.store.all::<Replication>()? {
            if self.end.is_cancelled() {
                return Ok(());
            }
            let done = self.attend(&known).await;
            self.clear_ended(&known)?;
            let trouble = match &done {
                Err(Refusal { code: Code::NotFound, .. }) => continue,
                Err(refusal) => refusal.message.clone(),
                Ok(()) => String::new(),
            };
            let present: Option<Replication> = self.store.change(|change| change.get(&known.id))?;
            if let Some(present) = present.filter(|present| present.trouble != trouble && done.is_err()) {
                self.update(&present.id, |present| {
                    present.trouble = trouble;
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Does for one replication what is to be done now.
    async fn attend(&self, known: &Replication) -> Result<()> {
        if known.installing.is_some() {
            return self.install(&known.id);
        }
        let sends = known.role == Role::Primary || known.phase == Phase::Draining;
        if sends && known.target.is_none() {
            return self.offer(known).await;
        }
        let peer = match self.peer_of(known).await {
            Err(Refusal { code: Code::NotEnabled, .. }) => return self.ended_there(&known.id),
            peer => peer?,
        };
        if sends && peer.role == Role::Primary {
            return self.overtaken(known, &peer);
        }
        let due = known.phase == Phase::Draining || known.pending.is_some() || known.due <= milliseconds();
        if sends && due { self.send(known, &peer).await } else { self.at_ease(known) }
    }

    /// All is well: an old trouble is over.
    fn at_ease(&self, known: &Replication) -> Result<()> {
        if !known.trouble.is_empty() && known.phase != Phase::Superseded {
            self.update(&known.id, |known| {
                known.trouble = String::new();
                Ok(())
            })?;
        }
        Ok(())
    }

    fn overtaken(&self, known: &Replication, peer: &Told) -> Result<()> {
        if peer.epoch <= known.epoch || known.phase == Phase::Superseded {
            return refuse(Code::PeerPrimary, "the other array is primary, too");
        }
        self.update(&known.id, |known| {
            known.phase = if known.role == Role::Primary { Phase::Superseded } else { Phase::Steady };
            Ok(())
        })?;
        refuse(Code::PeerPrimary, "the other array was promoted by force; demote this side")
    }

    async fn offer(&self, known: &Replication) -> Result<()> {
        let members: Result<Vec<_>> = self.store.change(|change| {
            let sizes = known.members.iter().map(|member| {
                let volume: Volume = change.need(&member.here)?;
                Ok((volume.id, volume.bytes))
            });
            Ok(sizes.collect())
        })?;
        let offer = Offer {
            id: known.id.clone(),
            kind: known.kind,
            source: known.source.clone(),
            epoch: known.epoch,
            terms: known.terms.clone(),
            members: members?,
        };
        let told: Told = self.post(&known.id, "offer", &offer).await?;
        self.update(&known.id, |known| {
            known.target = Some(told.source);
            for member in &mut known.members {
                let copy = told.members.iter().find(|(_, there)| there.as_deref() == Some(&member.here));
                member.there = copy.map(|(here, _)| here.clone());
            }
            Ok(())
        })?;
        self.stir.notify_one();
        Ok(())
    }

    async fn send(&self, known: &Replication, peer: &Told) -> Result<()> {
        let known = if known.pending.is_none() { self.make_cut(known)? } else { known.clone() };
        let Some(pending) = known.pending.clone() else {
            return Ok(());
        };
        if peer.mark.as_ref() == Some(&pending.mark) {
            return self.sent(&known, &pending, 0);
        }
        let delta = peer.contents == Contents::Marked
            && known.mark.is_some()
            && peer.mark == known.mark
            && self.has_base(&known);
        let mut sizes = Vec::new();
        for member in &known.members {
            let there = member.there.clone().unwrap_or_default();
            sizes.push((there, self.blocks.length(&known.file(&member.here, "cut"))?));
        }
        let base = known.mark.clone().filter(|_| delta);
        let beginning = Beginning { epoch: known.epoch, base, sizes: sizes.clone() };
        self.post::<_, Value>(&known.id, "begin", &beginning).await?;
        let mut bytes = 0;
        for member in &known.members {
            bytes += self.send_member(&known, &member.here, member.there.as_deref().unwrap_or_default(), delta).await?;
        }
        let ending = Ending { epoch: known.epoch, mark: pending.mark.clone(), cut: pending.cut, sizes };
        self.post::<_, Value>(&known.id, "end", &ending).await?;
        self.sent(&known, &pending, bytes)
    }

    fn has_base(&self, known: &Replication) -> bool {
        known.members.iter().all(|member| self.blocks.has(&known.file(&member.here, "base")))
    }

    /// Cuts all members at one moment and writes the cut down.
    fn make_cut(&self, known: &Replication) -> Result<Replication> {
        let members: Vec<_> = known.members.iter().map(|member| member.here.clone()).collect();
        let guards = self.guards(&members);
        let alone: Result<Vec<_>, _> = guards.iter().map(|guard| guard.write()).collect();
        let _alone = alone.map_err(|error| Refusal::internal("a lock", error))?;
        let cut = nanoseconds();
        for member in &members {
            self.blocks.copy(member, &known.file(member, "cut"), 0)?;
        }
        self.update(&known.id, |present| {
            // The role may have changed meanwhile; then this cut says nothing.
            if present.epoch != known.epoch || present.role != known.role || present.phase != known.phase {
                return refuse(Code::Busy, "the role has changed during the cut");
            }
            present.cuts += 1;
            let mark = format!("{}.{}", present.epoch, present.cuts);
            present.pending = Some(Pending { mark, cut, last: present.phase == Phase::Draining });
            Ok(())
        })
    }

    async fn send_member(&self, known: &Replication, here: &str, there: &str, delta: bool) -> Result<u64> {
        let (cut, base) = (known.file(here, "cut"), known.file(here, "base"));
        let (mut from, mut sent) = (0, 0);
        loop {
            let (extents, more) = if delta {
                self.blocks.changes(&base, &cut, from, STRETCHES)?
            } else {
                self.blocks.extents(&cut, from, STRETCHES)?
            };
            for at in extents.iter().copied().flat_map(pieces) {
                self.send_piece(known, here, there, at).await?;
                sent += at.length;
            }
            match extents.last().filter(|_| more) {
                Some(last) => from = last.offset + last.length,
                None => return Ok(sent),
            }
        }
    }

    async fn send_piece(&self, known: &Replication, here: &str, there: &str, at: Extent) -> Result<()> {
        let bytes = self.piece(&known.file(here, "cut"), here, at)?;
        let (id, epoch, offset) = (&known.id, known.epoch, at.offset);
        let path = format!("/link/v1/replications/{id}/data/{there}?epoch={epoch}&offset={offset}");
        self.ask::<Value>("PUT", &path, bytes.into()).await?;
        Ok(())
    }

    /// The other side has a cut: from now on changes are sent against it.
    fn sent(&self, known: &Replication, pending: &Pending, bytes: u64) -> Result<()> {
        for member in &known.members {
            let cut = known.file(&member.here, "cut");
            if self.blocks.has(&cut) {
                self.blocks.replace(&cut, &known.file(&member.here, "base"))?;
            }
        }
        let interval = known.terms.interval_seconds.saturating_mul(1_000);
        self.update(&known.id, |present| {
            if present.epoch != known.epoch || present.pending.as_ref() != Some(pending) {
                return refuse(Code::Busy, "the role has changed during the transfer");
            }
            let took = nanoseconds().saturating_sub(pending.cut);
            present.mark = Some(pending.mark.clone());
            present.last = Some(Transfer { cut: pending.cut, took, bytes });
            present.pending = None;
            present.trouble = String::new();
            present.due = milliseconds().saturating_add(interval);
            if pending.last {
                present.phase = Phase::Steady;
                present.contents = Contents::Marked;
            }
            Ok(())
        })?;
        Ok(())
    }

    async fn post<B: serde::Serialize, T: serde::de::DeserializeOwned>(
        &self,
        id: &str,
        what: &str,
        body: &B,
    ) -> Result<T> {
        let body = Bytes::from(serde_json::to_vec(body)?);
        self.ask("POST", &format!("/link/v1/replications/{id}/{what}"), body).await
    }

    /// One group or volume with what is replicated through it, for those who ask.
    pub(crate) fn standing(&self, kind: Kind, source: &str) -> Result<(Option<Replication>, Option<String>)> {
        self.store.change(|change| match kind {
            Kind::Group => {
                change.need::<Group>(source)?;
                Ok((Self::replication_of(change, source)?, None))
            }
            Kind::Volume => {
                let volume: Volume = change.need(source)?;
                let found = Self::replication_over(change, &volume)?;
                let through = found.as_ref().filter(|found| found.source != source).map(|found| found.source.clone());
                Ok((found, through))
            }
        })
    }
}
