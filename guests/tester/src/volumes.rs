//! Volumes: made, deleted, grown and changed as records, after what the instruction says.

use drivebay_sdk::capacity::{GetCapacityRequest, GetCapacityResponse};
use drivebay_sdk::expansion::{ExpandVolumeRequest, ExpandVolumeResponse};
use drivebay_sdk::modification::ModifyVolumeRequest;
use drivebay_sdk::state::{Commit, transact};
use drivebay_sdk::types::{CapacityRange, Snapshot, StringMap, Volume, VolumeContentSource};
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{Capacity, Error, Expansion, Modification, Reason, Result, Volumes};

use crate::records::{Kept, Record};
use crate::{Tester, act, control, stamp};

const DEFAULT_BYTES: u64 = 1 << 30;

impl Volumes for Tester {
    fn create_volume(request: CreateVolumeRequest) -> Result<Volume> {
        if let Some(answer) = control::run(&request)? {
            return Ok(answer);
        }
        let flaw = act::enter("create-volume", &request.name, &request.secrets)?;
        let digit = request.name.chars().next_back().and_then(|last| last.to_digit(10));
        assert!(!(stamp::is("thrd") && digit.is_some_and(|digit| digit % 3 == 0)), "the stamp asks for it");
        check_source(request.volume_content_source.as_ref())?;
        let mut volume = find_or_create(&request)?;
        volume.volume_context.push(("version".to_owned(), stamp::field("version").to_owned()));
        for (_, secret) in &request.secrets {
            match flaw.as_str() {
                "secret-id" => volume.volume_id = format!("vol-{secret}"),
                "secret-context" => volume.volume_context.push(("login".to_owned(), secret.clone())),
                "secret-key" => volume.volume_context.push((secret.to_ascii_uppercase(), "login".to_owned())),
                _ => {}
            }
        }
        Ok(spoil(volume, &flaw))
    }

    fn delete_volume(request: DeleteVolumeRequest) -> Result<()> {
        act::enter("delete-volume", &request.volume_id, &request.secrets)?;
        Kept::delete(&request.volume_id)
    }

    fn validate_volume_capabilities(request: ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
        act::enter("validate-volume-capabilities", &request.volume_id, &request.secrets)?;
        Kept::get(&request.volume_id)?;
        Ok(Verdict::Supported)
    }
}

impl Capacity for Tester {
    fn get_capacity(_: GetCapacityRequest) -> Result<GetCapacityResponse> {
        act::enter("get-capacity", "host", &StringMap::new())?;
        assert!(!stamp::is("rtrp"), "the stamp asks for it");
        if stamp::is("diff") {
            // Nobody who only reads may do this.
            let _ = Commit::new().put("capacity-was-asked", "yes").run();
        }
        let available_capacity = if stamp::is("diff") { 1 << 39 } else { 1 << 40 };
        Ok(GetCapacityResponse { available_capacity, maximum_volume_size: None, minimum_volume_size: Some(1) })
    }
}

impl Expansion for Tester {
    fn expand_volume(request: ExpandVolumeRequest) -> Result<ExpandVolumeResponse> {
        let id = &request.volume_id;
        let flaw = act::enter("expand-volume", id, &request.secrets)?;
        let mut kept = Kept::get(id)?;
        let wanted = CapacityRange::choose(Some(request.capacity_range), DEFAULT_BYTES, 1)?;
        kept.volume.capacity_bytes = kept.volume.capacity_bytes.max(wanted);
        kept.put(id, Commit::new()).run()?;
        Ok(ExpandVolumeResponse {
            capacity_bytes: spoil(kept.volume, &flaw).capacity_bytes,
            node_expansion_required: false,
        })
    }
}

impl Modification for Tester {
    fn modify_volume(request: ModifyVolumeRequest) -> Result<()> {
        act::enter("modify-volume", &request.volume_id, &request.secrets)?;
        Kept::get(&request.volume_id).map(drop)
    }
}

fn find_or_create(request: &CreateVolumeRequest) -> Result<Volume> {
    let id = format!("vol-{}", request.name);
    let wishes = wishes(request);
    let capacity = CapacityRange::choose(request.capacity_range, DEFAULT_BYTES, 1)?;
    transact(|| match Kept::find(&id)? {
        Some(kept) if kept.wishes == wishes => Ok((kept.volume, Commit::new())),
        Some(_) => {
            Err(Error::already_exists(format!("{id} was made with other wishes")).with_reason(Reason::Incompatible))
        }
        None => {
            let volume =
                Volume { content_source: request.volume_content_source.clone(), ..Volume::new(id.as_str(), capacity) };
            let kept = Kept { volume, wishes: wishes.clone() };
            let commit = Commit::new().expect_absent(format!("{}{id}", Kept::PREFIX));
            let commit = kept.put(&id, commit);
            Ok((kept.volume, commit))
        }
    })
}

/// One text for each set of wishes.
fn wishes(request: &CreateVolumeRequest) -> String {
    let mut parameters = request.parameters.clone();
    parameters.sort();
    format!("{:?} {parameters:?} {:?}", request.capacity_range, request.volume_content_source)
}

fn check_source(source: Option<&VolumeContentSource>) -> Result<()> {
    match source {
        None => Ok(()),
        Some(VolumeContentSource::Snapshot(id)) => Snapshot::get(id).map(drop),
        Some(VolumeContentSource::Volume(id)) => Kept::get(id).map(drop),
    }
}

/// Makes an answer wrong in the way that is asked for.
pub(crate) fn spoil(mut volume: Volume, flaw: &str) -> Volume {
    match flaw {
        "id" => volume.volume_id.clear(),
        "long-id" => volume.volume_id = "i".repeat(129),
        "capacity" => volume.capacity_bytes = 1,
        "source" => volume.content_source = None,
        "huge" => volume.capacity_bytes = u64::MAX,
        "twice" => volume.volume_context = ["1", "2"].map(|value| ("k".to_owned(), value.to_owned())).to_vec(),
        "context" => volume.volume_context = vec![("k".to_owned(), "v".repeat(5_000))],
        "topology" => volume.accessible_topology = vec![vec![("zone".to_owned(), "a".to_owned())]],
        _ => {}
    }
    volume
}
