//! One life of volumes, the same for a backend in every language: what the contract promises does
//! not depend on the toolchain. Asserts nothing about a language but that its component keeps it.

use std::collections::BTreeMap;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::{
    CreateVolumeRequest, GetPluginInfoRequest, ValidateVolumeCapabilitiesRequest, Volume,
};
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

#[tokio::test]
async fn typescript() {
    life("minimal-ts").await;
}

#[tokio::test]
async fn c() {
    life("minimal-c").await;
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
    knows_its_own_context(&mut client).await;
    misbehaves_in_words(&mut client).await;
    assert!(host.log.text().contains("the parameter trap asks for it"), "what it said last is in the log");
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

/// What is not the volume's is not confirmed: another value, an unknown key, a key that is missing.
async fn knows_its_own_context(client: &mut ControllerClient<Channel>) {
    let parameters: BTreeMap<_, _> = [("kind", "x"), ("with space", "=\",")].map(|(k, v)| (k.into(), v.into())).into();
    let request = CreateVolumeRequest { parameters, ..requests::create("context") };
    let volume = client.create_volume(request).await.unwrap().into_inner().volume.unwrap();
    let changed = |key: &str, value: Option<&str>| {
        let mut context = volume.volume_context.clone();
        match value {
            Some(value) => drop(context.insert(key.to_owned(), value.to_owned())),
            None => assert!(context.remove(key).is_some(), "{key} is none of {context:?}"),
        }
        context
    };
    let cases = [
        (volume.volume_context.clone(), true),
        (changed("language", Some("other")), false),
        (changed("language", None), false),
        (changed("parameter.kind", Some("y")), false),
        (changed("parameter.kind", None), false),
        (changed("unknown", Some("x")), false),
    ];
    for (volume_context, is_own) in cases {
        let request = ValidateVolumeCapabilitiesRequest {
            volume_context: volume_context.clone(),
            ..requests::validate(&volume.volume_id)
        };
        let verdict = client.validate_volume_capabilities(request).await.unwrap().into_inner();
        assert_eq!(verdict.confirmed.is_some(), is_own, "{volume_context:?}: {verdict:?}");
    }
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
