//! Making, deleting, listing and describing volumes.

use std::collections::BTreeSet;

use tonic::Code;

use super::groups::NO_SUCH;
use super::rules;
use crate::trial::{Outcome, Stop, Trial, block};
use crate::wire::Words;
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::plugin_capability::service::Type as Plugin;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;

rules! {
    "C-03" => c03, "C-09" => c09, "C-11" => c11, "X-11" => bad_character, "X-12" => long_name, "X-13" => wide_name,
    "X-14" => limit_below, "X-15" => negative, "X-16" => empty_range, "X-17" => no_access_type, "X-18" => unknown_mode,
    "X-19" => capacity, "X-20" => sizes, "X-21" => other_source, "X-22" => deleted_again, "X-23" => deleted_in_use,
    "X-26" => negative_entries, "X-27" => bad_token, "X-29" => got, "X-30" => got_unknown, "X-31" => confirmed,
    "X-32" => validated_unknown, "X-33" => free, "X-34" => modified, "X-35" => topology, "X-124" => unknown_field,
    "X-126" => any_id;
    alone: "X-24" => one_a_page, "X-25" => all_pages, "X-28" => deleted_not_listed,
}

const INVALID: &[Code] = &[Code::InvalidArgument];
const BAD_SIZE: &[Code] = &[Code::OutOfRange, Code::InvalidArgument];

async fn c03(t: Trial<'_>) -> Outcome {
    let volume = t.existing()?;
    t.validate(&volume.volume_id).await.ok().map(drop)
}

async fn c09(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let request = t.new_volume();
    let id = |it: &v1::CreateVolumeResponse| it.volume.as_ref().map(|it| it.volume_id.clone());
    let first = t.given(request.clone()).await?;
    let again = t.ok(request).await?;
    again.check(id(&first).is_some() && id(&first) == id(&again), "the same name has another volume_id now")
}

async fn c11(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let request = t.new_volume();
    let volume = t.volume_of(request.clone()).await?;
    let again = t.given(request).await?;
    let same = again.volume.as_ref().is_some_and(|it| it.volume_context == volume.volume_context);
    again.check(same, "volume_context is another one when CreateVolume is repeated")?;
    if t.can(Controller::GetVolume) {
        let volume_id = volume.volume_id.clone();
        let got = t.given(v1::ControllerGetVolumeRequest { volume_id }).await?;
        let same = got.volume.as_ref().is_some_and(|it| it.volume_context == volume.volume_context);
        got.check(same, "volume_context is another one in ControllerGetVolume")?;
    }
    if t.can(Controller::ListVolumes) {
        for page in t.pages(0).await? {
            let found = page.entries.iter().filter_map(|it| it.volume.as_ref());
            let same = found.filter(|it| it.volume_id == volume.volume_id);
            let all = same.into_iter().all(|it| it.volume_context == volume.volume_context);
            page.check(all, "volume_context is another one in ListVolumes")?;
        }
    }
    Ok(())
}

async fn create(t: Trial<'_>, change: impl FnOnce(&mut v1::CreateVolumeRequest), codes: &[Code]) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let mut request = t.new_volume();
    change(&mut request);
    t.expect(request, codes).await
}

async fn bad_character(t: Trial<'_>) -> Outcome {
    create(t, |it| it.name.push('\u{1}'), INVALID).await
}

async fn long_name(t: Trial<'_>) -> Outcome {
    let longer = |it: &mut v1::CreateVolumeRequest| {
        let missing = 129_usize.saturating_sub(it.name.len());
        it.name.push_str(&"n".repeat(missing));
    };
    create(t, longer, INVALID).await
}

async fn wide_name(t: Trial<'_>) -> Outcome {
    create(t, |it| it.name.push_str(" Größe/容量"), &[Code::Ok]).await
}

async fn limit_below(t: Trial<'_>) -> Outcome {
    let size = t.with().sizes.volume;
    let range = v1::CapacityRange { required_bytes: size, limit_bytes: size / 2 };
    create(t, |it| it.capacity_range = Some(range), BAD_SIZE).await
}

async fn negative(t: Trial<'_>) -> Outcome {
    let range = v1::CapacityRange { required_bytes: -1, limit_bytes: 0 };
    create(t, |it| it.capacity_range = Some(range), BAD_SIZE).await
}

async fn empty_range(t: Trial<'_>) -> Outcome {
    create(t, |it| it.capacity_range = Some(v1::CapacityRange::default()), BAD_SIZE).await
}

async fn no_access_type(t: Trial<'_>) -> Outcome {
    let none =
        |it: &mut v1::CreateVolumeRequest| it.volume_capabilities.iter_mut().for_each(|it| it.access_type = None);
    create(t, none, INVALID).await
}

async fn unknown_mode(t: Trial<'_>) -> Outcome {
    let how = t.capability(Mode::Unknown);
    create(t, |it| it.volume_capabilities = vec![how], INVALID).await
}

async fn capacity(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let size = t.with().sizes.volume;
    let mut request = t.new_volume();
    request.capacity_range = Some(v1::CapacityRange { required_bytes: size, limit_bytes: size.saturating_mul(4) });
    let got = t.given(request).await?;
    let made = got.volume.as_ref().map_or(0, |it| it.capacity_bytes);
    got.check(made == 0 || made >= size, "the volume is smaller than required_bytes")?;
    got.check(made <= size.saturating_mul(4), "the volume is larger than limit_bytes")
}

/// Whether a map is within what the protocol allows.
fn is_small(words: &Words) -> bool {
    words.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() <= 4096
}

async fn sizes(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let got = t.given(t.new_volume()).await?;
    let volume = got.part(|it| it.volume.clone(), "volume")?;
    got.check(!volume.volume_id.is_empty(), "volume_id is empty")?;
    got.check(volume.volume_id.len() <= 128, "volume_id has more than 128 bytes")?;
    got.check(is_small(&volume.volume_context), "volume_context has more than 4 KiB")
}

async fn other_source(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteSnapshot)?;
    let mut request = t.new_volume();
    let volume = t.volume_of(request.clone()).await?;
    let snapshot = t.snapshot(&volume.volume_id).await?;
    request.volume_content_source = Some(super::snapshots::from_snapshot(&snapshot.snapshot_id));
    t.expect(request, &[Code::AlreadyExists]).await
}

pub(super) fn delete(volume_id: &str) -> v1::DeleteVolumeRequest {
    v1::DeleteVolumeRequest { volume_id: volume_id.to_owned(), ..Default::default() }
}

async fn deleted_again(t: Trial<'_>) -> Outcome {
    let volume = t.volume().await?;
    t.given(delete(&volume.volume_id)).await?;
    t.ok(delete(&volume.volume_id)).await.map(drop)
}

async fn deleted_in_use(t: Trial<'_>) -> Outcome {
    let volume = t.volume().await?;
    t.in_use(&volume).await?;
    t.expect(delete(&volume.volume_id), &[Code::FailedPrecondition]).await
}

async fn any_id(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    t.ok(delete("fake-vol-id")).await.map(drop)
}

async fn negative_entries(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListVolumes)?;
    t.expect(v1::ListVolumesRequest { max_entries: -1, ..Default::default() }, INVALID).await
}

async fn bad_token(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListVolumes)?;
    let starting_token = "invalid-token".to_owned();
    t.expect(v1::ListVolumesRequest { starting_token, ..Default::default() }, &[Code::Aborted]).await
}

async fn one_a_page(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListVolumes)?;
    t.volumes(2).await?;
    for page in t.pages(1).await? {
        page.check(page.entries.len() <= 1, "a page has more entries than max_entries")?;
    }
    Ok(())
}

/// The ids in all pages.
pub(super) async fn listed(t: Trial<'_>, size: i32) -> Result<BTreeSet<String>, Stop> {
    let pages = t.pages(size).await?;
    let volumes = pages.iter().flat_map(|page| &page.entries).filter_map(|entry| entry.volume.as_ref());
    Ok(volumes.map(|volume| volume.volume_id.clone()).collect())
}

async fn all_pages(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListVolumes)?;
    let made: BTreeSet<_> = t.volumes(3).await?.into_iter().map(|volume| volume.volume_id).collect();
    let found = listed(t, 1).await?;
    if made.is_subset(&found) {
        Ok(())
    } else {
        Err(Stop::Fail("the pages do not hold all three volumes".to_owned(), None))
    }
}

async fn deleted_not_listed(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListVolumes)?;
    let volume = t.volume().await?;
    t.given(delete(&volume.volume_id)).await?;
    for page in t.pages(0).await? {
        let mut ids = page.entries.iter().filter_map(|it| it.volume.as_ref());
        page.check(!ids.any(|it| it.volume_id == volume.volume_id), "a deleted volume is listed")?;
    }
    Ok(())
}

async fn got(t: Trial<'_>) -> Outcome {
    t.needs(Controller::GetVolume)?;
    let volume = t.volume().await?;
    let volume_id = volume.volume_id.clone();
    let got = t.ok(v1::ControllerGetVolumeRequest { volume_id }).await?;
    let found = got.part(|it| it.volume.clone(), "volume")?;
    got.part(|it| it.status.clone(), "status")?;
    got.check(found.volume_id == volume.volume_id, "the answer is about another volume")
}

async fn got_unknown(t: Trial<'_>) -> Outcome {
    t.needs(Controller::GetVolume)?;
    t.expect(v1::ControllerGetVolumeRequest { volume_id: t.unknown() }, &[Code::NotFound]).await
}

async fn confirmed(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let request = t.new_volume();
    let volume = t.volume_of(request.clone()).await?;
    let question = v1::ValidateVolumeCapabilitiesRequest {
        volume_id: volume.volume_id,
        volume_context: volume.volume_context,
        volume_capabilities: request.volume_capabilities.clone(),
        parameters: request.parameters,
        ..Default::default()
    };
    let got = t.ok(question).await?;
    let confirmed = got.part(|it| it.confirmed.clone(), "confirmed")?;
    let all = request.volume_capabilities.iter().all(|it| confirmed.volume_capabilities.contains(it));
    got.check(all, "confirmed does not hold the capabilities asked for")
}

async fn validated_unknown(t: Trial<'_>) -> Outcome {
    t.needs_plugin(Plugin::ControllerService)?;
    t.validate(&t.unknown()).await.is(&[Code::NotFound])
}

async fn free(t: Trial<'_>) -> Outcome {
    t.needs(Controller::GetCapacity)?;
    let parameters = t.with().parameters.volume.clone();
    let got = t.ok(v1::GetCapacityRequest { parameters, ..Default::default() }).await?;
    let (least, most) = (got.minimum_volume_size.unwrap_or(0), got.maximum_volume_size.unwrap_or(i64::MAX));
    got.check(got.available_capacity >= 0, "available_capacity is negative")?;
    got.check(least >= 0 && most >= 0, "a size is negative")?;
    got.check(least <= most, "minimum_volume_size is above maximum_volume_size")
}

async fn modified(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ModifyVolume)?;
    let volume_id = t.volume().await?.volume_id;
    let mutable_parameters = Words::from([(NO_SUCH.to_owned(), "1".to_owned())]);
    let request = v1::ControllerModifyVolumeRequest { volume_id, mutable_parameters, ..Default::default() };
    t.expect(request, &[Code::Ok, Code::InvalidArgument]).await
}

async fn topology(t: Trial<'_>) -> Outcome {
    t.needs_plugin(Plugin::VolumeAccessibilityConstraints)?;
    let info = t.given(v1::NodeGetInfoRequest {}).await?;
    let here = info.accessible_topology.clone().filter(|it| !it.segments.is_empty());
    let here = here.ok_or_else(|| Stop::Skip("the node tells no topology".to_owned()))?;
    let mut request = t.new_volume();
    let requisite = vec![here.clone()];
    request.accessibility_requirements = Some(v1::TopologyRequirement { preferred: requisite.clone(), requisite });
    let got = t.ok(request).await?;
    let volume = got.part(|it| it.volume.clone(), "volume")?;
    let reaches = |it: &v1::Topology| it.segments.iter().all(|(key, value)| here.segments.get(key) == Some(value));
    let is_there = volume.accessible_topology.is_empty() || volume.accessible_topology.iter().any(reaches);
    got.check(is_there, "the volume is not accessible from the requisite topology")
}

async fn unknown_field(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    t.ok_with_unknown_field(t.new_volume()).await.map(drop)
}

/// The other access type than the usual one.
pub(super) fn other_access(t: Trial<'_>, mode: Mode) -> v1::VolumeCapability {
    use crate::with::Access;
    match t.with().capabilities.access {
        Access::Mount => block(mode),
        Access::Block => t.capability_of(Access::Mount, mode),
    }
}
