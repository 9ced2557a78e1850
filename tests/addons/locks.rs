//! Which add-on calls exclude each other and calls of CSI: the source is locked, a group with its
//! members, and who comes second is told what is pending and not called.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use tokio::task::JoinSet;
use tonic::Code;

use super::{NEXT, Site, call, group, on, snapshot, volume};
use crate::support::wire;

/// A changing call on the scene.
struct Change {
    method: &'static str,
    /// Operation and object under which the test backend knows it.
    operation: &'static str,
    object: &'static str,
    request: Json,
    /// What it changes, as ABORTED names it. Nothing here is shared.
    locks: Vec<&'static str>,
}

const GROUP: &str = "volume group \"vg-g\"";
const MEMBERS: [&str; 2] = ["volume \"vol-a\"", "volume \"vol-b\""];
const ALONE: &str = "volume \"vol-v\"";

fn change(method: &'static str, call: (&'static str, &'static str), request: Json, locks: &[&'static str]) -> Change {
    Change { method, operation: call.0, object: call.1, request, locks: locks.to_vec() }
}

/// Every changing RPC of csi-addons on each kind of source, and calls of CSI that meet them.
#[expect(clippy::too_many_lines, reason = "a table, one row a call")]
fn changes() -> Vec<Change> {
    let roles = [
        ("replication.Controller/EnableVolumeReplication", "enable-replication"),
        ("replication.Controller/DisableVolumeReplication", "disable-replication"),
        ("replication.Controller/PromoteVolume", "promote"),
        ("replication.Controller/DemoteVolume", "demote"),
        ("replication.Controller/ResyncVolume", "resync"),
    ];
    let all_of_group = [GROUP, MEMBERS[0], MEMBERS[1]];
    let mut all = Vec::new();
    for (method, operation) in roles {
        all.push(change(method, (operation, "vol-v"), on(&volume("vol-v")), &[ALONE]));
        all.push(change(method, (operation, "vg-g"), on(&group("vg-g")), &all_of_group));
        all.push(change(method, (operation, "snap-s"), on(&snapshot("snap-s")), &["snapshot \"snap-s\""]));
    }
    let fence = json!({ "cidrs": [{ "cidr": "192.0.2.0/24" }] });
    let a = json!({ "volumeId": "vol-a" });
    let node = json!({ "volumeId": "vol-a", "volumePath": "/nowhere" });
    let expand = json!({ "volumeId": "vol-a", "capacityRange": { "requiredBytes": "4096" } });
    let cut = json!({ "name": "m", "sourceVolumeIds": ["vol-b"] });
    let create = json!({ "name": "n", "volumeIds": ["vol-v"] });
    let modify = json!({ "volumeGroupId": "vg-g", "volumeIds": ["vol-b", "vol-v"] });
    all.extend([
        change(
            "volumegroup.Controller/CreateVolumeGroup",
            ("create-volume-group", "n"),
            create,
            &["volume group name \"n\"", ALONE],
        ),
        change(
            "volumegroup.Controller/ModifyVolumeGroupMembership",
            ("modify-membership", "vg-g"),
            modify,
            &[GROUP, MEMBERS[1], ALONE, MEMBERS[0]],
        ),
        change(
            "volumegroup.Controller/DeleteVolumeGroup",
            ("delete-volume-group", "vg-g"),
            json!({ "volumeGroupId": "vg-g" }),
            &all_of_group,
        ),
        change("fence.FenceController/FenceClusterNetwork", ("fence", "all"), fence.clone(), &["network fences"]),
        change("fence.FenceController/UnfenceClusterNetwork", ("unfence", "all"), fence, &["network fences"]),
        change(
            "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace",
            ("reclaim-space", "vol-a"),
            a.clone(),
            &[MEMBERS[0]],
        ),
        change("reclaimspace.ReclaimSpaceNode/NodeReclaimSpace", ("node-reclaim-space", "vol-a"), node, &[MEMBERS[0]]),
        change(
            "encryptionkeyrotation.EncryptionKeyRotationController/EncryptionKeyRotate",
            ("rotate-key", "vol-a"),
            a,
            &[MEMBERS[0]],
        ),
        change("csi.v1.Controller/ControllerExpandVolume", ("expand-volume", "vol-a"), expand, &[MEMBERS[0]]),
        change("csi.v1.Controller/DeleteVolume", ("delete-volume", "vol-v"), json!({ "volumeId": "vol-v" }), &[ALONE]),
        change(
            "csi.v1.GroupController/CreateVolumeGroupSnapshot",
            ("create-group-snapshot", "m"),
            cut,
            &["group snapshot name \"m\"", MEMBERS[1]],
        ),
    ]);
    all
}

/// The scene in which a call succeeds: whether its sources are replicated, and in which role.
async fn prepare(site: &Site, held: &Change) {
    site.group("vg-g", &["vol-a", "vol-b"]).await;
    site.volumes(&["vol-v"]).await;
    let cut = format!("vol-v{NEXT}4096{NEXT}1{NEXT}");
    let gone = ["volume/vol-v", "group/vg-g", "snapshot/snap-s"].map(|source| format!("unset:replica/{source}"));
    let mut wishes: Vec<_> = gone.iter().map(|key| (key.as_str(), "")).collect();
    wishes.extend([("set:snapshot/snap-s", cut.as_str()), ("unset:gate/g", ""), ("unset:volume-group/vg-n", "")]);
    site.host.control(&wishes).await;
    if held.method.starts_with("replication.") {
        let role = if held.operation == "resync" { "secondary" } else { "primary" };
        for source in ["volume/vol-v", "group/vg-g", "snapshot/snap-s"] {
            site.replicated(source, role).await;
        }
    }
}

/// Holds a call in the backend; gives what ends with it.
async fn hold(site: &Site, held: &Change) -> JoinSet<Result<Json, tonic::Status>> {
    let before = site.host.log.with("holding g").len();
    site.host.instruct(held.operation, held.object, "times 1 hold g").await;
    let mut first = JoinSet::new();
    let (channel, contracts) = (site.channel.clone(), site.contracts.clone());
    let (method, request) = (held.method, held.request.clone());
    first.spawn(async move { call(channel, &contracts, method, request).await });
    site.host.log.wait("holding g", before + 1).await;
    first
}

async fn release(site: &Site, held: &Change, mut first: JoinSet<Result<Json, tonic::Status>>) {
    site.host.open("g").await;
    let ended = first.join_next().await.unwrap().unwrap();
    ended.unwrap_or_else(|status| panic!("{}: {status:?}", held.method));
}

#[tokio::test]
async fn every_pair_of_changes() {
    let site = Site::with("snapshot-replication").await;
    let (all, mut pairs, mut free) = (changes(), 0, 0);
    for held in &all {
        prepare(&site, held).await;
        let first = hold(&site, held).await;
        for second in &all {
            let both: Vec<_> = held.locks.iter().filter(|object| second.locks.contains(object)).collect();
            let entries = format!("{} {}", second.operation, second.object);
            let before = site.host.entries_so_far(&entries).await;
            if both.is_empty() {
                free += 1;
                continue;
            }
            let name = held.method.split_once('/').unwrap().1;
            let status = site.call(second.method, second.request.clone()).await.expect_err(second.method);
            let what = format!("{} on {} beside {name} on {}", second.method, second.object, held.object);
            assert_eq!(status.code(), Code::Aborted, "{what}: {status:?}");
            let named = both.iter().any(|object| status.message().contains(&format!("{name} is pending for {object}")));
            assert!(named, "{what}: {status:?}");
            assert_eq!(site.host.entries_so_far(&entries).await, before, "{what}: it was called");
            pairs += 1;
        }
        release(&site, held, first).await;
    }
    assert!(pairs > 200 && free > 200, "{pairs} {free}");
}

/// other sources are nobody's business, and who only reads is always answered.
#[tokio::test]
async fn what_shares_nothing_goes_together() {
    let site = Site::with("snapshot-replication").await;
    let all = changes();
    for held in all.iter().filter(|held| held.method.contains("Promote") || held.method.contains("Membership")) {
        let free = all.iter().filter(|second| second.locks.iter().all(|object| !held.locks.contains(object)));
        for second in free {
            prepare(&site, held).await;
            let first = hold(&site, held).await;
            let answer = site.call(second.method, second.request.clone()).await;
            let what = format!("{} on {} beside {}", second.method, second.object, held.method);
            // The scene is the held call's, so the backend may refuse the other; the host does not.
            assert_ne!(answer.map_err(|status| status.code()).err(), Some(Code::Aborted), "{what}");
            for (method, request) in [
                ("replication.Controller/GetVolumeReplicationInfo", on(&volume("vol-v"))),
                ("replication.Controller/GetReplicationDestinationInfo", on(&group("vg-g"))),
                ("volumegroup.Controller/ControllerGetVolumeGroup", json!({ "volumeGroupId": "vg-g" })),
                ("volumegroup.Controller/ListVolumeGroups", json!({})),
                ("fence.FenceController/ListClusterFence", json!({})),
                ("fence.FenceController/GetFenceClients", json!({})),
            ] {
                let answer = site.call(method, request).await;
                assert_ne!(answer.map_err(|status| status.code()).err(), Some(Code::Aborted), "{method} beside {what}");
            }
            release(&site, held, first).await;
        }
    }
}

/// A member that a change of the group adds is locked with it; one that nobody names is not.
#[tokio::test]
async fn a_group_locks_who_is_in_it_when_the_call_comes() {
    let site = Site::new().await;
    site.group("vg-g", &["vol-a"]).await;
    site.volumes(&["vol-b"]).await;
    site.replicated("group/vg-g", "primary").await;
    let promote = change("replication.Controller/PromoteVolume", ("promote", "vg-g"), on(&group("vg-g")), &[]);
    let reclaim = |id: &str| json!({ "volumeId": id });
    let method = "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace";
    let first = hold(&site, &promote).await;
    site.good(method, reclaim("vol-b")).await;
    site.bad(method, reclaim("vol-a"), Code::Aborted, "PromoteVolume is pending for volume \"vol-a\"").await;
    release(&site, &promote, first).await;
    site.host.control(&[("unset:gate/g", ""), ("unset:replica/group/vg-g", "")]).await;
    site.group("vg-g", &["vol-a", "vol-b"]).await;
    site.replicated("group/vg-g", "primary").await;
    let first = hold(&site, &promote).await;
    site.bad(method, reclaim("vol-b"), Code::Aborted, "PromoteVolume is pending for volume \"vol-b\"").await;
    release(&site, &promote, first).await;
}

/// A group is an object of its own: with nobody in it there is no member's lock that would keep calls apart.
#[tokio::test]
async fn a_group_is_locked_though_nobody_is_in_it() {
    let site = Site::new().await;
    let on_group = |method, operation| change(method, (operation, "vg-g"), on(&group("vg-g")), &[]);
    let roles = changes().into_iter().filter(|role| role.method.starts_with("replication.") && role.object == "vg-g");
    for held in roles.map(|role| on_group(role.method, role.operation)) {
        site.group("vg-g", &[]).await;
        site.replicated("group/vg-g", if held.operation == "resync" { "secondary" } else { "primary" }).await;
        site.host.control(&[("unset:gate/g", "")]).await;
        let first = hold(&site, &held).await;
        let words = format!("{} is pending for {GROUP}", held.method.split_once('/').unwrap().1);
        for (method, request) in [
            (held.method, on(&group("vg-g"))),
            ("volumegroup.Controller/ModifyVolumeGroupMembership", json!({ "volumeGroupId": "vg-g" })),
            ("volumegroup.Controller/DeleteVolumeGroup", json!({ "volumeGroupId": "vg-g" })),
        ] {
            site.bad(method, request, Code::Aborted, &words).await;
        }
        release(&site, &held, first).await;
    }
}

/// The table of facts says the same: which RPCs of csi-addons change something.
#[test]
fn the_facts_have_every_add_on_call() {
    let lines: Vec<_> = include_str!("../facts/locks.tsv").lines().skip(1).collect();
    let cells = |line: &&'static str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<_> = lines.iter().map(cells).filter(|row| !row[0].starts_with("csi.")).collect();
    let listed: BTreeSet<_> = rows.iter().map(|row| format!("{}/{}", row[0], row[1])).collect();
    let services = wire::contracts().services().filter(|s| !s.full_name().starts_with("csi.")).collect::<Vec<_>>();
    let served = services
        .iter()
        .flat_map(|s| s.methods().map(|m| format!("{}/{}", s.full_name(), m.name())).collect::<Vec<_>>());
    assert_eq!(listed, served.collect());
    let changing: BTreeSet<_> =
        rows.iter().filter(|row| row[3] != "-").map(|row| format!("{}/{}", row[0], row[1])).collect();
    let tested =
        changes().into_iter().map(|change| change.method.to_owned()).filter(|method| !method.starts_with("csi."));
    assert_eq!(tested.collect::<BTreeSet<_>>(), changing);
}
