//! Volumes from the controller's side: directories of the export.

use drivebay_sdk::capacity::{GetCapacityRequest, GetCapacityResponse};
use drivebay_sdk::expansion::{ExpandVolumeRequest, ExpandVolumeResponse};
use drivebay_sdk::types::{CapacityRange, Volume, VolumeStatus};
use drivebay_sdk::volume_listing::{GetVolumeRequest, ListVolumesRequest, ListVolumesResponse, VolumeEntry};
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{Capacity, Error, Expansion, Result, VolumeListing, Volumes, files, listing, new_id};

use crate::Nfs;
use crate::node::context_of;
use crate::record::{Record, is_clients, objection, on_delete};
use crate::settings::Settings;
use crate::share::{ROOT, Share, is_id, not_mounted};

impl Volumes for Nfs {
    fn create_volume(request: CreateVolumeRequest) -> Result<Volume> {
        let (settings, share) = (Settings::load()?, Share::open_to_change()?);
        let wanted = Record::wanted(&request)?;
        let (id, record) = match share.named(&request.name)? {
            Some((id, Some(record))) => {
                record.expect(&wanted, request.capacity_range)?;
                share.expect_whole(&id)?;
                return Ok(volume(&settings, id, &record));
            }
            Some((id, None)) => (id, wanted),
            None => (new_id()?, wanted),
        };
        share.make(&id, &record)?;
        share.remember()?;
        Ok(volume(&settings, id, &record))
    }

    fn delete_volume(request: DeleteVolumeRequest) -> Result<()> {
        let share = Share::open_to_change()?;
        let Some(record) = share.find(&request.volume_id)? else {
            // Of an export that is not mounted here nobody knows what it has.
            let unknown = is_id(&request.volume_id) && !share.has_been_used()?;
            return if unknown { Err(not_mounted()) } else { Ok(()) };
        };
        share.delete(&request.volume_id, &record)
    }

    fn validate_volume_capabilities(request: ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
        need(&Share::open()?, &request.volume_id)?;
        let own = context_of(&Settings::load()?, &request.volume_id);
        if let Some((key, _)) = request.volume_context.iter().find(|pair| !own.contains(pair) && !is_clients(&pair.0)) {
            return Ok(Verdict::Unsupported(format!("its context does not say this of {key}")));
        }
        if let Err(error) = on_delete(&request.parameters) {
            return Ok(Verdict::Unsupported(error.message));
        }
        let objection = request.volume_capabilities.iter().find_map(objection);
        Ok(objection.map_or(Verdict::Supported, Verdict::Unsupported))
    }
}

impl VolumeListing for Nfs {
    fn list_volumes(request: ListVolumesRequest) -> Result<ListVolumesResponse> {
        let (settings, share) = (Settings::load()?, Share::open()?);
        let page = listing::page(share.ids()?, String::as_str, request.max_entries, request.starting_token.as_deref())?;
        let mut entries = Vec::new();
        for id in page.entries {
            // One that was deleted meanwhile is no more.
            if let Some(record) = share.find(&id)? {
                entries.push(entry(&settings, id, &record));
            }
        }
        Ok(ListVolumesResponse { entries, next_token: page.next_token })
    }

    fn get_volume(request: GetVolumeRequest) -> Result<VolumeEntry> {
        let record = need(&Share::open()?, &request.volume_id)?;
        Ok(entry(&Settings::load()?, request.volume_id, &record))
    }
}

impl Capacity for Nfs {
    fn get_capacity(request: GetCapacityRequest) -> Result<GetCapacityResponse> {
        let unusable = request.volume_capabilities.iter().any(|capability| objection(capability).is_some());
        let unusable = unusable || on_delete(&request.parameters).is_err();
        let available = if unusable { 0 } else { files::get_space(ROOT)?.available_bytes };
        Ok(GetCapacityResponse { available_capacity: available, maximum_volume_size: None, minimum_volume_size: None })
    }
}

impl Expansion for Nfs {
    fn expand_volume(request: ExpandVolumeRequest) -> Result<ExpandVolumeResponse> {
        let share = Share::open_to_change()?;
        let mut record = need(&share, &request.volume_id)?;
        let wanted = CapacityRange::choose(Some(request.capacity_range), record.bytes, 1)?;
        if wanted > record.bytes {
            record.bytes = wanted;
            share.change(&request.volume_id, &record)?;
        } else if request.capacity_range.limit_bytes.is_some_and(|limit| record.bytes > limit) {
            return Err(Error::out_of_range("the volume is larger already"));
        }
        Ok(ExpandVolumeResponse { capacity_bytes: record.bytes, node_expansion_required: false })
    }
}

fn need(share: &Share, id: &str) -> Result<Record> {
    share.find(id)?.ok_or_else(|| Error::not_found(format!("there is no volume {id}")))
}

fn volume(settings: &Settings, id: String, record: &Record) -> Volume {
    Volume { volume_context: context_of(settings, &id), ..Volume::new(id, record.bytes) }
}

fn entry(settings: &Settings, id: String, record: &Record) -> VolumeEntry {
    let status = VolumeStatus { published_node_ids: Vec::new(), volume_condition: None };
    VolumeEntry { volume: volume(settings, id, record), status }
}
