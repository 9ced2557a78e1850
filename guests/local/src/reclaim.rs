//! Returning unused space to the pool.
//!
//! A file system that is mounted here is trimmed. In an unused image, blocks that contain only zeros become holes.
//! Neither changes the contents.

mod zeros;

use drivebay_sdk::files::Extent;
use drivebay_sdk::types::ReclaimedSpace;
use drivebay_sdk::{Error, Result, node_reclaim_space, reclaim_space};
use local_pool::record::{Content, Reserve, VolumeRecord};
use local_pool::{Hold, IMAGE, Section, ids, refusal};

use crate::backend::Backend;
use crate::volume::wish;

/// Extents asked for at a time.
const PAGE: u32 = 1_024;

impl Backend<'_> {
    /// `reclaim-space.reclaim-space`.
    pub(crate) fn reclaim_space(&self, request: &reclaim_space::ReclaimSpaceRequest) -> Result<ReclaimedSpace> {
        self.authorise(&request.secrets)?;
        wish::read_attributes(&request.parameters)?;
        let volume = self.pool.volume(&request.volume_id)?;
        check_thin(&volume)?;
        self.replication.check_usable(&volume)?;
        self.measured(&volume, || match self.contents.hold_of(&volume)? {
            Hold::Here => self.trim(&volume),
            Hold::Idle => self.punch_zeros(&volume),
            // The node that has it mounted gives the space back.
            Hold::Elsewhere(_) | Hold::Raw(_) | Hold::Directory(_) => Ok(()),
        })
    }

    /// `node-reclaim-space.reclaim-space`.
    pub(crate) fn reclaim_on_node(&self, request: &node_reclaim_space::ReclaimSpaceRequest) -> Result<ReclaimedSpace> {
        self.authorise(&request.secrets)?;
        let id = &request.volume_id;
        let (section, volume) = self.pool.find_any_volume(id)?.ok_or_else(|| refusal::no_volume(id))?;
        check_thin(&volume)?;
        if volume.content == Content::Block {
            let message = format!("volume {id} is a raw device: its user alone knows what it does not need");
            return Err(Error::unimplemented(message));
        }
        let here = self.contents.own_use(section, id)?;
        let paths = [request.volume_path.as_deref(), request.staging_target_path.as_deref()];
        let known = |path: &str| {
            here.staged.as_ref().is_some_and(|staged| staged.path == path)
                || here.published.iter().any(|at| at.path == path)
        };
        if here.is_empty() || !paths.into_iter().flatten().filter(|path| !path.is_empty()).all(known) {
            return Err(Error::not_found(format!("volume {id} is not at the given path of this node")));
        }
        self.measured(&volume, || self.trim(&volume))
    }

    fn trim(&self, volume: &VolumeRecord) -> Result<()> {
        self.host.trim(&volume.id).map(|_| ()).map_err(refusal::of_host_for_good)
    }

    /// What the image takes up before and after.
    fn measured(&self, volume: &VolumeRecord, work: impl FnOnce() -> Result<()>) -> Result<ReclaimedSpace> {
        let section = if self.pool.find_volume(&volume.id)?.is_some() { Section::Volumes } else { Section::Ephemeral };
        let image = self.pool.file(section, &volume.id, IMAGE);
        let taken = || self.host.allocation(&image).map(|of| of.allocated_bytes).map_err(refusal::of_host);
        let pre_usage = taken()?;
        work()?;
        Ok(ReclaimedSpace { pre_usage: Some(pre_usage), post_usage: Some(taken()?) })
    }

    /// Turns blocks of zeros into holes. What a call has no time for is left for the next.
    fn punch_zeros(&self, volume: &VolumeRecord) -> Result<()> {
        let image = self.pool.file(Section::Volumes, &volume.id, IMAGE);
        let length = volume.capacity_bytes;
        let empty = format!("{}/{}", self.pool.temporaries(), ids::make(self.host.random()?));
        self.pool.make_directories(&self.pool.temporaries())?;
        self.pool.disk.make_file(&empty, length).map_err(|error| refusal::of_disk("make", &empty, &error))?;
        let punched = self.punch_where_empty(&image, &empty, length);
        self.pool.remove_file(&empty)?;
        punched?;
        self.pool.sync(&image)
    }

    fn punch_where_empty(&self, image: &str, empty: &str, length: u64) -> Result<()> {
        let mut offset = 0;
        while offset < length && !self.pool.is_out_of_time() {
            // A file without blocks: what differs from it is not zero.
            let differing = self.host.differences(empty, image, offset, PAGE).map_err(refusal::of_host)?;
            let end = differing.next_offset.unwrap_or(length).min(length);
            for zeros in self.zeros_between(image, offset, end, &differing.extents)? {
                self.host.punch(image, zeros).map_err(refusal::of_host_for_good)?;
            }
            if end <= offset {
                break;
            }
            offset = end;
        }
        Ok(())
    }

    fn zeros_between(&self, image: &str, from: u64, to: u64, differing: &[Extent]) -> Result<Vec<Extent>> {
        let mut found = Vec::new();
        let mut offset = Some(from);
        while let Some(at) = offset.filter(|at| *at < to) {
            let page = self.host.allocated(image, at, PAGE).map_err(refusal::of_host)?;
            let end = page.next_offset.unwrap_or(to).min(to);
            found.extend(zeros::within(&page.extents, differing, at, end));
            offset = page.next_offset.filter(|next| *next > at);
        }
        Ok(found)
    }
}

/// Refuses what has no space to give back.
fn check_thin(volume: &VolumeRecord) -> Result<()> {
    let why = match (&volume.content, volume.reserve) {
        (Content::Directory, _) => "is a directory, which takes up what its files do",
        (_, Reserve::Full) => "has all its blocks set aside on purpose (reserve = full)",
        _ => return Ok(()),
    };
    Err(Error::unimplemented(format!("volume {} {why}", volume.id)))
}
