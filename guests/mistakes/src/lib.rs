//! A controller like `minimal-rust`, with listings, capacity and growth, that makes the mistake that its setting `mistake` names.
//! `drivebay test --deep` must find each (`tests/mistakes.rs`), and nothing where there is none.

mod create;
mod delete;
mod mistake;
mod records;

use drivebay_sdk::capacity::{GetCapacityRequest, GetCapacityResponse};
use drivebay_sdk::expansion::{ExpandVolumeRequest, ExpandVolumeResponse};
use drivebay_sdk::identity::Feature;
use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::types::{Volume, VolumeStatus};
use drivebay_sdk::volume_listing::{GetVolumeRequest, ListVolumesRequest, ListVolumesResponse, VolumeEntry};
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{Capacity, Error, Expansion, Identity, Recovery, Result, VolumeListing, Volumes, listing};

use mistake::{Mistake, makes};
use records::{Record, SPACE, number};

struct Mistaken;

/// As much there is for all volumes: 1 TiB.
const ALL_BYTES: u64 = 1 << 40;

impl Identity for Mistaken {
    const NAME: &'static str = "mistakes.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn features() -> Vec<Feature> {
        vec![Feature::OnlineExpansion, Feature::OfflineExpansion]
    }

    fn probe() -> Result<drivebay_sdk::identity::Readiness> {
        mistake::configured()?;
        Ok(drivebay_sdk::identity::Readiness::Ready)
    }
}

impl Volumes for Mistaken {
    fn create_volume(request: CreateVolumeRequest) -> Result<Volume> {
        create::create(&request)
    }

    fn delete_volume(request: DeleteVolumeRequest) -> Result<()> {
        delete::delete(&request.volume_id)
    }

    fn validate_volume_capabilities(request: ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
        if makes(Mistake::ConfirmsAnything) || Record::of_id(&request.volume_id)?.is_some() {
            return Ok(Verdict::Supported);
        }
        Err(Error::not_found(format!("there is no volume {}", request.volume_id)))
    }
}

impl VolumeListing for Mistaken {
    fn list_volumes(request: ListVolumesRequest) -> Result<ListVolumesResponse> {
        let entries: Vec<_> = Record::all()?.iter().map(entry).collect();
        let token = request.starting_token.as_deref();
        if makes(Mistake::TokenPosition) || makes(Mistake::TokenTwice) {
            let back = usize::from(makes(Mistake::TokenTwice));
            let start: usize = token.and_then(|token| token.parse().ok()).unwrap_or_default();
            let most = usize::try_from(request.max_entries.unwrap_or(u32::MAX)).unwrap_or(usize::MAX);
            let end = start.saturating_add(most).min(entries.len());
            let next = (end < entries.len()).then(|| (end - back.min(end - start - 1)).to_string());
            let page = entries.into_iter().skip(start).take(most).collect();
            return Ok(ListVolumesResponse { entries: page, next_token: next });
        }
        let shown = if makes(Mistake::ListShort) { 3 } else { entries.len() };
        let entries = entries.into_iter().take(shown);
        let page = listing::page(entries, |entry| &entry.volume.volume_id, request.max_entries, token)?;
        Ok(ListVolumesResponse { entries: page.entries, next_token: page.next_token })
    }

    fn get_volume(request: GetVolumeRequest) -> Result<VolumeEntry> {
        let found = Record::of_id(&request.volume_id)?;
        found.as_ref().map(entry).ok_or_else(|| Error::not_found(format!("there is no volume {}", request.volume_id)))
    }
}

fn entry(record: &Record) -> VolumeEntry {
    let volume = Volume::new(record.id.clone(), record.bytes);
    VolumeEntry { volume, status: VolumeStatus { published_node_ids: Vec::new(), volume_condition: None } }
}

impl Capacity for Mistaken {
    fn get_capacity(_: GetCapacityRequest) -> Result<GetCapacityResponse> {
        let available_capacity = ALL_BYTES.saturating_sub(number(SPACE)?);
        Ok(GetCapacityResponse { available_capacity, maximum_volume_size: None, minimum_volume_size: None })
    }
}

impl Expansion for Mistaken {
    fn expand_volume(request: ExpandVolumeRequest) -> Result<ExpandVolumeResponse> {
        let capacity_bytes = delete::expand(&request.volume_id, request.capacity_range)?;
        Ok(ExpandVolumeResponse { capacity_bytes, node_expansion_required: false })
    }
}

impl Recovery for Mistaken {
    fn recover() -> Result<()> {
        if makes(Mistake::RecoveryDeletes) {
            for entry in state::range("") {
                Commit::new().delete(entry?.key).run()?;
            }
        }
        Ok(())
    }
}

drivebay_sdk::export!(Mistaken: identity, volumes, volume_listing, capacity, expansion, recovery);
