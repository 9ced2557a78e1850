//! A hostile backend. One component for all attacks, so that it is compiled once: its settings say which deed is
//! done where. It must not decide whether it was contained; its host shows that.

mod by_hand;
mod deeds;
mod endless;
mod floods;
mod labour;
mod lies;
mod network;
mod paths;
mod raw;
mod snapshots;

use drivebay_sdk::background::{DueWorks, Step, Work};
use drivebay_sdk::identity::{Description, Readiness};
use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::parameters::find;
use drivebay_sdk::types::{Instant, StringMap, Volume};
use drivebay_sdk::volume_listing::{GetVolumeRequest, ListVolumesRequest, ListVolumesResponse, VolumeEntry};
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{Background, Error, Identity, Node, Recovery, Result, VolumeListing, Volumes, config};

struct Faulty;

/// Does the deed, if this is the place for it; gives its words, for deeds that are lies in an answer.
fn act(place: &str, secrets: &StringMap) -> Result<String> {
    if config::get("at")?.as_deref() != Some(place) {
        return Ok(String::new());
    }
    let deed = config::get("deed")?.unwrap_or_default();
    deeds::perform(&deed, secrets)?;
    Ok(deed)
}

fn quietly(place: &str) -> Result<()> {
    act(place, &StringMap::new()).map(drop)
}

impl Identity for Faulty {
    const NAME: &'static str = "faulty.drivebay.dev";
    const VERSION: &'static str = "1.0.0";

    fn describe() -> Result<Description> {
        let deed = act("describe", &StringMap::new())?;
        Ok(Description {
            name: Self::NAME.to_owned(),
            vendor_version: Self::VERSION.to_owned(),
            manifest: Self::manifest(),
            features: lies::features(&deed),
            state_version: Self::state_version(),
            wants: Self::wants(),
        })
    }

    fn probe() -> Result<Readiness> {
        quietly("probe")?;
        Ok(Readiness::Ready)
    }
}

/// The deed that a request names itself: one host can so be told to do them all.
fn asked(parameters: &StringMap) -> Option<&str> {
    find(parameters, "deed")
}

impl Volumes for Faulty {
    fn create_volume(request: CreateVolumeRequest) -> Result<Volume> {
        // Only volumes whose name asks for it: all others show that other calls go on.
        let deed = match (asked(&request.parameters), request.name.as_str()) {
            (Some(deed), _) => deeds::perform(deed, &request.secrets).map(|()| deed.to_owned())?,
            // A race has two sides, on two objects.
            (None, "bad-flip") => paths::flip().map(|()| String::new())?,
            (None, "bad-look") => paths::look().map(|()| String::new())?,
            (None, name) if name.starts_with("bad") => act("create", &request.secrets)?,
            _ => String::new(),
        };
        let size = request.capacity_range.and_then(|range| range.required_bytes).unwrap_or(1 << 30);
        let mut volume = Volume::new(format!("id-{}", request.name), size);
        lies::about_volume(&deed, &request.secrets, &mut volume);
        Ok(volume)
    }

    fn delete_volume(request: DeleteVolumeRequest) -> Result<()> {
        act("delete", &request.secrets).map(drop)
    }

    fn validate_volume_capabilities(_: ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
        Ok(Verdict::Supported)
    }
}

impl VolumeListing for Faulty {
    fn list_volumes(request: ListVolumesRequest) -> Result<ListVolumesResponse> {
        let deed = act("list", &StringMap::new())?;
        Ok(lies::in_a_list(&deed, request.max_entries))
    }

    fn get_volume(_: GetVolumeRequest) -> Result<VolumeEntry> {
        match act("get", &StringMap::new())?.as_str() {
            "other-volume" => Ok(lies::entry("id-of-another".to_owned())),
            _ => Err(Error::not_found("it keeps nothing")),
        }
    }
}

impl Node for Faulty {
    fn publish_volume(request: PublishVolumeRequest) -> Result<()> {
        let deed = config::get("deed")?.unwrap_or_default();
        let is_here = config::get("at")?.as_deref() == Some("publish");
        let work = labour::Work { volume: &request.volume_id, target: &request.target_path };
        let (verb, rest) = if is_here { deed.split_once(' ').unwrap_or((&deed, "")) } else { ("good", "") };
        work.perform(verb, rest).map(drop)
    }

    fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
        labour::Work { volume: &request.volume_id, target: &request.target_path }.undo()
    }
}

impl Recovery for Faulty {
    fn recover() -> Result<()> {
        quietly("recover")
    }
}

impl Background for Faulty {
    fn list_due(_: Instant) -> Result<DueWorks> {
        let deed = act("due", &StringMap::new())?;
        if deed == "many-works" {
            return Ok(DueWorks { works: lies::works(50_000), next: None });
        }
        let has_step = config::get("at")?.as_deref() == Some("step");
        if has_step && config::get("deed")?.as_deref() == Some("complain") {
            return Ok(DueWorks { works: lies::works(1_000), next: None });
        }
        let work = || Work { id: "evil".to_owned(), objects: Vec::new(), due: Instant::now() };
        Ok(DueWorks { works: has_step.then(work).into_iter().collect(), next: None })
    }

    fn run_step(_: String) -> Result<Step> {
        quietly("step")?;
        Ok(Step::Done)
    }
}

drivebay_sdk::export!(Faulty: identity, volumes, volume_listing, snapshots, snapshot_metadata, node, background, recovery);
