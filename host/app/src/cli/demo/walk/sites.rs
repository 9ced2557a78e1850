//! The part of a walk that needs two sites: a volume is replicated, fails over and back, and its bytes
//! are compared. It repeats what the driver is not ready for, as controllers do, and says nothing of how
//! bytes travel; that is the driver's.

use std::fs::File;
use std::future::Future;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tonic::{Code, Response, Status};

use super::client::{Client, Side, size};
use super::mounted::{holds, write};
use super::requests::{self, Volume};
use super::{ASK_EVERY, Made, SIZE, Walk};
use crate::cli::demo::Site;
use crate::cli::demo::node::NodeWork;
use crate::cli::demo::steps::Halt;
use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::replication::{self, replication_destination as destination};

/// How long a call is repeated that the driver is not ready for.
const PATIENCE: Duration = Duration::from_secs(45);

/// A demotion is acknowledged when the other site has all.
const TERMS: [(&str, &str); 2] = [("mode", "sync-on-demote"), ("schedulingInterval", "1m")];

/// What the volume holds, by the site at which it was written.
const AT_A: &str = "written at site a\n";
const AT_B: &str = "written at site b after the failover\n";

/// A volume and its copy.
#[derive(Debug, Clone)]
struct Pair {
    first: Volume,
    second: Volume,
}

impl Pair {
    const fn at(&self, side: Side) -> &Volume {
        match side {
            Side::First => &self.first,
            Side::Second => &self.second,
        }
    }
}

impl Walk<'_> {
    /// Replicates, fails over, writes at the other site, fails back.
    pub(super) async fn life_at_two_sites(&mut self, work: NodeWork) -> Result<(), Halt> {
        let first = self.create("replicated", SIZE, None).await?;
        if work.mounts() {
            let file = self.mount(Side::First, "replicated", &first).await?.file();
            self.steps.work("Wrote hello.txt at site a", write(&file, AT_A))?;
            self.unmount().await?;
        }
        let second = self.replicate(&first).await?;
        let pair = Pair { first, second };
        self.first_transfer(&pair).await?;
        self.fail_over(&pair, Side::First, Side::Second).await?;
        if work.mounts() {
            let file = self.mount(Side::Second, "replicated", &pair.second).await?.file();
            self.steps.work("Site b holds what was written at site a", holds(&file, AT_A))?;
            self.steps.work("Wrote something else into hello.txt at site b", write(&file, AT_B))?;
            self.unmount().await?;
        }
        self.fail_over(&pair, Side::Second, Side::First).await?;
        if work.mounts() {
            let file = self.mount(Side::First, "replicated", &pair.first).await?.file();
            self.steps.work("Site a holds what was written at site b", holds(&file, AT_B))?;
            self.unmount().await?;
        }
        Ok(())
    }

    /// Enables the replication and gives the copy.
    async fn replicate(&mut self, volume: &Volume) -> Result<Volume, Halt> {
        self.made.push((Side::First, Made::Replicated(volume.id.clone())));
        let client = &self.clients.of(Side::First).replication;
        let asked = until_ready(|| {
            let (mut client, request) = (client.clone(), requests::replicate(&volume.id, &TERMS));
            async move { client.enable_volume_replication(request).await }
        });
        let told = |_: &replication::EnableVolumeReplicationResponse| "site b gets a copy from now on".to_owned();
        self.steps.call("EnableVolumeReplication", asked, told).await?;

        let asked = until_ready(|| {
            let (mut client, request) = (client.clone(), requests::destination(&volume.id));
            async move { client.get_replication_destination_info(request).await }
        });
        let told = |said: &_| format!("at site b the volume has the id {}", copy_of(said));
        let said = self.steps.call("GetReplicationDestinationInfo", asked, told).await?;
        let id = copy_of(&said);
        self.made.push((Side::Second, Made::Volume(id.clone())));
        self.made.push((Side::Second, Made::Replicated(id.clone())));
        self.at_second(&id).await
    }

    /// A volume as the second site lists it.
    async fn at_second(&mut self, id: &str) -> Result<Volume, Halt> {
        let client = &mut self.clients.of(Side::Second).controller;
        let asked = client.list_volumes(v1::ListVolumesRequest::default());
        let told = |said: &v1::ListVolumesResponse| format!("there are {} volumes at site b", said.entries.len());
        let said = self.steps.call("ListVolumes", asked, told).await?;
        let found = said.entries.into_iter().filter_map(|entry| entry.volume).find(|volume| volume.volume_id == id);
        match found {
            Some(found) => Ok(Volume::from(Some(found))),
            None => Err(self.steps.fail("ListVolumes", &format!("volume {id} is not in the list of site b"))),
        }
    }

    /// Waits until all of the volume has reached the other site.
    async fn first_transfer(&mut self, pair: &Pair) -> Result<(), Halt> {
        let client = &self.clients.of(Side::First).replication;
        let asked = until_ready(|| {
            let (mut client, request) = (client.clone(), requests::replication_info(&pair.first.id));
            async move { client.get_volume_replication_info(request).await }
        });
        let told = |said: &replication::GetVolumeReplicationInfoResponse| {
            format!("site b has {} of data: {}", size(said.last_sync_bytes), said.status_message)
        };
        self.steps.call("GetVolumeReplicationInfo", asked, told).await.map(drop)
    }

    /// Demotes at one site, compares, and promotes at the other.
    async fn fail_over(&mut self, pair: &Pair, from: Side, to: Side) -> Result<(), Halt> {
        let Client { replication: client, .. } = self.clients.of(from);
        let asked = until_ready(|| {
            let (mut client, request) = (client.clone(), requests::demote(&pair.at(from).id));
            async move { client.demote_volume(request).await }
        });
        let told = format!("site {} writes no more, and site {} has all", from.name(), to.name());
        self.steps.call("DemoteVolume", asked, |_| told).await?;

        let client = &self.clients.of(to).replication;
        let asked = until_ready(|| {
            let (mut client, request) = (client.clone(), requests::promote(&pair.at(to).id));
            async move { client.promote_volume(request).await }
        });
        let told = format!("the volume is used at site {} from now on", to.name());
        self.steps.call("PromoteVolume", asked, |_| told).await?;
        self.compare(pair).await
    }

    /// Compares both images byte by byte: nobody writes to either.
    async fn compare(&mut self, pair: &Pair) -> Result<(), Halt> {
        let images = [Side::First, Side::Second].map(|side| image(side.of(self.place), &pair.at(side).id));
        let compared = tokio::task::spawn_blocking(move || same_bytes(&images)).await;
        let compared = compared.unwrap_or_else(|error| Err(error.to_string()));
        self.steps.work("Compared the volume at both sites: every byte is the same", compared)
    }
}

/// Repeats a call until the driver is ready for it, as controllers do.
async fn until_ready<T, F>(mut call: impl FnMut() -> F) -> Result<Response<T>, Status>
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let begin = Instant::now();
    let mut pace = tokio::time::interval(ASK_EVERY);
    loop {
        pace.tick().await;
        match call().await {
            Err(status) if is_not_yet(&status) && begin.elapsed() < PATIENCE => {}
            answer => return answer,
        }
    }
}

/// `NOT_FOUND` is what the state of a replication is before its first transfer.
fn is_not_yet(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::Aborted | Code::NotFound)
}

/// The id at the peer.
fn copy_of(said: &replication::GetReplicationDestinationInfoResponse) -> String {
    let destination = said.replication_destination.clone().unwrap_or_default();
    match destination.r#type {
        Some(destination::Type::Volume(volume)) => volume.volume_id,
        Some(destination::Type::Volumegroup(_)) | None => String::new(),
    }
}

/// Where the backend keeps the bytes of a volume (its README, "The pool").
fn image(site: &Site, id: &str) -> PathBuf {
    let bucket = id.get(..2).unwrap_or_default();
    site.pool.join("volumes").join(bucket).join(id).join("image")
}

fn same_bytes([first, second]: &[PathBuf; 2]) -> Result<(), String> {
    let open = |path: &Path| File::open(path).map_err(|error| format!("{}: {error}", path.display()));
    let (mut first, mut second) = (open(first)?, open(second)?);
    let mut offset = 0_u64;
    let (mut one, mut other) = (Vec::new(), Vec::new());
    loop {
        for (file, part) in [(&mut first, &mut one), (&mut second, &mut other)] {
            part.clear();
            file.take(1 << 20).read_to_end(part).map_err(|error| error.to_string())?;
        }
        if one != other {
            return Err(format!("they differ in the MiB from byte {offset} on"));
        }
        if one.is_empty() {
            return Ok(());
        }
        offset = offset.saturating_add(1 << 20);
    }
}

#[cfg(test)]
mod tests;
