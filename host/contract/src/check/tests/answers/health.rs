//! Answers about what is wrong.

use super::super::fixtures::*;
use super::super::{bad, good};
use drivebay_proto::pb::csi::v1::*;

fn first(answer: &mut ControllerGetVolumeHealthResponse) -> &mut volume_health::VolumeHealthEntry {
    &mut answer.volume_health.as_mut().unwrap().health_statuses[0]
}

#[test]
fn faults_of_a_volume_can_be_told_apart() {
    let answer = ControllerGetVolumeHealthResponse { volume_health: Some(health("v-1")) };
    bad(
        &get_health(),
        &answer,
        &everything(),
        &[
            ("volume-health", |a| a.volume_health = None),
            ("volume-health.volume-id", |a| {
                a.volume_health.as_mut().unwrap().volume_id.clear();
            }),
            ("volume-health.volume-id", |a| {
                a.volume_health = Some(health("v-2"));
            }),
            ("volume-health.health-statuses[0].status", |a| {
                first(a).status = 0;
            }),
            ("volume-health.health-statuses[0].status", |a| {
                first(a).status = 9;
            }),
            ("volume-health.health-statuses[0].reason", |a| {
                first(a).reason.clear();
            }),
            ("volume-health.health-statuses[0].reason", |a| {
                first(a).reason = "mirror".into();
            }),
            ("volume-health.health-statuses[0].reason", |a| {
                first(a).reason = "Mirror broken".into();
            }),
            ("volume-health.health-statuses[0].reason", |a| {
                first(a).reason = "R".repeat(129);
            }),
            ("volume-health.health-statuses[0].message", |a| {
                first(a).message = "m".repeat(1025);
            }),
            ("volume-health.health-statuses", |a| first(a).status = 2),
        ],
    );
    good(
        &get_health(),
        &answer,
        &everything(),
        &[|a| a.volume_health.as_mut().unwrap().health_statuses.clear(), |a| first(a).reason = "Raid5Degraded".into()],
    );
}

#[test]
fn a_node_tells_of_the_volume_asked_for() {
    let node = NodeGetVolumeHealthResponse { volume_health: Some(health("v-1")) };
    bad(
        &node_health(),
        &node,
        &everything(),
        &[
            ("volume-health", |a| a.volume_health = None),
            ("volume-health.volume-id", |a| {
                a.volume_health = Some(health("v-2"));
            }),
        ],
    );
}

#[test]
fn a_page_of_health_names_each_volume_once() {
    let answer =
        ControllerListVolumeHealthResponse { entries: vec![health("v-1"), health("v-2")], next_token: String::new() };
    bad(
        &list_health(),
        &answer,
        &everything(),
        &[
            ("entries", |a| a.entries.push(health("v-3"))),
            ("entries", |a| a.entries[1] = health("v-1")),
            ("entries[1].volume-id", |a| a.entries[1].volume_id.clear()),
            ("next-token", |a| a.next_token = "t-1".into()),
        ],
    );
}

#[test]
fn faults_of_the_storage_can_be_told_apart() {
    let fault = |kind| node_get_storage_health_response::StorageBackendHealth {
        status: StorageHealthErrorType::StorageDegraded.into(),
        reason: "PathLost".into(),
        message: "one of two paths".into(),
        volume_capability: kind,
    };
    let answer = NodeGetStorageHealthResponse { backend_health: vec![fault(None), fault(Some(capability()))] };
    bad(
        &NodeGetStorageHealthRequest::default(),
        &answer,
        &everything(),
        &[
            ("backend-health[0].status", |a| {
                a.backend_health[0].status = 0;
            }),
            ("backend-health[0].status", |a| {
                a.backend_health[0].status = 3;
            }),
            ("backend-health[0].reason", |a| {
                a.backend_health[0].reason = "path lost".into();
            }),
            ("backend-health[0].message", |a| {
                a.backend_health[0].message = "m".repeat(1025);
            }),
            ("backend-health[1].volume-capability.access-mode.mode", |a| {
                a.backend_health[1].volume_capability = Some(in_mode(0));
            }),
            ("backend-health", |a| {
                a.backend_health[1].volume_capability = None;
            }),
        ],
    );
    let request = NodeGetStorageHealthRequest::default();
    good(
        &request,
        &answer,
        &everything(),
        &[
            |a| a.backend_health.clear(),
            |a| {
                a.backend_health[1].volume_capability = None;
                a.backend_health[1].status = StorageHealthErrorType::StorageUnreachable.into();
            },
        ],
    );
}
