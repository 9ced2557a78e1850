//! The part of a life that csi-addons adds: groups, replication, fences and upkeep. There is no second
//! site, so what only a peer can tell is refused; a refusal must be as clean as an answer.

use serde_json::{Value as Json, json};
use tonic::Code;

use super::{Run, Secrets, text};

/// The controller's part, on a volume of its own.
pub(super) async fn come_and_go(run: &mut Run) {
    let member = run.volume("member", Json::Null).await;
    is_grouped(run, &member).await;
    is_replicated(run, &member).await;
    let networks = json!({ "cidrs": [{ "cidr": "192.0.2.0/24" }] });
    run.call("FenceController.FenceClusterNetwork", networks.clone()).await;
    run.call("FenceController.ListClusterFence", json!({})).await;
    run.call("FenceController.UnfenceClusterNetwork", networks).await;
    run.call("FenceController.GetFenceClients", json!({})).await;
    let one = json!({ "volumeId": member });
    run.call("ReclaimSpaceController.ControllerReclaimSpace", one.clone()).await;
    let rotate = "EncryptionKeyRotationController.EncryptionKeyRotate";
    let none = run.fails(rotate, one.clone()).await;
    assert_eq!(none.code(), Code::Unimplemented, "the reference backend encrypts nothing: {none:?}");
    run.called.push(rotate.to_owned());
    run.call("Controller.DeleteVolume", one).await;
}

async fn is_grouped(run: &mut Run, member: &str) {
    let made = run.call("Controller.CreateVolumeGroup", json!({ "name": "vg" })).await;
    let group = text(&made["volumeGroup"]["volumeGroupId"]);
    let one = json!({ "volumeGroupId": group });
    // The second time there is nothing to do, which is found out by other means.
    for _ in 0..2 {
        let joined = json!({ "volumeGroupId": group, "volumeIds": [member] });
        run.call("Controller.ModifyVolumeGroupMembership", joined).await;
    }
    run.call("Controller.ControllerGetVolumeGroup", one.clone()).await;
    run.call("Controller.ListVolumeGroups", json!({})).await;
    run.fails("Controller.DeleteVolume", json!({ "volumeId": member })).await;
    run.call("Controller.ModifyVolumeGroupMembership", one.clone()).await;
    run.call("Controller.DeleteVolumeGroup", one).await;
}

async fn is_replicated(run: &mut Run, member: &str) {
    let source = json!({ "replicationSource": { "volume": { "volumeId": member } } });
    let mut odd = source.clone();
    odd["parameters"] = json!({ "mode": "odd" });
    run.fails("Controller.EnableVolumeReplication", odd).await;
    run.call("Controller.EnableVolumeReplication", source.clone()).await;
    run.call("Controller.PromoteVolume", source.clone()).await;
    run.fails("Controller.DeleteVolume", json!({ "volumeId": member })).await;
    for told_by_the_peer in ["Controller.GetVolumeReplicationInfo", "Controller.GetReplicationDestinationInfo"] {
        run.refuses_wrong(told_by_the_peer, &source).await;
        run.fails(told_by_the_peer, source.clone()).await;
    }
    run.call("Controller.DemoteVolume", source.clone()).await;
    run.refuses_wrong("Controller.ResyncVolume", &source).await;
    // Without a peer there is nothing to become equal to; what is said about it is the backend's affair.
    let _ = run.send("Controller.ResyncVolume", &source, Secrets::Right).await;
    run.call("Controller.DisableVolumeReplication", source).await;
}
