//! Tests of what `call` makes of words, and of the way to a driver that is not there.

use prost_reflect::DescriptorPool;
use tonic::{Code, Status};

use super::{Prepared, connect, invoke, names, parse, pretty, socket, status_line};

fn pool() -> DescriptorPool {
    DescriptorPool::decode(drivebay_proto::FILE_DESCRIPTOR_SET).unwrap()
}

fn resolved(name: &str) -> String {
    names::resolve(&pool(), name).unwrap().full_name().to_owned()
}

#[test]
fn short_names_mean_csi_unless_only_another_package_has_the_method() {
    assert_eq!(resolved("csi.v1.Identity/Probe"), "csi.v1.Identity.Probe");
    assert_eq!(resolved("Identity/Probe"), "csi.v1.Identity.Probe");
    assert_eq!(resolved("identity.Identity/Probe"), "identity.Identity.Probe");
    assert_eq!(resolved("Identity/GetIdentity"), "identity.Identity.GetIdentity");
    assert_eq!(resolved("/FenceController/FenceClusterNetwork"), "fence.FenceController.FenceClusterNetwork");
}

#[test]
fn an_unknown_name_is_answered_with_near_ones() {
    for (asked, meant) in [
        ("Identity/GetPlugininfo", "csi.v1.Identity/GetPluginInfo"),
        ("Contoller/CreateVolume", "csi.v1.Controller/CreateVolume"),
        ("NodeStageVolum", "csi.v1.Node/NodeStageVolume"),
        ("csi.v1.Node/Probe", "csi.v1.Identity/Probe"),
    ] {
        let words = names::resolve(&pool(), asked).unwrap_err().to_string();
        assert!(words.contains(&format!("`{asked}`")), "{words}");
        assert!(words.contains(meant), "{asked}: {words}");
        assert_eq!(words.lines().count(), 6, "{words}");
    }
}

#[test]
fn requests_are_read_in_either_spelling_and_refused_in_words() {
    let method = names::resolve(&pool(), "Controller/ListVolumes").unwrap();
    let input = || method.input();
    let snake = parse(input(), r#"{"max_entries": 3, "starting_token": "a"}"#).unwrap();
    let camel = parse(input(), r#"{"maxEntries": 3, "startingToken": "a"}"#).unwrap();
    assert_eq!(snake, camel);
    assert_eq!(parse(input(), " \n").unwrap(), parse(input(), "{}").unwrap());
    let words = parse(input(), r#"{"max_entry": 3}"#).unwrap_err();
    assert!(words.contains("csi.v1.ListVolumesRequest") && words.contains("max_entry"), "{words}");
    assert!(words.contains("its fields: max_entries, starting_token"), "{words}");
    assert!(parse(input(), "{} {}").is_err(), "one request at a time");
}

#[test]
fn answers_are_printed_as_protobuf_maps_them() {
    let output = names::resolve(&pool(), "Controller/GetCapacity").unwrap().output();
    let answer = parse(output, r#"{"available_capacity": 7}"#).unwrap();
    assert_eq!(pretty(&answer).unwrap(), "{\n  \"availableCapacity\": \"7\"\n}");
}

#[test]
fn a_failure_begins_with_its_code() {
    assert_eq!(status_line(&Status::new(Code::NotFound, "no\nvolume")), "NOT_FOUND: no\\nvolume");
    assert_eq!(status_line(&Status::new(Code::DeadlineExceeded, "late")), "DEADLINE_EXCEEDED: late");
}

#[test]
fn sockets_may_be_relative_paths_but_not_other_addresses() {
    assert_eq!(socket("unix:///run/a.sock").unwrap().to_str(), Some("/run/a.sock"));
    assert_eq!(socket("a.sock").unwrap(), std::env::current_dir().unwrap().join("a.sock"));
    assert!(socket("tcp://host:1").unwrap_err().contains("unix:///"));
}

#[tokio::test]
async fn a_driver_that_is_not_there_is_told_apart_from_one_that_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("csi.sock");
    let absent = connect(&path).await.unwrap_err();
    assert!(absent.contains("there is no socket"), "{absent}");
    drop(tokio::net::UnixListener::bind(&path).unwrap());
    let ended = connect(&path).await.unwrap_err();
    assert!(ended.contains("nobody is listening"), "{ended}");
}

#[tokio::test]
async fn a_driver_that_says_nothing_is_given_up_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("csi.sock");
    let _silent = tokio::net::UnixListener::bind(&path).unwrap();
    let method = names::resolve(&pool(), "Identity/Probe").unwrap();
    let request = parse(method.input(), "{}").unwrap();
    let timeout = std::time::Duration::from_millis(50);
    let call = Prepared { socket: path.clone(), method, request, timeout };
    let status = invoke(connect(&path).await.unwrap(), call).await.unwrap_err();
    assert_eq!(status_line(&status), "DEADLINE_EXCEEDED: no answer within 50ms");
}
