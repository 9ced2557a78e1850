//! Input that no well-behaved client sends, to every method: each refusal has its code and words that
//! name the field, reaches no backend, and changes nothing. Judges the program from outside alone;
//! the rules come from `tests/facts/requests.tsv`.

mod facts;
mod frames;
mod requests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use drivebay_proto::pb::csi::v1::{CreateVolumeRequest, ListSnapshotsRequest, ListVolumesRequest};
use facts::Rule;
pub use facts::requests as requests_of_facts;
use prost_reflect::{DescriptorPool, MethodDescriptor};
use requests::Broken;
pub use requests::Maker;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::support::{Guest, Node, Options, Pool, TestHost, requests as plain, wire};

/// Which services are tried on which backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Those of CSI, on the reference backend.
    Csi,
    /// Those of csi-addons, on the test backend: it has them all, snapshots as sources included.
    Addons,
}

fn methods(contracts: &DescriptorPool, family: Family) -> Vec<MethodDescriptor> {
    let is_csi = |name: &str| name.starts_with("csi.v1.");
    let services = contracts.services().filter(|service| is_csi(service.full_name()) == (family == Family::Csi));
    services.flat_map(|service| service.methods().collect::<Vec<_>>()).collect()
}

/// A backend with one object of each kind, and nothing on the node.
struct Site {
    host: TestHost,
    /// The reference backend's.
    pool: Option<Pool>,
    known: BTreeMap<&'static str, String>,
}

/// A volume that needs neither root nor a program.
pub fn directory(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest { parameters: [("kind".to_owned(), "directory".to_owned())].into(), ..plain::create(name) }
}

impl Site {
    async fn new() -> Self {
        let pool = Pool::plain();
        let options = Options::default().pool(&pool.path(), Node::Withheld).setting("topology", "zone=a");
        let host = TestHost::start(Guest::LOCAL, options.log("debug")).await;
        let volume = host.controller().await.create_volume(directory("v")).await.unwrap().into_inner().volume.unwrap();
        let volume = volume.volume_id.as_str();
        let cut = host.controller().await.create_snapshot(plain::snapshot("s", volume)).await.unwrap();
        let group = host.groups().await.create_volume_group_snapshot(plain::group_snapshot("g", &[volume])).await;
        let snapshot = cut.into_inner().snapshot.unwrap().snapshot_id;
        let group = group.unwrap().into_inner().group_snapshot.unwrap().group_snapshot_id;
        let mut known = BTreeMap::from([("group_snapshot_id", group), ("node_id", "n1".to_owned())]);
        known.extend(["volume_id", "source_volume_id", "source_volume_ids"].map(|field| (field, volume.to_owned())));
        known.extend(
            ["snapshot_id", "base_snapshot_id", "target_snapshot_id", "snapshot_ids"]
                .map(|field| (field, snapshot.clone())),
        );
        known.extend(
            ["staging_target_path", "target_path", "volume_path", "volume_publish_path"]
                .map(|field| (field, pool.place(field))),
        );
        Self { host, pool: Some(pool), known }
    }

    async fn addons() -> Self {
        let options = Options::default().setting("features", "snapshot-replication").log("debug");
        let host = TestHost::start(Guest::TESTER, options).await;
        host.create(&["v"]).await;
        host.controller().await.create_snapshot(plain::snapshot("s", "vol-v")).await.unwrap();
        host.control(&[("set:volume-group/vg-g", "[]\u{1f}vol-v")]).await;
        let known = [
            ("volume_id", "vol-v"),
            ("volume_ids", "vol-v"),
            ("volume_group_id", "vg-g"),
            ("volume_snapshot_id", "snap-s"),
            ("cidr", "192.0.2.0/24"),
            ("volume_path", "/nowhere/target"),
            ("staging_target_path", "/nowhere/staging"),
        ];
        Self { host, pool: None, known: known.map(|(field, value)| (field, value.to_owned())).into() }
    }

    async fn of(family: Family) -> Self {
        match family {
            Family::Csi => Self::new().await,
            Family::Addons => Self::addons().await,
        }
    }

    /// All that a client can list or the test backend remembers, and all that is in the pool and in the
    /// places that requests name.
    async fn everything(&self) -> (String, BTreeMap<PathBuf, (u64, u64, i64, i64)>, Vec<bool>) {
        let mut client = self.host.controller().await;
        let volumes = client.list_volumes(ListVolumesRequest::default()).await.unwrap().into_inner();
        let snapshots = client.list_snapshots(ListSnapshotsRequest::default()).await.unwrap().into_inner();
        let places = self.known.values().map(|place| std::fs::exists(place).unwrap_or(false)).collect();
        let kept = match &self.pool {
            Some(_) => BTreeMap::new(),
            None => self.host.control(&[("get:volume-group/", ""), ("get:replica/", ""), ("get:fence/", "")]).await,
        };
        let files = self.pool.as_ref().map(Pool::contents).unwrap_or_default();
        (format!("{volumes:?} {snapshots:?} {kept:?}"), files, places)
    }
}

/// Waits until the log holds all that was said up to now: its lines come through a pipe.
async fn caught_up(site: &Site) {
    let refused = site
        .host
        .controller()
        .await
        .delete_volume(crate::support::requests::delete(""))
        .await
        .expect_err("an id is needed");
    let id =
        refused.message().rsplit_once("(call ").and_then(|(_, id)| id.strip_suffix(')')).expect("it names the call");
    site.host.log.wait(id, 1).await;
}

async fn refusal(channel: &Channel, method: &MethodDescriptor, broken: &Broken) -> Option<Status> {
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
    wire::send(channel.clone(), &path, broken.bytes.clone()).await.err()
}

/// The refusal names the field first, says what is wrong with it, and ends with the call's id.
fn judge(broken: &Broken, status: Option<Status>) -> Result<(), String> {
    let status = status.ok_or_else(|| format!("{}: it was let through", broken.what))?;
    let said = status.message();
    let problem = match said.strip_prefix(&broken.path).and_then(|rest| rest.split_once(": ")) {
        _ if broken.path.is_empty() => Some(said),
        // Of a list the element is named, and of several fields that are missing any one.
        Some((rest, problem)) if matches!(rest, "" | "[0]") || (broken.is_of_several && rest.starts_with('.')) => {
            Some(problem)
        }
        _ => None,
    };
    let in_words = problem.is_some_and(|problem| problem.contains(&broken.words) && problem.contains(' '));
    if status.code() == broken.code && in_words && status.details().is_empty() {
        return Ok(());
    }
    Err(format!("{}: {:?} {said:?}", broken.what, status.code()))
}

#[tokio::test]
async fn every_rule_of_every_request() {
    every_rule(Family::Csi, 900).await;
}

#[tokio::test]
async fn every_rule_of_every_add_on_request() {
    every_rule(Family::Addons, 300).await;
}

async fn every_rule(family: Family, least: usize) {
    let (site, contracts) = (Site::of(family).await, wire::contracts());
    let maker = Maker { facts: facts::requests(), known: site.known.clone() };
    let channel = site.host.connect().await;
    let before = site.everything().await;
    caught_up(&site).await;
    let begun = site.host.log.with("call begins").len();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for method in methods(&contracts, family) {
        let whole = [vec![0xff; 12], vec![0x0a, 5, b'a'], vec![0x0f], vec![0x80]];
        let unreadable = whole.into_iter().map(|bytes| {
            let what = format!("{}: {bytes:x?}", method.full_name());
            requests::unreadable(what, bytes)
        });
        let refused = |broken: &Broken| !matches!(broken.code, Code::Ok | Code::Aborted);
        for broken in unreadable.chain(maker.broken(&method).into_iter().filter(refused)) {
            count += 1;
            wrong.extend(judge(&broken, refusal(&channel, &method, &broken).await).err());
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > least, "{count}");
    caught_up(&site).await;
    let entered = site.host.log.with("call begins").len() - begun;
    assert_eq!(entered, 0, "no refusal reaches the backend");
    assert_eq!(site.everything().await, before);

    // The backend's own: it alone knows its tokens.
    for method in methods(&contracts, family) {
        for broken in maker.broken(&method).into_iter().filter(|broken| broken.code == Code::Aborted) {
            let status = refusal(&channel, &method, &broken).await.expect(&broken.what);
            assert_eq!(status.code(), Code::Aborted, "{}: {status:?}", broken.what);
        }
    }
    assert_eq!(site.everything().await, before);
    site.host.controller().await.create_volume(directory("after")).await.expect("the host serves");
}

/// A rule that only ever refuses would be kept by a host that refuses everything.
#[tokio::test]
async fn what_the_rules_let_through() {
    let_through(Family::Csi, 60).await;
    let_through(Family::Addons, 40).await;
}

async fn let_through(family: Family, least: usize) {
    let (site, contracts) = (Site::of(family).await, wire::contracts());
    let maker = Maker { facts: facts::requests(), known: site.known.clone() };
    let channel = site.host.connect().await;
    let (mut count, mut refused) = (0, Vec::new());
    for method in methods(&contracts, family) {
        for broken in maker.broken(&method).into_iter().filter(|broken| broken.code == Code::Ok) {
            count += 1;
            let status = refusal(&channel, &method, &broken).await;
            let named = status.filter(|status| status.message().starts_with(&format!("{}: ", broken.path)));
            refused.extend(named.map(|status| format!("{}: {status:?}", broken.what)));
        }
    }
    assert!(refused.is_empty(), "{} of {count}:\n{}", refused.len(), refused.join("\n"));
    assert!(count > least, "{count}");
}

/// What comes later is not forgotten, and what is gone is not kept.
#[test]
fn the_facts_have_every_field() {
    let contracts = wire::contracts();
    let maker = Maker { facts: facts::requests(), known: BTreeMap::new() };
    let mut fields = BTreeSet::new();
    for method in [Family::Csi, Family::Addons].into_iter().flat_map(|family| methods(&contracts, family)) {
        for message in maker.messages(&method.input()) {
            let name = message.full_name().to_owned();
            fields.extend(message.fields().map(|field| (name.clone(), field.name().to_owned())));
        }
    }
    let listed: BTreeSet<_> = maker.facts.iter().map(|fact| (fact.message.to_owned(), fact.field.to_owned())).collect();
    let missing: Vec<_> = fields.difference(&listed).collect();
    assert!(missing.is_empty(), "no rule for {missing:?}");
    for fact in &maker.facts {
        let message = contracts.get_message_by_name(fact.message).expect(fact.message);
        let is_oneof = message.oneofs().any(|oneof| oneof.name() == fact.field);
        let is_field = message.get_field_by_name(fact.field).is_some();
        assert!(fact.field == "*" || is_oneof || is_field, "{}.{} is gone", fact.message, fact.field);
    }
    let texts = maker.facts.iter().filter(|fact| matches!(fact.rule, Rule::AtMost(_))).count();
    assert!(texts > 80, "{texts}");
}
