//! Growing volumes from the controller.

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, Stop, Trial};
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::node_service_capability::rpc::Type as Node;
use crate::wire::proto::csi::v1::plugin_capability::volume_expansion::Type as Expansion;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;

rules! {
    "X-88" => grown, "X-89" => large_enough, "X-90" => limit_below, "X-91" => unknown, "X-93" => in_use,
    "X-94" => node_required, "X-92" => told,
}

fn grow(t: Trial<'_>, volume_id: &str, required_bytes: i64, limit_bytes: i64) -> v1::ControllerExpandVolumeRequest {
    v1::ControllerExpandVolumeRequest {
        volume_id: volume_id.to_owned(),
        capacity_range: Some(v1::CapacityRange { required_bytes, limit_bytes }),
        volume_capability: Some(t.capability(Mode::SingleNodeWriter)),
        ..Default::default()
    }
}

async fn grown(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ExpandVolume)?;
    let size = t.with().sizes.grown;
    let volume = t.volume().await?;
    let got = t.ok(grow(t, &volume.volume_id, size, 0)).await?;
    got.check(got.capacity_bytes >= size, "capacity_bytes is below required_bytes")
}

async fn large_enough(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ExpandVolume)?;
    let size = t.with().sizes.volume;
    let volume = t.volume().await?;
    let got = t.ok(grow(t, &volume.volume_id, size, 0)).await?;
    got.check(got.capacity_bytes >= size, "capacity_bytes is below the volume's size")
}

async fn limit_below(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ExpandVolume)?;
    let size = t.with().sizes.grown;
    let volume = t.volume().await?;
    let codes = [Code::OutOfRange, Code::InvalidArgument];
    t.expect(grow(t, &volume.volume_id, size, size / 2), &codes).await
}

async fn unknown(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ExpandVolume)?;
    t.expect(grow(t, &t.unknown(), t.with().sizes.grown, 0), &[Code::NotFound]).await
}

async fn in_use(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ExpandVolume)?;
    let modes = &t.here()?.abilities.expansion;
    if modes.contains(&Expansion::Online.into()) || !modes.contains(&Expansion::Offline.into()) {
        return Err(Stop::Skip("the plugin does not advertise VolumeExpansion OFFLINE alone".to_owned()));
    }
    let volume = t.volume().await?;
    t.in_use(&volume).await?;
    t.expect(grow(t, &volume.volume_id, t.with().sizes.grown, 0), &[Code::FailedPrecondition]).await
}

async fn node_required(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ExpandVolume)?;
    if t.node_can(Node::ExpandVolume) {
        return Err(Stop::Skip("the node advertises EXPAND_VOLUME".to_owned()));
    }
    let volume = t.volume().await?;
    let got = t.given(grow(t, &volume.volume_id, t.with().sizes.grown, 0)).await?;
    got.check(!got.node_expansion_required, "node_expansion_required, but the node does not expand")
}

async fn told(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ExpandVolume)?;
    let size = t.with().sizes.grown;
    let volume = t.volume().await?;
    let is_new = |it: &v1::Volume| it.capacity_bytes == 0 || it.capacity_bytes >= size;
    t.given(grow(t, &volume.volume_id, size, 0)).await?;
    if t.can(Controller::GetVolume) {
        let volume_id = volume.volume_id.clone();
        let got = t.given(v1::ControllerGetVolumeRequest { volume_id }).await?;
        return got.check(got.volume.as_ref().is_some_and(is_new), "ControllerGetVolume tells the old capacity");
    }
    t.needs(Controller::ListVolumes)?;
    for page in t.pages(0).await? {
        let mut mine = page.entries.iter().filter_map(|it| it.volume.as_ref());
        let old = mine.any(|it| it.volume_id == volume.volume_id && !is_new(it));
        page.check(!old, "ListVolumes tells the old capacity")?;
    }
    Ok(())
}
