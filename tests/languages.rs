//! One life of volumes, the same for a backend in every language: what the contract promises does
//! not depend on the toolchain. Asserts nothing about a language but that its component keeps it.

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::{CreateVolumeRequest, GetPluginInfoRequest, Volume};
use tonic::Code;
use tonic::transport::Channel;

use crate::support::{Guest, Options, TestHost, expect, refused, requests};

#[tokio::test]
async fn rust() {
    life("minimal-rust").await;
}

#[tokio::test]
async fn go() {
    life("minimal-go").await;
}

#[tokio::test]
async fn python() {
    life("minimal-python").await;
}

async fn life(name: &'static str) {
    let guest = Guest(name);
    if !guest.is_built() {
        return;
    }
    let mut host = TestHost::start(guest, Options::default()).await;
    let info = host.identity().await.get_plugin_info(GetPluginInfoRequest {}).await.unwrap().into_inner();
    assert_eq!(info.name, format!("{name}.drivebay.dev"));

    let mut client = host.controller().await;
    let (first, second) = (create(&mut client, "a").await, create(&mut client, "b").await);
    is_idempotent(&mut client, &first, &second).await;
    misbehaves_in_words(&mut client).await;
    deletes(&mut client, &first).await;

    host.stop().await;
    host.start_again().await;
    let mut client = host.controller().await;
    assert_eq!(create(&mut client, "b").await, second, "state outlives the host");
    let again = create(&mut client, "a").await;
    assert!(again.volume_id != first.volume_id, "an id is never used again");
    host.stop().await;
}

async fn create(client: &mut ControllerClient<Channel>, name: &str) -> Volume {
    client.create_volume(requests::create(name)).await.unwrap().into_inner().volume.unwrap()
}

async fn is_idempotent(client: &mut ControllerClient<Channel>, first: &Volume, second: &Volume) {
    assert!(first.volume_id != second.volume_id);
    assert_eq!(first.capacity_bytes, requests::GIB);
    assert_eq!(create(client, "a").await, *first);
    let other =
        CreateVolumeRequest { parameters: [("kind".to_owned(), "other".to_owned())].into(), ..requests::create("a") };
    expect(&refused(client.create_volume(other).await), Code::AlreadyExists, "");
    let larger =
        CreateVolumeRequest { capacity_range: Some(requests::size(2 * requests::GIB)), ..requests::create("a") };
    expect(&refused(client.create_volume(larger).await), Code::AlreadyExists, "");
    let verdict = client.validate_volume_capabilities(requests::validate(&first.volume_id)).await.unwrap();
    assert_eq!(verdict.into_inner().confirmed.unwrap().volume_capabilities, [requests::capability()]);
}

async fn misbehaves_in_words(client: &mut ControllerClient<Channel>) {
    let with = |key: &str, value: &str| CreateVolumeRequest {
        parameters: [(key.to_owned(), value.to_owned())].into(),
        ..requests::create("c")
    };
    let status = refused(client.create_volume(with("fail", "resource-exhausted")).await);
    expect(&status, Code::ResourceExhausted, "resource-exhausted");
    expect(&refused(client.create_volume(with("trap", "1")).await), Code::Unavailable, "crashed");
}

async fn deletes(client: &mut ControllerClient<Channel>, volume: &Volume) {
    for _ in 0..2 {
        client.delete_volume(requests::delete(&volume.volume_id)).await.unwrap();
    }
    let status = refused(client.validate_volume_capabilities(requests::validate(&volume.volume_id)).await);
    expect(&status, Code::NotFound, &volume.volume_id);
}
