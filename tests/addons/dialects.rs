//! Three generations of clients, as the bytes that they send: recorded from the released contracts
//! (`tests/facts/clients.tsv`), and never encoded by this project. All mean the same and have the
//! same effects.

use std::collections::BTreeMap;

use tonic::Code;

use super::{NEXT, Site};
use crate::support::wire;

/// A recorded request.
struct Recorded {
    client: &'static str,
    method: &'static str,
    bytes: Vec<u8>,
}

fn recorded() -> Vec<Recorded> {
    let lines = include_str!("../facts/clients.tsv").lines().skip(1);
    lines
        .map(|line| {
            let [client, method, bytes] = line.split('\t').collect::<Vec<_>>().try_into().expect(line);
            let byte = |at| u8::from_str_radix(&bytes[at..at + 2], 16).expect(line);
            Recorded { client, method, bytes: (0..bytes.len()).step_by(2).map(byte).collect() }
        })
        .collect()
}

/// Method by method: the answer's bytes, and what the backend remembers afterwards.
type Effects = Vec<(&'static str, Vec<u8>, BTreeMap<String, String>)>;

async fn effects(site: &Site, client: &str) -> Effects {
    let mut effects = Vec::new();
    for request in recorded().into_iter().filter(|request| request.client == client) {
        let path = format!("/replication.Controller/{}", request.method);
        let answer = wire::send(site.channel.clone(), &path, request.bytes).await;
        let answer = answer.unwrap_or_else(|status| panic!("{client}, {path}: {status:?}"));
        effects.push((request.method, answer.into_inner(), site.replicas().await));
    }
    effects
}

async fn site() -> Site {
    let site = Site::with("snapshot-replication").await;
    site.volumes(&["vol-v"]).await;
    site.group("vg-g", &["vol-m"]).await;
    let cut = format!("vol-v{NEXT}4096{NEXT}1{NEXT}");
    site.host.control(&[("set:snapshot/snap-s", &cut)]).await;
    site
}

#[tokio::test]
async fn d2_every_generation_of_clients_has_the_same_effects() {
    let site = site().await;
    let newest = effects(&site, "newest").await;
    let last: Vec<_> = newest.iter().map(|(.., replicas)| replicas.get("replica/volume/vol-v").cloned()).collect();
    let parameters = "[(\"mode\", \"async\"), (\"schedulingInterval\", \"5m\")]";
    let record = |role: &str, force: bool| Some(format!("{role}{NEXT}{NEXT}{parameters}{NEXT}{force}"));
    let primary = record("primary", true);
    let expected = [
        record("primary", false),
        record("primary", false),
        record("secondary", false),
        record("secondary", true),
        primary.clone(),
        primary,
        None,
    ];
    assert_eq!(last, expected);
    for client in ["2023, both fields", "2023, the older field"] {
        assert_eq!(effects(&site, client).await, newest, "{client}");
    }
    // There was no way to ask how a replication does.
    let without_info: Effects =
        newest.into_iter().filter(|(method, ..)| *method != "GetVolumeReplicationInfo").collect();
    assert_eq!(effects(&site, "v0.1.0").await, without_info);
}

/// The same calls on groups and snapshots, which older clients cannot name.
#[tokio::test]
async fn d2_groups_and_snapshots_are_sources_like_volumes() {
    let site = site().await;
    let on_volume = effects(&site, "newest").await;
    for (client, key) in [("newest, group", "replica/group/vg-g"), ("newest, snapshot", "replica/snapshot/snap-s")] {
        let renamed = on_volume.iter().cloned().map(|(method, answer, replicas)| {
            (method, answer, replicas.into_values().map(|record| (key.to_owned(), record)).collect())
        });
        assert_eq!(effects(&site, client).await, renamed.collect::<Effects>(), "{client}");
    }
}

/// T8: beside a source the older field may hold anything.
#[tokio::test]
async fn t8_the_older_field_is_not_looked_at() {
    let site = site().await;
    let request = recorded().into_iter().find(|request| request.client == "newest").unwrap();
    // The order of fields on the wire means nothing.
    for older in [&b"vol-x"[..], b"a\0b", &[b'a'; 500]] {
        let mut bytes = request.bytes.clone();
        prost::encoding::bytes::encode(1, &older.to_vec(), &mut bytes);
        let path = format!("/replication.Controller/{}", request.method);
        wire::send(site.channel.clone(), &path, bytes).await.unwrap();
    }
    assert_eq!(site.replicas().await.into_keys().collect::<Vec<_>>(), ["replica/volume/vol-v"]);
    // A source that names nothing is no source, whatever else is said.
    let nothing = [&[0x0a, 5][..], b"vol-v", &[0x2a, 0]].concat();
    let answer = wire::send(site.channel.clone(), "/replication.Controller/EnableVolumeReplication", nothing).await;
    crate::support::expect(&answer.unwrap_err(), Code::InvalidArgument, "replication_source.type: is required");
}
