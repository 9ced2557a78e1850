//! The scenarios: which calls, in which order, and what strikes them.

use std::time::Duration;

use drivebay_proto::pb::csi::v1::{CreateVolumeRequest, Volume};
use tonic::Code;

use super::client::{Ability, until_done};
use super::play::{Broken, Play, Played, broken, failed, shown, unanswered};
use super::rule::Rule;
use super::scenario::{Blow, Rpc};
use super::world::Fault;

/// A moment of 2023 at which clocks stand still.
const STILL: Duration = Duration::from_secs(1_700_000_000);
/// An hour before: so far do they go back.
const BEFORE: Duration = Duration::from_secs(1_699_996_400);

/// What was refused while another call was held.
enum Rest {
    Nothing,
    Create(CreateVolumeRequest),
    Delete(Volume),
}

impl Play<'_> {
    pub(super) async fn life(&mut self) -> Played {
        let (request, first) = self.another().await?;
        let name = format!("{}-2", request.name);
        let (near, other) = (self.client.request(&name, 1), self.client.request(&request.name, 2));
        self.create(&near).await?;
        self.all_there().await?;
        let said = match self.client.create(&other).await {
            Err(status) if status.code() == Code::AlreadyExists => None,
            Err(status) => Some(format!("{:?}: {}", status.code(), status.message())),
            Ok(volume) => Some(shown(&volume)),
        };
        if let Some(said) = said {
            let words = format!("{:?} was asked for with another size, and the answer is {said}", request.name);
            return Err(broken(Rule::Conflict, words));
        }
        for (_, secret) in self.client.wish().secrets.clone() {
            if self.stage.holds(secret.as_bytes()).await.map_err(|error| failed(&error))? {
                return Err(broken(Rule::Secret, "the secret of CreateVolume is in the state"));
            }
        }
        self.delete(&first).await?;
        self.all_there().await?;
        self.comes_back(&request, &first).await?;
        if self.can(Ability::ExpandVolume) {
            self.grows(None).await?;
        }
        Ok(())
    }

    /// A name whose volume was deleted makes a new one.
    async fn comes_back(&mut self, request: &CreateVolumeRequest, before: &Volume) -> Played {
        let volume = self.create(request).await?;
        if volume.volume_id == before.volume_id {
            return Err(broken(Rule::NewId, format!("{} was deleted, and is the id again", volume.volume_id)));
        }
        self.all_there().await
    }

    /// A growth, however often, ends at what one call makes.
    async fn grows(&mut self, blow: Option<(&[Blow], bool)>) -> Played {
        let (_, volume) = self.another().await?;
        let (id, bytes) = (volume.volume_id.clone(), volume.capacity_bytes.saturating_mul(2));
        if let Some((blows, restart)) = blow {
            for blow in blows {
                self.plan(*blow);
                let _ = self.client.expand(&id, bytes).await;
                self.struck(restart).await?;
            }
        }
        let mut sizes = Vec::new();
        for _ in 0..2 {
            let size = until_done(&mut self.client, async |client| client.expand(&id, bytes).await).await;
            sizes.push(size.map_err(unanswered("ControllerExpandVolume"))?);
        }
        if sizes.iter().any(|size| *size < bytes) || sizes.first() != sizes.last() || sizes.first() > Some(&(bytes * 2))
        {
            return Err(broken(Rule::Size, format!("{bytes} bytes were asked for, and the answers are {sizes:?}")));
        }
        if self.can(Ability::ListVolumes) {
            let listed = self.client.list().await.map_err(unanswered("ListVolumes"))?;
            let shown = listed.iter().find(|(one, _)| *one == id).map(|(_, bytes)| *bytes);
            if shown != sizes.first().copied() && shown != Some(0) {
                return Err(broken(Rule::Size, format!("{id} has {sizes:?} bytes, and ListVolumes shows {shown:?}")));
            }
        }
        Ok(())
    }

    pub(super) async fn pages(&mut self) -> Played {
        const VOLUMES: usize = 5;
        for _ in 0..VOLUMES {
            self.another().await?;
        }
        let mut seen: Vec<String> = Vec::new();
        let (first, mut token) = self.client.page(2, "").await.map_err(unanswered("ListVolumes with max_entries 2"))?;
        seen.extend(first.into_iter().map(|(id, _)| id));
        // It was shown; those that come after it move up.
        let shown = seen.iter().find_map(|id| self.volumes.get(id)).cloned();
        if let Some(made) = &shown {
            self.delete(&made.volume).await?;
        }
        let mut pages = 0;
        while !token.is_empty() && pages < VOLUMES * 4 + self.others.len() {
            let (more, next) = match self.client.page(2, &token).await {
                // A token may end with a change; the reader begins anew then.
                Err(status) if status.code() == Code::Aborted => return self.all_there().await,
                page => page.map_err(unanswered("ListVolumes with a token"))?,
            };
            seen.extend(more.into_iter().map(|(id, _)| id));
            (token, pages) = (next, pages + 1);
        }
        for id in self.volumes.keys().chain(&self.others) {
            let times = seen.iter().filter(|seen| *seen == id).count();
            if times != 1 {
                let words = format!("{id} was there all the time, and the pages show it {times} times");
                return Err(broken(Rule::Listed, words));
            }
        }
        Ok(())
    }

    pub(super) async fn clocks(&mut self) -> Played {
        self.client.tell("clocks stand still");
        self.world.stop_clocks(Some(STILL));
        let (request, first) = self.another().await?;
        self.another().await?;
        self.client.tell("clocks go back by an hour");
        self.world.stop_clocks(Some(BEFORE));
        let again = self.create(&request).await?;
        if again.volume_id != first.volume_id {
            return Err(broken(Rule::Once, format!("{} is {} now", first.volume_id, again.volume_id)));
        }
        self.all_there().await?;
        self.world.stop_clocks(None);
        Ok(())
    }

    pub(super) async fn restarted(&mut self) -> Played {
        self.another().await?;
        let (_, second) = self.another().await?;
        self.restart().await?;
        self.all_there().await?;
        self.delete(&second).await?;
        self.restart().await?;
        self.all_there().await
    }

    fn plan(&mut self, blow: Blow) {
        let Blow { rpc, number, fault, name } = blow;
        let what = match fault {
            Fault::Kill => "is killed before",
            Fault::Refuse => "meets a failure, and nothing was done, at",
            Fault::Lose => "is told of a failure, and all was done, at",
            Fault::Pause => "is held before",
        };
        self.client.tell(format!("the next {} {what} host call {number}, {name}:", rpc.operation()));
        self.world.plan(rpc.operation(), number, fault);
    }

    /// What comes between the call that was struck and its repetition.
    async fn struck(&mut self, restart: bool) -> Played {
        // A call that made fewer host calls than the one that was watched was not struck, and is as good a first call.
        self.world.forget();
        if restart { self.restart().await } else { Ok(()) }
    }

    pub(super) async fn blows(&mut self, blows: &[Blow], restart: bool) -> Played {
        match blows.first().map(|blow| blow.rpc) {
            Some(Rpc::Create) => {
                let name = self.name();
                let request = self.client.request(&name, 1);
                for blow in blows {
                    self.plan(*blow);
                    if let Ok(volume) = self.client.create(&request).await {
                        self.record(&name, &volume)?;
                    }
                    self.struck(restart).await?;
                }
                let volume = self.create(&request).await?;
                self.all_there().await?;
                self.delete(&volume).await?;
                self.all_there().await?;
                self.comes_back(&request, &volume).await
            }
            Some(Rpc::Delete) => {
                let (request, volume) = self.another().await?;
                for blow in blows {
                    self.plan(*blow);
                    let _ = self.client.delete(&volume.volume_id).await;
                    self.struck(restart).await?;
                }
                self.delete(&volume).await?;
                self.all_there().await?;
                self.comes_back(&request, &volume).await
            }
            Some(Rpc::Expand) => self.grows(Some((blows, restart))).await,
            None => Ok(()),
        }
    }

    /// One call is held while others run from their beginning to their end.
    pub(super) async fn between(&mut self, held: Blow, other: Rpc) -> Played {
        let (_, third) = self.another().await?;
        let name = self.name();
        let request = self.client.request(&name, 1);
        let doomed = if held.rpc == Rpc::Delete { Some(self.another().await?.1) } else { None };
        self.plan(held);
        let mut aside = self.client.clone();
        aside.story.clear();
        let world = self.world;
        let (held_volume, held_request) = (doomed.clone(), request.clone());
        let mut holding = std::pin::pin!(async move {
            let ended = match &held_volume {
                Some(volume) => aside.delete(&volume.volume_id).await.map(|()| None),
                None => aside.create(&held_request).await.map(Some),
            };
            (ended, aside.story)
        });
        let first = tokio::select! {
            ended = &mut holding => Some(ended),
            () = world.paused() => None,
        };
        let beside = if first.is_none() { self.beside(other, &third).await } else { Ok(Rest::Nothing) };
        self.world.go_on();
        let (ended, mut story) = match first {
            Some(ended) => ended,
            None => holding.await,
        };
        self.world.forget();
        self.client.story.append(&mut story);
        match beside? {
            Rest::Nothing => {}
            Rest::Create(request) => drop(self.create(&request).await?),
            Rest::Delete(volume) => self.delete(&volume).await?,
        }
        if let Some(volume) = doomed {
            self.delete(&volume).await?;
        } else {
            if let Ok(Some(volume)) = ended {
                self.record(&name, &volume)?;
            }
            self.create(&request).await?;
        }
        self.all_there().await
    }

    /// What runs meanwhile. It may be refused while the other one is held, and not for ever.
    async fn beside(&mut self, other: Rpc, third: &Volume) -> Result<Rest, Broken> {
        if other != Rpc::Create {
            return Ok(match self.client.delete(&third.volume_id).await {
                Ok(()) => {
                    self.volumes.remove(&third.volume_id);
                    Rest::Nothing
                }
                Err(_) => Rest::Delete(third.clone()),
            });
        }
        let name = self.name();
        let request = self.client.request(&name, 1);
        match self.client.create(&request).await {
            Ok(volume) => self.record(&name, &volume).map(|()| Rest::Nothing),
            Err(_) => Ok(Rest::Create(request)),
        }
    }
}
