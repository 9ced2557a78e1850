//! The walk where nobody serves, and its words. The whole walk is in `tests/demo.rs`, with the real program.

use tokio_util::sync::CancellationToken;

use super::node::NodeWork;
use super::steps::{Halt, Steps};
use super::walk::Walk;
use super::{Place, invitation};

const UNPRIVILEGED: NodeWork = NodeWork::Nothing("this is a test");

#[tokio::test]
async fn a_walk_to_nobody_fails() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::below(directory.path()).unwrap();
    assert_eq!(Walk::go(&place, UNPRIVILEGED, CancellationToken::new()).await, Err(Halt::Failed));
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
