//! Replication: what the host decides itself, and what it makes of answers. Roles are the backend's.

use serde_json::json;
use tonic::Code;

use super::{CALLS, NEXT, Site, group, on, snapshot, volume};

const ALL: [&str; 7] = [
    "EnableVolumeReplication",
    "DisableVolumeReplication",
    "PromoteVolume",
    "DemoteVolume",
    "ResyncVolume",
    "GetVolumeReplicationInfo",
    "GetReplicationDestinationInfo",
];

fn method(name: &str) -> String {
    format!("replication.Controller/{name}")
}

/// R-07, R-08, R-19.
#[tokio::test]
async fn an_unknown_source_is_not_found() {
    let site = Site::with("snapshot-replication").await;
    for name in ALL {
        for source in [volume("vol-x"), group("vg-x"), snapshot("snap-x")] {
            if name == "GetReplicationDestinationInfo" && source == snapshot("snap-x") {
                continue;
            }
            site.bad(&method(name), on(&source), Code::NotFound, "there is no ").await;
        }
    }
    for operation in ["enable", "disable", "promote", "demote", "resync", "get-"] {
        assert_eq!(site.host.entries_so_far(operation).await, 0, "the backend was asked and not called");
    }
}

/// R-15 to R-32 as far as one site goes, and that nobody's words but the backend's say what its state
/// forbids.
#[tokio::test]
async fn roles_are_the_backends() {
    let site = Site::new().await;
    site.volumes(&["vol-v"]).await;
    let v = on(&volume("vol-v"));
    for name in ["PromoteVolume", "DemoteVolume", "ResyncVolume", "GetVolumeReplicationInfo"] {
        site.bad(&method(name), v.clone(), Code::FailedPrecondition, "is not replicated").await;
    }
    site.good(&method("DisableVolumeReplication"), v.clone()).await;
    site.good(&method("EnableVolumeReplication"), v.clone()).await;
    site.good(&method("EnableVolumeReplication"), v.clone()).await;
    site.bad(&method("ResyncVolume"), v.clone(), Code::FailedPrecondition, "primary").await;
    let info = site.good(&method("GetVolumeReplicationInfo"), v.clone()).await;
    let expected = json!({
        "lastSyncTime": "2023-11-14T22:13:20.000000005Z", "lastSyncDuration": "1.500s", "lastSyncBytes": "4096",
        "status": "HEALTHY", "statusMessage": "in step"
    });
    assert_eq!(info, expected);
    site.good(&method("DemoteVolume"), v.clone()).await;
    site.bad(&method("GetVolumeReplicationInfo"), v.clone(), Code::FailedPrecondition, "not primary").await;
    assert_eq!(site.good(&method("ResyncVolume"), v.clone()).await, json!({ "ready": true }));
    site.good(&method("DisableVolumeReplication"), v.clone()).await;
    assert!(site.replicas().await.is_empty());
}

/// D11: other parameters are the backend's to judge, and it gets them byte for byte (R-42).
#[tokio::test]
async fn d11_other_parameters_are_the_backends_to_judge() {
    let site = Site::new().await;
    site.volumes(&["vol-v"]).await;
    let odd = json!({ "": "", "ü \n": "\u{0}x", "k": "v".repeat(3_000) });
    let mut request = on(&volume("vol-v"));
    request["parameters"] = odd;
    site.good(&method("EnableVolumeReplication"), request.clone()).await;
    let record = site.replicas().await.into_values().next().unwrap();
    let expected = [("", ""), ("k", &"v".repeat(3_000)), ("ü \n", "\u{0}x")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!(record.split(NEXT).nth(2).unwrap(), format!("{:?}", expected.to_vec()));
    request["parameters"] = json!({});
    site.bad(&method("EnableVolumeReplication"), request, Code::FailedPrecondition, "other parameters").await;
}

/// D3: the real client forces at once after `FAILED_PRECONDITION`, so the host says that of a promotion
/// only where force is refused, too; whatever else is in the way has a code of its own.
#[tokio::test]
async fn d3_the_host_never_invites_force() {
    let site = Site::new().await;
    site.group("vg-g", &["vol-m"]).await;
    site.volumes(&["vol-v"]).await;
    site.replicated("volume/vol-v", "secondary").await;
    site.replicated("group/vg-g", "secondary").await;
    let promote = |id: &str, force: bool| {
        let mut request = on(&volume(id));
        request["force"] = json!(force);
        request
    };
    for force in [false, true] {
        site.bad(&method("PromoteVolume"), promote("vol-m", force), Code::FailedPrecondition, "vg-g").await;
        for (word, code) in [
            ("refuse aborted the peer is primary", Code::Aborted),
            ("refuse unavailable the peer's last transfer is not here yet", Code::Unavailable),
            ("refuse failed-precondition only force can work", Code::FailedPrecondition),
            ("trap", Code::Unknown),
        ] {
            site.host.instruct("promote", "vol-v", &format!("times 1 {word}")).await;
            site.bad(&method("PromoteVolume"), promote("vol-v", force), code, "").await;
        }
    }
    site.good(&method("PromoteVolume"), promote("vol-v", true)).await;
}

/// D12, R-40: there is no capability for it, so it is a feature.
#[tokio::test]
async fn d12_snapshots_only_where_the_backend_has_the_feature() {
    let record = format!("vol-v{NEXT}4096{NEXT}1{NEXT}");
    for has in [false, true] {
        let site = Site::with(if has { "snapshot-replication" } else { "" }).await;
        site.volumes(&["vol-v"]).await;
        site.host.control(&[("set:snapshot/snap-s", &record)]).await;
        let source = on(&snapshot("snap-s"));
        if !has {
            for name in ALL {
                site.bad(&method(name), source.clone(), Code::Unimplemented, "replication_source").await;
            }
            continue;
        }
        site.good(&method("EnableVolumeReplication"), source.clone()).await;
        assert!(site.replicas().await.contains_key("replica/snapshot/snap-s"));
        let delete = json!({ "snapshotId": "snap-s" });
        site.bad("csi.v1.Controller/DeleteSnapshot", delete.clone(), Code::FailedPrecondition, "is replicated").await;
        let destination = method("GetReplicationDestinationInfo");
        site.bad(&destination, source.clone(), Code::Unimplemented, "volumes and volume groups").await;
        site.good(&method("DisableVolumeReplication"), source).await;
        site.good("csi.v1.Controller/DeleteSnapshot", delete).await;
    }
}

/// R-45: what is replicated with its group is not replicated by itself.
#[tokio::test]
async fn a_member_of_a_replicated_group_has_no_replication_of_its_own() {
    let site = Site::new().await;
    site.group("vg-g", &["vol-v"]).await;
    site.replicated("group/vg-g", "primary").await;
    for name in ALL {
        site.bad(&method(name), on(&volume("vol-v")), Code::FailedPrecondition, "volume group vg-g").await;
        let answer = site.call(&method(name), on(&group("vg-g"))).await;
        let is_right = answer.is_ok() || name == "ResyncVolume";
        assert!(is_right, "{name}: {answer:?}");
        site.replicated("group/vg-g", "primary").await;
    }
}

#[tokio::test]
async fn what_is_replicated_is_not_deleted() {
    let site = Site::new().await;
    for (source, id) in [("volume/vol-v", "vol-v"), ("group/vg-g", "vol-m")] {
        site.group("vg-g", &["vol-m"]).await;
        site.volumes(&["vol-v"]).await;
        for role in ["primary", "secondary", "resyncing"] {
            site.replicated(source, role).await;
            let delete = json!({ "volumeId": id });
            site.bad("csi.v1.Controller/DeleteVolume", delete, Code::FailedPrecondition, id).await;
        }
    }
    let delete = json!({ "volumeGroupId": "vg-g" });
    let words = "volume group vg-g is replicated";
    site.bad("volumegroup.Controller/DeleteVolumeGroup", delete.clone(), Code::FailedPrecondition, words).await;
    site.host.control(&[("unset:replica/group/vg-g", "")]).await;
    site.replicated("volume/vol-m", "secondary").await;
    let words = "volume vol-m is replicated";
    site.bad("volumegroup.Controller/DeleteVolumeGroup", delete.clone(), Code::FailedPrecondition, words).await;
    site.host.control(&[("unset:replica/volume/vol-m", ""), ("unset:replica/volume/vol-v", "")]).await;
    assert_eq!(site.host.entries_so_far("delete-volume").await, 0, "nothing was deleted");
    site.good("volumegroup.Controller/DeleteVolumeGroup", delete).await;
    site.good("csi.v1.Controller/DeleteVolume", json!({ "volumeId": "vol-v" })).await;
}

/// R-34: an answer without a moment, or with impossible numbers, is none.
#[tokio::test]
async fn answers_that_are_none() {
    let site = Site::new().await;
    site.group("vg-g", &["vol-a", "vol-b"]).await;
    site.volumes(&["vol-v"]).await;
    site.replicated("volume/vol-v", "primary").await;
    site.replicated("group/vg-g", "primary").await;
    for (flaw, field) in [
        ("time", "last-sync-time"),
        ("nanoseconds", "last-sync-time"),
        ("bytes", "last-sync-bytes"),
        ("message", "status-message"),
    ] {
        site.host.instruct("get-replication", "vol-v", &format!("times 1 bad {flaw}")).await;
        site.bad(&method("GetVolumeReplicationInfo"), on(&volume("vol-v")), Code::Unknown, field).await;
    }
    site.host.instruct("get-replication", "vol-v", "times 1 bad status").await;
    let untold = site.good(&method("GetVolumeReplicationInfo"), on(&volume("vol-v"))).await;
    assert_eq!(untold.get("status"), None, "a backend need not tell");

    let destination = method("GetReplicationDestinationInfo");
    for (object, source, flaw, words) in [
        ("vol-v", volume("vol-v"), "id", "volume-id"),
        ("vg-g", group("vg-g"), "kind", "another kind"),
        ("vg-g", group("vg-g"), "incomplete", "every present member"),
        ("vg-g", group("vg-g"), "stranger", "every present member"),
    ] {
        site.host.instruct("get-destination", object, &format!("times 1 bad {flaw}")).await;
        site.bad(&destination, on(&source), Code::Unknown, words).await;
    }
    let told = site.good(&destination, on(&group("vg-g"))).await;
    let ids = json!({ "vol-a": "peer-vol-a", "vol-b": "peer-vol-b" });
    assert_eq!(
        told["replicationDestination"]["volumegroup"],
        json!({ "volumeGroupId": "peer-vg-g", "volumeIds": ids })
    );
    site.host.instruct("get-destination", "vg-g", "times 1 bad untold").await;
    let told = site.good(&destination, on(&group("vg-g"))).await;
    assert_eq!(told["replicationDestination"]["volumegroup"], json!({ "volumeGroupId": "peer-vg-g" }));
    site.bad(&destination, on(&group("")), Code::InvalidArgument, "volume_group_id: is required").await;
}

/// D5, R-13: what fits no code of the specification is UNKNOWN, never INTERNAL.
#[tokio::test]
async fn unclassified_failures_are_unknown() {
    let site = Site::new().await;
    site.volumes(&["vol-r"]).await;
    let operations = [
        "enable-replication",
        "demote",
        "resync",
        "promote",
        "get-replication",
        "get-destination",
        "disable-replication",
    ];
    let calls = CALLS.into_iter().filter(|(method, _)| method.starts_with("replication."));
    for ((method, request), operation) in calls.zip(operations) {
        for word in ["trap", "refuse internal it broke"] {
            site.host.instruct(operation, "vol-r", &format!("times 1 {word}")).await;
            let answer = site.call(method, serde_json::from_str(request).unwrap()).await;
            assert_eq!(answer.expect_err(method).code(), Code::Unknown, "{method}: {word}");
        }
        site.replicated("volume/vol-r", if operation == "demote" { "secondary" } else { "primary" }).await;
    }
    site.host.instruct("state-of", "vol-r", "times 1 trap").await;
    site.bad(&method("PromoteVolume"), on(&volume("vol-r")), Code::Unknown, "").await;
    site.host.instruct("state-of", "vol-r", "times 1 refuse unavailable the array is away").await;
    site.bad(&method("PromoteVolume"), on(&volume("vol-r")), Code::Unavailable, "the array is away").await;
}
