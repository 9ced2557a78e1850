//! Plays one scenario and judges what clients see. It owns the order of calls and the first rule that is broken.

use std::collections::BTreeMap;
use std::time::Duration;

use drivebay_proto::pb::csi::v1::{CreateVolumeRequest, Volume};
use tonic::Status;

use super::Stage;
use super::client::{Ability, Client, until_done};
use super::rule::Rule;
use super::scenario::Scenario;
use super::seed::Seed;
use super::world::World;

/// How long is waited for what a backend takes away in the background.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(50);

/// A rule that is broken, and how.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) rule: Rule,
    pub(super) says: String,
}

/// How a scenario ends.
pub(super) type Played = Result<(), Broken>;

pub(super) fn broken(rule: Rule, says: impl Into<String>) -> Broken {
    Broken { rule, says: says.into() }
}

/// A call that must be answered in the end.
pub(super) fn unanswered(call: &str) -> impl FnOnce(Status) -> Broken {
    move |status| {
        broken(Rule::Done, format!("{call} is never answered with OK: {:?}: {}", status.code(), status.message()))
    }
}

/// The stage could not do its part.
pub(super) fn failed(error: &anyhow::Error) -> Broken {
    broken(Rule::Done, format!("the test itself failed: {error:#}"))
}

/// A volume that a client was told of.
#[derive(Debug, Clone)]
pub(super) struct Made {
    /// The client's name for it.
    name: String,
    pub(super) volume: Volume,
}

/// One scenario while it is played.
pub(super) struct Play<'a> {
    pub(super) client: Client,
    pub(super) world: &'a World,
    pub(super) stage: &'a dyn Stage,
    pub(super) abilities: &'a [Ability],
    names: Seed,
    /// What clients were told that there is, by id.
    pub(super) volumes: BTreeMap<String, Made>,
    /// What was listed before anything was made.
    pub(super) others: Vec<String>,
}

impl<'a> Play<'a> {
    pub(super) fn new(
        client: Client,
        world: &'a World,
        stage: &'a dyn Stage,
        abilities: &'a [Ability],
        names: Seed,
    ) -> Self {
        Self { client, world, stage, abilities, names, volumes: BTreeMap::new(), others: Vec::new() }
    }

    pub(super) fn can(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability)
    }

    /// A name as clients make them: any text.
    pub(super) fn name(&mut self) -> String {
        const FORMS: [&str; 4] = ["pvc-", "a b/../c ", "größe-", "PVC."];
        let form = self.names.one_of(&FORMS).unwrap_or("pvc-");
        format!("{form}{:016x}", self.names.number())
    }

    /// Plays it.
    pub(super) async fn play(&mut self, scenario: &Scenario) -> Played {
        if self.can(Ability::ListVolumes) {
            let listed = until_done(&mut self.client, async |client| client.list().await).await;
            let listed = listed.map_err(unanswered("ListVolumes"))?;
            self.others = listed.into_iter().map(|(id, _)| id).collect();
        }
        let kept = self.kept().await?;
        let capacity = self.capacity().await?;
        match scenario {
            Scenario::Life => self.life().await?,
            Scenario::Pages => self.pages().await?,
            Scenario::Clocks => self.clocks().await?,
            Scenario::Restart => self.restarted().await?,
            Scenario::Blows { blows, restart } => self.blows(blows, *restart).await?,
            Scenario::Between { held, other } => self.between(*held, *other).await?,
        }
        for made in self.volumes.clone().into_values() {
            self.delete(&made.volume).await?;
        }
        self.nothing_left(kept, capacity).await
    }

    /// Takes away what a broken scenario has left, as far as that is possible.
    pub(super) async fn clear(&mut self) {
        self.world.forget();
        self.world.go_on();
        self.world.stop_clocks(None);
        for id in std::mem::take(&mut self.volumes).into_keys() {
            let _ = self.client.delete(&id).await;
        }
    }

    /// What a creation answered, held against what there is.
    pub(super) fn record(&mut self, name: &str, volume: &Volume) -> Played {
        let id = &volume.volume_id;
        if self.volumes.get(id).is_some_and(|made| made.name != name) || self.others.contains(id) {
            return Err(broken(Rule::Apart, format!("two names got the id {id}")));
        }
        let before = self.volumes.values().find(|made| made.name == name && made.volume != *volume).cloned();
        self.volumes.insert(id.clone(), Made { name: name.to_owned(), volume: volume.clone() });
        match before {
            Some(before) => {
                let (first, second) = (shown(&before.volume), shown(volume));
                Err(broken(Rule::Once, format!("the repeated call answered {second}, the first {first}")))
            }
            None => Ok(()),
        }
    }

    /// A creation that is repeated until it is answered, and once more.
    pub(super) async fn create(&mut self, request: &CreateVolumeRequest) -> Result<Volume, Broken> {
        let mut made = Volume::default();
        for call in ["CreateVolume", "CreateVolume, repeated,"] {
            let answer = until_done(&mut self.client, async |client| client.create(request).await).await;
            made = answer.map_err(unanswered(call))?;
            self.record(&request.name, &made)?;
        }
        Ok(made)
    }

    /// A new volume of another name.
    pub(super) async fn another(&mut self) -> Result<(CreateVolumeRequest, Volume), Broken> {
        let name = self.name();
        let request = self.client.request(&name, 1);
        let volume = self.create(&request).await?;
        Ok((request, volume))
    }

    /// A deletion that is repeated until it is answered, and once more.
    pub(super) async fn delete(&mut self, volume: &Volume) -> Played {
        let id = &volume.volume_id;
        for call in ["DeleteVolume", "DeleteVolume, repeated,"] {
            let done = until_done(&mut self.client, async |client| client.delete(id).await).await;
            done.map_err(unanswered(call))?;
        }
        self.volumes.remove(id);
        if self.knows(volume).await? {
            return Err(broken(Rule::Gone, format!("{id} was deleted and is still confirmed")));
        }
        Ok(())
    }

    pub(super) async fn knows(&mut self, volume: &Volume) -> Result<bool, Broken> {
        let known = until_done(&mut self.client, async |client| client.knows(volume).await).await;
        known.map_err(unanswered("ValidateVolumeCapabilities"))
    }

    /// What clients were told is what there is.
    pub(super) async fn all_there(&mut self) -> Played {
        for Made { volume, .. } in self.volumes.clone().into_values() {
            if !self.knows(&volume).await? {
                return Err(broken(Rule::There, format!("{} was created, and is not there", volume.volume_id)));
            }
        }
        if !self.can(Ability::ListVolumes) {
            return Ok(());
        }
        let listed = until_done(&mut self.client, async |client| client.list().await).await;
        let listed = listed.map_err(unanswered("ListVolumes"))?;
        for id in self.volumes.keys().chain(&self.others) {
            let times = listed.iter().filter(|(listed, _)| listed == id).count();
            if times != 1 {
                return Err(broken(Rule::Listed, format!("ListVolumes shows {id} {times} times")));
            }
        }
        let known = |id: &String| self.volumes.contains_key(id) || self.others.contains(id);
        match listed.iter().find(|(id, _)| !known(id)) {
            Some((id, _)) => {
                Err(broken(Rule::Listed, format!("ListVolumes shows {id}, which is deleted or was never answered")))
            }
            None => Ok(()),
        }
    }

    async fn kept(&self) -> Result<u64, Broken> {
        self.stage.kept().await.map_err(|error| failed(&error))
    }

    pub(super) async fn restart(&mut self) -> Played {
        self.client.tell("the host is started anew");
        self.stage.restart().await.map_err(|error| broken(Rule::Done, format!("the host does not start: {error:#}")))
    }

    async fn capacity(&mut self) -> Result<Option<i64>, Broken> {
        if !self.can(Ability::GetCapacity) {
            return Ok(None);
        }
        let capacity = until_done(&mut self.client, async |client| client.capacity().await).await;
        capacity.map(Some).map_err(unanswered("GetCapacity"))
    }

    /// All is deleted: as much is kept as before, or soon, or after a start.
    async fn nothing_left(&mut self, kept: u64, capacity: Option<i64>) -> Played {
        if self.kept().await? > kept {
            self.restart().await?;
            let until = tokio::time::Instant::now() + PATIENCE;
            while self.kept().await? > kept {
                if tokio::time::Instant::now() > until {
                    let more = self.kept().await?.saturating_sub(kept);
                    let words = format!("all volumes are deleted, and {more} more keys or files are kept than before");
                    return Err(broken(Rule::Leak, words));
                }
                tokio::time::sleep(LOOK).await;
            }
        }
        let now = self.capacity().await?;
        match (capacity, now) {
            // What is free on a disk changes by itself; by whole volumes it does not.
            (Some(before), Some(now)) if is_whole_volumes(before - now, self.client.wish().bytes) => {
                Err(broken(Rule::Capacity, format!("{before} bytes were free before, {now} are after")))
            }
            _ => Ok(()),
        }
    }
}

fn is_whole_volumes(lost: i64, volume: i64) -> bool {
    lost > 0 && lost.checked_rem(volume) == Some(0)
}

/// A volume in words.
pub(super) fn shown(volume: &Volume) -> String {
    let Volume { volume_id, capacity_bytes, .. } = volume;
    let context: BTreeMap<_, _> = volume.volume_context.iter().collect();
    format!("{volume_id} with {capacity_bytes} bytes and the context {context:?}")
}

#[cfg(test)]
mod tests {
    use super::is_whole_volumes;

    #[test]
    fn only_whole_volumes_are_lost() {
        assert!(is_whole_volumes(32, 16) && is_whole_volumes(16, 16));
        assert!(!is_whole_volumes(0, 16) && !is_whole_volumes(-16, 16) && !is_whole_volumes(17, 16));
        assert!(!is_whole_volumes(1, 0));
    }
}
