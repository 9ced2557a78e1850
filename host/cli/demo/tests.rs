//! A whole walk against a host in this process: without node work, so that it needs no privilege.

use tokio_util::sync::CancellationToken;

use super::node::NodeWork;
use super::steps::{Halt, Steps};
use super::walk::Walk;
use super::{Place, config, invitation};
use crate::host::Host;

const UNPRIVILEGED: NodeWork = NodeWork::Nothing("this is a test");

async fn host(place: &Place) -> Host {
    Host::start_unconfined(config(place, UNPRIVILEGED)).await.unwrap()
}

#[tokio::test]
async fn a_walk_goes_well_twice_on_the_same_directory_and_leaves_no_volume() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::below(directory.path()).unwrap();
    place.make().unwrap();
    for _ in 0..2 {
        let host = host(&place).await;
        assert_eq!(Walk::go(&place, UNPRIVILEGED, CancellationToken::new()).await, Ok(()));
        for site in [&place.first, &place.second] {
            let channel = crate::cli::call::connect(&site.csi).await.unwrap();
            let mut client = crate::wire::pb::csi::v1::controller_client::ControllerClient::new(channel);
            let left = client.list_volumes(crate::wire::pb::csi::v1::ListVolumesRequest::default()).await.unwrap();
            assert_eq!(left.into_inner().entries, []);
        }
        host.stop().await.unwrap();
        assert!(!place.first.csi.exists() && !place.second.csi.exists(), "a host takes its sockets away");
    }
}

#[tokio::test]
async fn a_walk_to_nobody_fails_and_a_stopped_one_makes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::below(directory.path()).unwrap();
    assert_eq!(Walk::go(&place, UNPRIVILEGED, CancellationToken::new()).await, Err(Halt::Failed));
    place.make().unwrap();
    let host = host(&place).await;
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(Walk::go(&place, UNPRIVILEGED, stop).await, Err(Halt::Stopped));
    host.stop().await.unwrap();
}

#[tokio::test]
async fn one_failed_step_spoils_the_verdict() {
    let mut steps = Steps::new(CancellationToken::new());
    let refused = async { Err::<tonic::Response<()>, _>(tonic::Status::not_found("gone")) };
    assert_eq!(steps.call("DeleteVolume", refused, |()| String::new()).await, Err(Halt::Failed));
    assert_eq!(steps.verdict(Ok(())), Err(Halt::Failed));
}

#[test]
fn the_commands_in_the_invitation_are_whole() {
    let place = Place::below(std::path::Path::new("/d")).unwrap();
    let text = invitation(&place);
    let json = text.lines().find_map(|line| line.split_once("CreateVolume '")).unwrap().1.trim_end_matches('\'');
    assert_eq!(serde_json::from_str::<serde_json::Value>(json).unwrap()["name"], "mine");
    assert!(text.contains("unix:///d/csi.sock and unix:///d/addons.sock"), "{text}");
    assert!(text.contains("unix:///d/b/csi.sock and unix:///d/b/addons.sock"), "{text}");
}

#[test]
fn a_directory_that_is_too_deep_for_sockets_is_refused() {
    let deep = std::path::PathBuf::from("/").join("d".repeat(120));
    assert!(Place::below(&deep).unwrap_err().to_string().contains("--dir"));
}
