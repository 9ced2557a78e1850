//! The health of volumes.
//!
//! It is judged from the pool: the record, and whether the contents exist with their full size. Bad blocks are left to
//! the file system and the disk.

use drivebay_sdk::types::{VolumeHealth, VolumeHealthEntry, VolumeHealthErrorType};
use drivebay_sdk::volume_health::{GetVolumeHealthRequest, ListVolumeHealthRequest, ListVolumeHealthResponse};
use drivebay_sdk::{ErrorCode, Result, listing};
use local_pool::disk::{Status, Type};
use local_pool::record::{Content, VolumeRecord};
use local_pool::{DATA, IMAGE, Section, refusal};

use crate::backend::Backend;
use crate::paging::{self, limit};

/// Volumes looked at for one page, as most of them are healthy.
const LOOKED_AT: usize = 1_000;

impl Backend<'_> {
    /// `volume-health.get-volume-health`.
    pub(crate) fn get_volume_health(&self, request: &GetVolumeHealthRequest) -> Result<VolumeHealth> {
        self.authorise_if_given(&request.secrets)?;
        self.health_of(&request.volume_id)
    }

    /// `volume-health.list-volume-health`. A page may be shorter than asked for, even empty, while
    /// there is more: its token says so.
    pub(crate) fn list_volume_health(&self, request: &ListVolumeHealthRequest) -> Result<ListVolumeHealthResponse> {
        self.authorise_if_given(&request.secrets)?;
        let after = listing::start(request.starting_token.as_deref())?;
        self.index.open()?;
        if after.is_none() {
            self.index.refresh_placed()?;
        }
        let limit = limit(request.max_entries);
        let mut page = ListVolumeHealthResponse { entries: Vec::new(), next_token: None };
        let volumes = self.index.volumes(after, LOOKED_AT)?;
        let whole = volumes.len() < LOOKED_AT;
        let mut last = None;
        for volume in &volumes {
            if page.entries.len() == limit || self.pool.is_out_of_time() {
                page.next_token = last.or(after).map(paging::token);
                return Ok(page);
            }
            last = Some(volume.id.as_str());
            let health = self.health_of(&volume.id)?;
            if !health.health_statuses.is_empty() {
                page.entries.push(health);
            }
        }
        page.next_token = last.filter(|_| !whole).map(paging::token);
        Ok(page)
    }

    /// The health of a volume, by its id alone. `not-found`: nothing says that there is one.
    pub(crate) fn health_of(&self, id: &str) -> Result<VolumeHealth> {
        let health_statuses = match self.pool.find_any_volume(id) {
            Ok(Some((section, volume))) => self.ailments_in(section, &volume)?,
            Ok(None) if self.index.has_volume(id)? => {
                vec![lost("RecordMissing", "its record in the pool is gone")]
            }
            Ok(None) => return Err(refusal::no_volume(id)),
            Err(error) if error.code == ErrorCode::FailedPrecondition => {
                vec![ailment(VolumeHealthErrorType::Inaccessible, "RecordUnreadable", &error.message)]
            }
            Err(error) => vec![ailment(VolumeHealthErrorType::Inaccessible, "PoolUnreachable", &error.message)],
        };
        Ok(VolumeHealth { volume_id: id.to_owned(), health_statuses })
    }

    /// What is wrong with a volume whose record is good.
    pub(crate) fn ailments_of(&self, volume: &VolumeRecord) -> Result<Vec<VolumeHealthEntry>> {
        self.ailments_in(Section::Volumes, volume)
    }

    /// As `ailments_of`, in any section that has volumes.
    pub(crate) fn ailments_in(&self, section: Section, volume: &VolumeRecord) -> Result<Vec<VolumeHealthEntry>> {
        let name = if volume.content == Content::Directory { DATA } else { IMAGE };
        let path = self.pool.file(section, &volume.id, name);
        let status = self.pool.disk.status(&path).map_err(|error| refusal::of_disk("find", &path, &error))?;
        Ok(judge(volume, status))
    }
}

/// What follows from what stands where the contents should be.
fn judge(volume: &VolumeRecord, status: Option<Status>) -> Vec<VolumeHealthEntry> {
    match (&volume.content, status) {
        (Content::Directory, Some(status)) if status.file_type == Type::Directory => Vec::new(),
        (Content::Directory, _) => vec![lost("DirectoryMissing", "its directory in the pool is gone")],
        (_, Some(status)) if status.file_type == Type::File && status.length >= volume.capacity_bytes => Vec::new(),
        (_, Some(status)) if status.file_type == Type::File => {
            vec![lost("ImageTooShort", &format!("its image has {} of {} bytes", status.length, volume.capacity_bytes))]
        }
        _ => vec![lost("ImageMissing", "its image in the pool is gone")],
    }
}

fn lost(reason: &str, message: &str) -> VolumeHealthEntry {
    ailment(VolumeHealthErrorType::DataLoss, reason, message)
}

fn ailment(status: VolumeHealthErrorType, reason: &str, message: &str) -> VolumeHealthEntry {
    VolumeHealthEntry { status, reason: reason.to_owned(), message: message.to_owned() }
}
