//! What a client sees of single calls: codes and words of every failure, what becomes of a call whose
//! client goes away or gives up, and what answers while nothing else can.

use std::time::{Duration, Instant};

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::{
    ControllerGetCapabilitiesRequest, ControllerGetVolumeRequest, CreateVolumeRequest, CreateVolumeResponse,
    GetPluginCapabilitiesRequest, GetPluginInfoRequest, ListVolumesRequest, ListVolumesResponse, ProbeRequest,
};
use prost::Message as _;
use rustix::process::Signal;
use serde_json::json;
use tokio::task::JoinSet;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use crate::support::{Guest, Options, PATIENCE, TestHost, expect, refused, requests, wire};

/// Two requests of the same name that no backend takes for one another.
fn other(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest { capacity_range: Some(requests::size(2 * requests::GIB)), ..requests::create(name) }
}

/// Repeats a creation for as long as another one is under way, as clients do.
async fn when_free(
    client: &mut ControllerClient<Channel>,
    request: CreateVolumeRequest,
) -> Result<Response<CreateVolumeResponse>, Status> {
    let begin = Instant::now();
    loop {
        match client.create_volume(request.clone()).await {
            Err(status) if status.code() == Code::Aborted && begin.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            answer => return answer,
        }
    }
}

#[tokio::test]
async fn what_does_not_exist_is_said_in_words() {
    let host = TestHost::tester().await;
    let channel = host.connect().await;
    for path in ["/csi.v1.Controller/Nothing", "/csi.v9.Controller/CreateVolume", "/nothing", "/csi.v1.Identity/"] {
        let status = refused(wire::send(channel.clone(), path, Vec::new()).await);
        assert_eq!(status.code(), Code::Unimplemented, "{path}: {status:?}");
        assert!(status.message().contains("method"), "{path}: {status:?}");
    }
    host.create(&["a"]).await;
}

#[tokio::test]
async fn bytes_that_are_no_message_are_an_invalid_argument() {
    let host = TestHost::tester().await;
    let channel = host.connect().await;
    let whole = requests::create("a").encode_to_vec();
    let cut = whole[..whole.len() - 1].to_vec();
    let not_text = vec![0x0a, 2, 0xff, 0xfe];
    let no_field = vec![0xff; 12];
    for bytes in [cut, not_text, no_field] {
        let status = refused(wire::send(channel.clone(), "/csi.v1.Controller/CreateVolume", bytes).await);
        expect(&status, Code::InvalidArgument, "not a valid message");
    }
    assert_eq!(host.entries("create-volume"), 0);
    wire::send(channel, "/csi.v1.Controller/CreateVolume", whole).await.unwrap();
}

#[tokio::test]
async fn every_refusal_arrives_with_its_code_and_words() {
    const CODES: [(&str, Code); 12] = [
        ("invalid-argument", Code::InvalidArgument),
        ("not-found", Code::NotFound),
        ("already-exists", Code::AlreadyExists),
        ("failed-precondition", Code::FailedPrecondition),
        ("resource-exhausted", Code::ResourceExhausted),
        ("out-of-range", Code::OutOfRange),
        ("aborted", Code::Aborted),
        ("unauthenticated", Code::Unauthenticated),
        ("permission-denied", Code::PermissionDenied),
        ("unavailable", Code::Unavailable),
        ("unimplemented", Code::Unimplemented),
        ("internal", Code::Internal),
    ];
    let host = TestHost::tester().await;
    let mut client = host.controller().await;
    for (word, code) in CODES {
        host.instruct("create-volume", word, &format!("refuse {word} the array said {word}")).await;
        let status = refused(client.create_volume(requests::create(word)).await);
        expect(&status, code, &format!("the array said {word} (call "));
    }
}

/// E-01, E-02: a client can show every failure to somebody, and the log has it under the same id.
#[tokio::test]
async fn a_refusal_without_words_gets_some() {
    let host = TestHost::tester().await;
    host.instruct("create-volume", "a", "refuse internal").await;
    host.instruct("create-volume", "b", "refuse internal two\nlines \u{1b}[31m").await;
    let mut client = host.controller().await;
    let status = refused(client.create_volume(requests::create("a")).await);
    expect(&status, Code::Internal, "gave no reason (call ");
    let status = refused(client.create_volume(requests::create("b")).await);
    expect(&status, Code::Internal, "two\\nlines \\u{1b}[31m (call ");
    let id = status.message().rsplit_once("(call ").unwrap().1.trim_end_matches(')');
    // No guest can make a line of its own in the log.
    let line = host.log.wait("call refused: two\\nlines \\u{1b}[31m", 1).await;
    assert!(line.text.contains(id), "{id}: {}", line.text);
}

#[tokio::test]
async fn a_crash_leaves_the_outcome_open_and_the_host_up() {
    let host = TestHost::tester().await;
    host.create(&["a"]).await;
    for (operation, object) in [("create-volume", "b"), ("delete-volume", "vol-a"), ("get-volume", "vol-a")] {
        host.instruct(operation, object, "times 1 trap").await;
    }
    let mut client = host.controller().await;
    let crashed = "the backend crashed";
    expect(&refused(client.create_volume(requests::create("b")).await), Code::Unavailable, crashed);
    expect(&refused(client.delete_volume(requests::delete("vol-a")).await), Code::Unavailable, crashed);
    let get = ControllerGetVolumeRequest { volume_id: "vol-a".to_owned() };
    expect(&refused(client.controller_get_volume(get.clone()).await), Code::Internal, crashed);

    client.create_volume(requests::create("b")).await.unwrap();
    client.controller_get_volume(get).await.unwrap();
    assert!(host.log.text().contains("fault=\"trap\""), "the cause is in the log");
}

#[tokio::test]
async fn an_answer_that_breaks_the_contract_is_no_answer() {
    let host = TestHost::tester().await;
    host.create(&["a"]).await;
    host.control(&[("set:act/create-volume/copy", "bad source"), ("set:act/create-snapshot/s", "bad source")]).await;
    let mut client = host.controller().await;
    for flaw in ["id", "long-id", "capacity", "huge", "context", "twice", "topology"] {
        host.instruct("create-volume", flaw, &format!("bad {flaw}")).await;
        let status = refused(client.create_volume(requests::create(flaw)).await);
        expect(&status, Code::Unavailable, "answer breaks the contract");
    }
    let status = refused(client.create_volume(requests::clone("copy", "vol-a")).await);
    expect(&status, Code::Unavailable, "answer breaks the contract");
    let status = refused(client.create_snapshot(requests::snapshot("s", "vol-a")).await);
    expect(&status, Code::Unavailable, "answer breaks the contract");
    host.instruct("expand-volume", "vol-a", "bad capacity").await;
    let status = refused(client.controller_expand_volume(requests::expand("vol-a", 2 * requests::GIB)).await);
    expect(&status, Code::Unavailable, "answer breaks the contract");
}

/// What was committed once comes back with every listing.
#[tokio::test]
async fn one_bad_entry_of_a_list_does_not_hide_the_others() {
    let host = TestHost::tester().await;
    host.create(&["a", "b", "c"]).await;
    let cases = [
        ("context", true, "volume-context: has 5001 bytes"),
        ("huge", true, "capacity-bytes: is too large: 18446744073709551615"),
        ("twice", true, "volume-context: has the key \"k\" twice"),
        ("id", false, "volume-id: is required"),
        ("long-id", false, "volume-id: has 129 bytes"),
        ("topology", false, "accessible-topology: needs the feature topology"),
    ];
    // More often than bad ends open the breaker.
    for (round, (flaw, is_told, words)) in cases.into_iter().cycle().take(12).enumerate() {
        host.instruct("list-volumes", "all", &format!("bad {flaw} vol-b")).await;
        let listed = list(host.controller().await).await.unwrap().into_inner().entries;
        let ids: Vec<_> = listed.iter().map(|entry| entry.volume.as_ref().unwrap().volume_id.as_str()).collect();
        let all = if is_told { &["vol-a", "vol-b", "vol-c"][..] } else { &["vol-a", "vol-c"] };
        assert_eq!(ids, all, "{flaw}");
        assert!(listed.iter().all(|entry| entry.volume.as_ref().unwrap().volume_context.is_empty()), "{flaw}");
        let status = host.status().await;
        let told = status["flaw"].as_str().unwrap_or_default();
        assert!(told.starts_with("ListVolumes: ") && told.contains("].volume.") && told.contains(words), "{told}");
        assert_eq!(told.contains("vol-b\""), flaw != "id" && flaw != "long-id", "{told}");
        assert_eq!((&status["errors"], &status["breaker"]["state"]), (&json!(round + 1), &json!("closed")));
    }
    host.log.wait("an entry of the backend's list breaks the contract", 12).await;
    let line = host.told(&["status"]).await;
    assert!(line.contains("under-test: breaks the contract, for its vendor to mend: ListVolumes: "), "{line}");
}

/// The host is kept from running, as by a loaded machine, while a client gives up one call after the other.
#[tokio::test]
async fn calls_given_up_before_they_were_read_cost_the_others_nothing() {
    let host = TestHost::tester().await;
    let client = host.controller().await;
    host.signal(Signal::STOP);
    let mut stays = JoinSet::from_iter([list(client.clone())]);
    let given_up = |_| tokio::time::timeout(Duration::from_millis(100), list(client.clone()));
    for answer in (0..100).map(given_up).collect::<JoinSet<_>>().join_all().await {
        assert!(answer.is_err(), "a host that does not run answers nobody");
    }
    // Another one, so that the connection has had its turn with what those before it have left.
    assert!(given_up(0).await.is_err());
    host.signal(Signal::CONT);
    stays.join_next().await.unwrap().unwrap().expect("a call that its client waits for is answered");
}

async fn list(mut client: ControllerClient<Channel>) -> Result<Response<ListVolumesResponse>, Status> {
    client.list_volumes(ListVolumesRequest::default()).await
}

#[tokio::test]
async fn a_client_that_goes_away_changes_nothing() {
    let host = TestHost::tester().await;
    host.instruct("create-volume", "a", "hold gate").await;
    let mut gone = JoinSet::new();
    let mut client = host.controller().await;
    gone.spawn(async move { client.create_volume(requests::create("a")).await });
    host.entered("create-volume a", 1).await;
    gone.shutdown().await;

    let mut client = host.controller().await;
    expect(&refused(client.create_volume(other("a")).await), Code::Aborted, "CreateVolume is pending");
    host.open("gate").await;
    // Only the call of the client that has gone can have made it.
    let status = refused(when_free(&mut client, other("a")).await);
    expect(&status, Code::AlreadyExists, "vol-a was made with other wishes");
}

#[tokio::test]
async fn a_call_goes_on_after_its_deadline() {
    let host = TestHost::tester().await;
    host.instruct("create-volume", "a", "hold gate").await;
    let mut client = host.controller().await;
    let mut request = Request::new(requests::create("a"));
    // The host answers 100 ms before this; with less a crowded machine would let the client end first.
    request.set_timeout(Duration::from_secs(5));
    expect(&refused(client.create_volume(request).await), Code::DeadlineExceeded, "still under way");

    let status = refused(client.create_volume(requests::create("a")).await);
    expect(&status, Code::Aborted, "CreateVolume is pending for volume name \"a\"");
    host.open("gate").await;
    let volume = when_free(&mut client, requests::create("a")).await.unwrap().into_inner().volume.unwrap();
    assert_eq!(volume.volume_id, "vol-a");
    let status = refused(client.create_volume(other("a")).await);
    expect(&status, Code::AlreadyExists, "vol-a");
}

#[tokio::test]
async fn identity_answers_while_every_place_is_taken() {
    // Four places: three for changes, one for reads alone.
    let host = TestHost::start(Guest::TESTER, Options::default().limit("calls", "4")).await;
    host.create(&["a"]).await;
    host.instruct("get-volume", "vol-a", "set gate/gate").await;
    let channel = host.connect().await;
    let names = ["b", "c", "d"];
    for name in names {
        host.instruct("create-volume", name, "hold gate").await;
    }
    let mut held = JoinSet::new();
    for name in names {
        let mut client = ControllerClient::new(channel.clone());
        held.spawn(async move { client.create_volume(requests::create(name)).await.map(drop) });
        host.entered(&format!("create-volume {name}"), 1).await;
    }

    let mut client = ControllerClient::new(channel);
    expect(&refused(client.create_volume(requests::create("e")).await), Code::Unavailable, "too many calls");
    let mut identity = host.identity().await;
    assert_eq!(identity.probe(ProbeRequest {}).await.unwrap().into_inner().ready, Some(true));
    identity.get_plugin_info(GetPluginInfoRequest {}).await.unwrap();
    identity.get_plugin_capabilities(GetPluginCapabilitiesRequest {}).await.unwrap();
    client.controller_get_capabilities(ControllerGetCapabilitiesRequest {}).await.unwrap();
    client.validate_volume_capabilities(requests::validate("vol-a")).await.expect("reads have a place of their own");
    assert!(held.try_join_next().is_none(), "all of them are still held");

    // A read opens the gate: there is no place for a change.
    client.controller_get_volume(ControllerGetVolumeRequest { volume_id: "vol-a".to_owned() }).await.unwrap();
    while let Some(ended) = held.join_next().await {
        ended.unwrap().unwrap();
    }
    client.create_volume(requests::create("e")).await.expect("there is room again");
}

/// D8: what is not ready says so and is no error; a sidecar would exit.
#[tokio::test]
async fn probe_tells_how_the_backend_feels_and_never_fails() {
    let host = TestHost::tester().await;
    let mut identity = host.identity().await;
    assert_eq!(identity.probe(ProbeRequest {}).await.unwrap().into_inner().ready, Some(true));
    host.instruct("probe", "host", "refuse failed-precondition the array is off").await;
    host.instruct("create-volume", "a", "times 1 trap").await;
    let mut client = host.controller().await;
    refused(client.create_volume(requests::create("a")).await);
    host.log.wait("to=Unhealthy(\"the array is off\")", 1).await;
    assert_eq!(identity.probe(ProbeRequest {}).await.unwrap().into_inner().ready, Some(false));
    client.create_volume(requests::create("a")).await.expect("the backend knows best what it still can do");
}

/// The test backend gives all it has when nobody says how many: then it is the host that asks for pages, and
/// a client that follows the tokens sees every volume once.
#[tokio::test]
async fn long_lists_come_in_pages_also_when_nobody_asks_for_them() {
    let host = TestHost::tester().await;
    let ids: Vec<_> = (0..1_100).map(|n| format!("vol-{n:04}")).collect();
    for some in ids.chunks(550) {
        let records: Vec<_> = some.iter().map(|id| format!("set:volume/{id}")).collect();
        let wishes: Vec<_> = records.iter().map(|key| (key.as_str(), "1\u{1f}none\u{1f}\u{1f}")).collect();
        host.control(&wishes).await;
    }
    let mut client = host.controller().await;
    for (wanted, pages) in [(0, &[1_000, 100][..]), (5_000, &[1_000, 100]), (1_000, &[1_000, 100]), (600, &[600, 500])]
    {
        let (mut token, mut seen, mut lengths) = (String::new(), Vec::new(), Vec::new());
        loop {
            let request = ListVolumesRequest { max_entries: wanted, starting_token: token };
            let page = client.list_volumes(request).await.unwrap().into_inner();
            lengths.push(page.entries.len());
            seen.extend(page.entries.into_iter().map(|entry| entry.volume.unwrap().volume_id));
            token = page.next_token;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(lengths, pages, "asked for {wanted}");
        assert_eq!(seen, ids, "asked for {wanted}");
    }
}
