//! A client that does what comes to its mind and remembers what it was told. After every call that
//! succeeded it looks at the array's other door whether that is so, and a refusal must have its reason
//! in what the client knows: so neither a wrong success nor a wrong refusal passes.

mod sets;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tonic::{Code, Status};

use super::pair::Pair;
use super::site::{LONG, Site};

const MIB: u64 = 1 << 20;

/// As many objects of a kind as a client has at most.
const MOST: usize = 10;

/// The nodes that volumes are attached to.
const NODES: [&str; 2] = ["n1", "n2"];

/// A volume as its client knows it.
#[derive(Debug, Clone, Default)]
pub struct Volume {
    pub id: String,
    bytes: u64,
    node: Option<&'static str>,
    group: Option<String>,
    limit: u64,
    key: u64,
}

/// A volume group: its id and its members' names.
#[derive(Debug, Clone)]
struct Group {
    id: String,
    members: BTreeSet<String>,
}

/// What a client has done and met.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// By the name of the call.
    pub done: BTreeMap<String, u64>,
    /// Attempts that were not the last one.
    pub repeated: u64,
    /// Refusals that were right.
    pub refused: u64,
}

/// A client and what it was told.
pub struct Client {
    pub a: Arc<Site>,
    pub b: Arc<Site>,
    pub own: usize,
    dice: Dice,
    made: u64,
    pub volumes: BTreeMap<String, Volume>,
    /// By name: the id and the source.
    snapshots: BTreeMap<String, (String, String)>,
    cuts: BTreeMap<String, (String, Vec<String>)>,
    groups: BTreeMap<String, Group>,
    gone: BTreeSet<String>,
    fenced: bool,
    pub pair: Option<Pair>,
    pub tally: Tally,
}

/// The same choices for the same seed.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

impl Client {
    pub fn new(a: &Arc<Site>, b: &Arc<Site>, own: usize, seed: u64) -> Self {
        let dice = Dice(seed.wrapping_mul(1_000_003).wrapping_add(own as u64));
        let (a, b) = (Arc::clone(a), Arc::clone(b));
        let (volumes, snapshots, cuts, groups, gone) = Default::default();
        let (pair, tally) = Default::default();
        Self { a, b, own, dice, made: 0, volumes, snapshots, cuts, groups, gone, fenced: false, pair, tally }
    }

    /// Does one thing.
    pub async fn step(&mut self) {
        match self.dice.roll(100) {
            0..18 => self.create(Json::Null).await,
            18..26 => self.copy().await,
            26..36 => self.attach().await,
            36..44 => self.detach_any().await,
            44..50 => self.grow().await,
            50..54 => self.modify().await,
            54..62 => self.snapshot().await,
            62..66 => self.drop_snapshot().await,
            66..69 => self.group().await,
            69..72 => self.change_group().await,
            72..74 => self.drop_group().await,
            74..77 => self.cut().await,
            77..79 => self.drop_cut().await,
            79..82 => self.rotate().await,
            82..84 => self.reclaim().await,
            84..86 => self.fence().await,
            86..88 => self.list().await,
            88..94 => self.advance().await,
            _ => self.delete().await,
        }
    }

    /// Makes a call until its answer is final. One of twenty is given up by its client at once, and repeated.
    pub async fn call(&mut self, site: &Arc<Site>, path: &str, request: Json) -> Result<Json, Status> {
        let hasty = self.dice.roll(20) == 0;
        let first = if hasty { Duration::from_millis(20 + self.dice.roll(100)) } else { LONG };
        let told = site.ask(path, &request, first).await;
        *self.tally.done.entry(path.rsplit('/').next().unwrap().to_owned()).or_default() += 1;
        self.tally.repeated += told.attempts - 1;
        told.answer
    }

    async fn csi(&mut self, name: &str, request: Json) -> Result<Json, Status> {
        let site = Arc::clone(&self.a);
        self.call(&site, &format!("csi.v1.Controller/{name}"), request).await
    }

    async fn addons(&mut self, path: &str, request: Json) -> Result<Json, Status> {
        let site = Arc::clone(&self.a);
        self.call(&site, path, request).await
    }

    fn name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("c{}-{kind}{}", self.own, self.made)
    }

    fn pick_among<T>(dice: &mut Dice, all: &BTreeMap<String, T>) -> Option<String> {
        let place = usize::try_from(dice.roll(all.len().max(1) as u64)).unwrap();
        all.keys().nth(place).cloned()
    }

    fn pick(&mut self) -> Option<String> {
        Self::pick_among(&mut self.dice, &self.volumes)
    }

    /// A volume that is in no group and attached nowhere.
    pub fn pick_free(&mut self) -> Option<String> {
        let free: BTreeMap<_, _> =
            self.volumes.iter().filter(|(_, it)| it.node.is_none() && it.group.is_none()).collect();
        let free = free.into_keys().map(|name| (name.clone(), ())).collect();
        Self::pick_among(&mut self.dice, &free)
    }

    /// What the array has is what the client was told.
    pub async fn check(&self, name: &str) {
        let known = &self.volumes[name];
        let truth = self.a.array.object("volume", &known.id).await;
        let group = known.group.as_ref().map(|group| self.groups[group].id.clone());
        let exports: Vec<_> =
            truth["exports"].as_array().expect(name).iter().map(|it| it["host"].as_str().unwrap()).collect();
        assert_eq!(truth["name"], format!("csi:{name}"));
        assert_eq!((&truth["state"], &truth["bytes"]), (&json!("ready"), &json!(known.bytes)), "{name}");
        assert_eq!((&truth["group"], exports), (&json!(group), Vec::from_iter(known.node)), "{name}");
        assert_eq!(truth["iops_limit"].as_u64().unwrap_or_default(), known.limit, "{name}");
        assert!(truth["key"]["version"].as_u64().unwrap() >= known.key, "{name}");
    }

    pub fn is_attached(&self, name: &str) -> bool {
        self.volumes[name].node.is_some()
    }

    async fn advance(&mut self) {
        let pair = match self.pair.take() {
            Some(pair) => Some(pair),
            None => self.pick_free().map(Pair::of),
        };
        if let Some(pair) = pair {
            self.pair = pair.advance(self).await;
        }
    }

    fn is_replicated(&self, name: &str) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair.holds(name))
    }

    fn refused(&mut self, status: &Status, is_right: bool, name: &str) {
        assert!(is_right && status.code() == Code::FailedPrecondition, "{name}: {status:?}");
        self.tally.refused += 1;
    }

    /// The names that the array must have of a kind.
    pub fn names(&self, kind: &str) -> Vec<String> {
        let names: Vec<_> = match kind {
            "volume" => self.volumes.keys().collect(),
            "snapshot" => self.snapshots.keys().collect(),
            "group" => self.groups.keys().collect(),
            "group snapshot" => self.cuts.keys().collect(),
            _ => Vec::new(),
        };
        names.into_iter().map(|name| format!("csi:{name}")).collect()
    }

    /// As many snapshots as there are in its cuts.
    pub fn cut_members(&self) -> usize {
        self.cuts.values().map(|(_, members)| members.len()).sum()
    }

    /// Takes its replication to its end.
    pub async fn end_pair(&mut self) {
        while let Some(pair) = self.pair.take() {
            self.pair = pair.advance(self).await;
        }
    }

    /// Takes away all that it has.
    pub async fn end(&mut self) {
        while !self.cuts.is_empty() {
            self.drop_cut().await;
        }
        while !self.snapshots.is_empty() {
            self.drop_snapshot().await;
        }
        while let Some(name) = self.groups.keys().next().cloned() {
            let request = json!({ "volumeGroupId": self.groups[&name].id });
            let path = "volumegroup.Controller/ModifyVolumeGroupMembership";
            self.addons(path, request).await.unwrap();
            for member in self.groups[&name].members.clone() {
                self.volumes.get_mut(&member).unwrap().group = None;
            }
            self.groups.get_mut(&name).unwrap().members.clear();
            self.drop_group().await;
        }
        for name in self.volumes.keys().cloned().collect::<Vec<_>>() {
            self.check(&name).await;
            self.detach(&name).await;
            self.csi("DeleteVolume", json!({ "volumeId": self.volumes[&name].id })).await.unwrap();
        }
        if self.fenced {
            self.fence().await;
        }
    }
}

fn capability() -> Json {
    json!({ "block": {}, "accessMode": { "mode": "SINGLE_NODE_WRITER" } })
}

pub fn text(value: &Json) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn number(value: &Json) -> u64 {
    text(value).parse().unwrap()
}
