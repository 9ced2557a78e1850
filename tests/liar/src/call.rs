//! The one way of every call: is it offered here, are the secrets right, is the object free, the work itself,
//! the words of a refusal. What holds for all RPCs is kept, or broken on purpose, here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tonic::{Code, Response, Status};

use crate::layout::Layout;
use crate::lies::Lies;
use crate::locks::{Conflict, Held, Key, Locks};
use crate::refusal::{Answer, Refusal, aborted, invalid, unauthenticated, unimplemented};
use crate::world::World;

/// What a socket stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Unified,
    Controller,
    Node,
}

/// The half of a driver that an RPC belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    Both,
    Controller,
    Node,
}

/// Everything that all sockets share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) world: Mutex<World>,
    pub(crate) locks: Locks,
    pub(crate) layout: Layout,
    pub(crate) lies: Lies,
    pub(crate) work: Duration,
    /// Sources that answer ABORTED for ever, as under R-11.
    pub(crate) stuck: Mutex<BTreeSet<Key>>,
}

/// One socket: a site, a role and, where it serves a node, which.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) shared: Arc<Shared>,
    pub(crate) site: usize,
    pub(crate) role: Role,
    pub(crate) node: usize,
}

/// What a call works with.
#[derive(Debug)]
pub(crate) struct Cx<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) layout: &'a Layout,
    pub(crate) rpc: &'static str,
    pub(crate) site: usize,
    pub(crate) node: usize,
    pub(crate) role: Role,
    lies: Lies,
}

impl Cx<'_> {
    /// Whether this rule is the one to break.
    pub(crate) fn lies(&self, id: &'static str) -> bool {
        self.lies.tells(id)
    }
}

/// Secrets as requests carry them.
pub(crate) type Secrets = BTreeMap<String, String>;

/// One RPC.
pub(crate) struct Row<Q, A> {
    pub(crate) service: &'static str,
    pub(crate) rpc: &'static str,
    pub(crate) area: Area,
    /// The capability without which the RPC does not exist.
    pub(crate) gate: &'static str,
    pub(crate) secrets: fn(&Q) -> Option<&Secrets>,
    /// What the call changes.
    pub(crate) changes: fn(&World, usize, &Q) -> Vec<Key>,
    pub(crate) work: fn(&mut Cx<'_>, &Q) -> Answer<A>,
}

impl<Q, A> fmt::Debug for Row<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rpc)
    }
}

/// Which lie ignores the gates that begin so.
const UNGATED: &[(&str, &str)] = &[
    ("C-06", "controller."),
    ("X-101", "node."),
    ("X-102", "group-snapshots."),
    ("X-103", "plugin.SNAPSHOT_METADATA_SERVICE"),
    ("X-104", "replication.VOLUME_REPLICATION"),
    ("X-105", "replication.GET_REPLICATION_DESTINATION_INFO"),
    ("X-106", "fence.NETWORK_FENCE"),
    ("X-107", "reclaim-space."),
    ("X-108", "keys."),
    ("G-20", "groups."),
];

/// Which lie answers INTERNAL to a crowd of calls on one object.
const CROWDED: &[(&str, &str)] = &[
    ("R-09", "promote_volume"),
    ("C-08", "controller_publish_volume"),
    ("X-96", "create_volume"),
    ("X-97", "delete_volume"),
    ("X-99", "create_snapshot"),
    ("X-100", "create_volume_group"),
];

/// From how many calls kept out by one pending call on it is a crowd; a caller that comes back after it
/// gave up is none.
const CROWD: usize = 3;

/// Which lie serves only so many calls of a kind at once, whatever their objects are.
const FEW: &[(&str, &str, usize)] = &[("R-10", "promote_volume", 3), ("X-98", "create_volume", 5)];

/// Which lie never ends a call whose caller gave up.
const UNFINISHED: &[(&str, &str)] = &[
    ("X-127", "create_volume"),
    ("X-128", "delete_volume"),
    ("X-129", "create_snapshot"),
    ("X-130", "node_publish_volume"),
    ("X-131", "enable_volume_replication"),
    ("X-132", "create_volume_group"),
];

impl Endpoint {
    /// Serves a call from beginning to end.
    pub(crate) async fn serve<Q: Sync, A: Send>(&self, row: &Row<Q, A>, request: &Q) -> Result<Response<A>, Status> {
        self.attempt(row, request).await.map(Response::new).map_err(|refusal| self.status(row, request, refusal))
    }

    /// The same for an answer that is yet to become a stream.
    pub(crate) async fn attempt<Q: Sync, A: Send>(&self, row: &Row<Q, A>, request: &Q) -> Answer<A> {
        self.admit(row, request)?;
        let held = self.hold(row, request)?;
        let mut under_way = UnderWay { held, forgotten: self.is_one_of(UNFINISHED, row.rpc), haunts: None };
        if row.rpc == "node_publish_volume" && self.lies("X-144") {
            under_way.haunts = Some(Arc::clone(&self.shared));
        }
        let answer = self.work(row, request);
        if !under_way.held.is_empty() && !self.shared.work.is_zero() {
            tokio::time::sleep(self.shared.work).await;
        }
        (under_way.forgotten, under_way.haunts) = (false, None);
        answer
    }

    fn lies(&self, id: &'static str) -> bool {
        self.shared.lies.tells(id)
    }

    fn is_one_of(&self, table: &[(&'static str, &str)], rpc: &str) -> bool {
        table.iter().any(|(id, name)| *name == rpc && self.lies(id))
    }

    fn work<Q, A>(&self, row: &Row<Q, A>, request: &Q) -> Answer<A> {
        let shared = &self.shared;
        let mut world = shared.world.lock().unwrap_or_else(PoisonError::into_inner);
        if !shared.layout.is_cut() {
            world.make_missing_copies();
        }
        let (rpc, site, node, role) = (row.rpc, self.site, self.node, self.role);
        let mut cx = Cx { world: &mut world, layout: &shared.layout, rpc, site, node, role, lies: shared.lies };
        (row.work)(&mut cx, request)
    }

    fn admit<Q, A>(&self, row: &Row<Q, A>, request: &Q) -> Answer<()> {
        let exposed = self.lies("C-05") && row.rpc == "controller_get_capabilities";
        let here = match row.area {
            Area::Both => true,
            Area::Controller => self.role != Role::Node,
            Area::Node => self.role != Role::Controller,
        };
        let ungated = UNGATED.iter().any(|(id, gate)| row.gate.starts_with(gate) && self.lies(id));
        let offered = here && (self.shared.layout.has(row.gate) || ungated);
        if !offered && !exposed {
            return Err(unimplemented(format!("{} is not offered here", row.rpc)));
        }
        let demanded = &self.shared.layout.secrets;
        let given = (row.secrets)(request);
        if given.is_none_or(|given| demanded.iter().all(|(key, value)| given.get(key) == Some(value))) {
            return Ok(());
        }
        let words = format!("the secrets of {} are not valid", row.rpc);
        let wrong_code =
            (self.lies("R-12") && row.service == "replication") || (self.lies("X-123") && row.service == "csi");
        Err(if wrong_code { invalid(words) } else { unauthenticated(words) })
    }

    fn hold<Q, A>(&self, row: &Row<Q, A>, request: &Q) -> Answer<Held> {
        let shared = &self.shared;
        let mut keys: Vec<Key> =
            (row.changes)(&shared.world.lock().unwrap_or_else(PoisonError::into_inner), self.site, request);
        // A request without a name is wrong, whatever else is under way.
        keys.retain(|(_, name)| !name.is_empty());
        let few = FEW.iter().find(|(id, rpc, _)| row.rpc == *rpc && self.lies(id)).map(|(_, _, few)| *few);
        if let (Some(few), Some((kind, name))) = (few, keys.first())
            && shared.locks.held_by(row.rpc) >= few
        {
            return Err(aborted(format!("{} is pending for others than the {kind} {name:?}", row.rpc)));
        }
        let mut stuck = shared.stuck.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = keys.iter().find(|key| row.rpc == "promote_volume" && stuck.contains(*key)) {
            return Err(aborted(format!("{} is pending for the {} {:?}", row.rpc, key.0, key.1)));
        }
        shared.locks.take(self.site, keys, row.rpc).map_err(|conflict| {
            if conflict.refused >= CROWD && self.lies("R-11") {
                stuck.insert(conflict.key.clone());
            }
            self.conflict(row.rpc, &conflict)
        })
    }

    fn conflict(&self, rpc: &str, conflict: &Conflict) -> Refusal {
        let (kind, name) = &conflict.key;
        if conflict.refused >= CROWD && self.is_one_of(CROWDED, rpc) {
            return Refusal::new(Code::Internal, format!("{} was there before: {kind} {name:?}", conflict.pending));
        }
        if self.lies("E-07") {
            return aborted(format!("{} is pending", conflict.pending));
        }
        aborted(format!("{} is pending for the {kind} {name:?}", conflict.pending))
    }

    /// The one place where a refusal becomes a status.
    pub(crate) fn status<Q, A>(&self, row: &Row<Q, A>, request: &Q, refusal: Refusal) -> Status {
        let Refusal { code, mut words } = refusal;
        let mute = if row.service == "csi" { self.lies("E-01") } else { self.lies("R-47") };
        if mute && [Code::NotFound, Code::Unimplemented].contains(&code) {
            words.clear();
        }
        if let Some(secret) =
            (row.secrets)(request).and_then(|given| given.values().next()).filter(|_| self.lies("X-121"))
        {
            words = format!("{words} (asked with {secret})");
        }
        if self.lies("X-122") {
            words.push_str(" at 0x00007f31c8a4be10");
        }
        if self.lies("E-02") {
            return Status::with_details(
                code,
                words,
                vec![8, u8::try_from(i32::from(code)).unwrap_or_default()].into(),
            );
        }
        Status::new(code, words)
    }
}

/// A call from when it has its objects until it is answered, or until its caller is gone.
#[derive(Debug)]
struct UnderWay {
    held: Held,
    forgotten: bool,
    /// Where a publication that nobody waited for cannot be undone at the first time.
    haunts: Option<Arc<Shared>>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(shared) = self.haunts.take() {
            let mut world = shared.world.lock().unwrap_or_else(PoisonError::into_inner);
            world.haunted.extend(self.held.names());
        }
        if self.forgotten {
            self.held.forget();
        }
    }
}

/// Implements a service from its rows: `[secret or open] method(Request) -> Answer, gate, changes, work;`
macro_rules! serve {
    ($name:literal: $service:path, $area:expr; $( [$secret:ident] $method:ident($request:ty) -> $answer:ty, $gate:literal, $changes:path, $work:path; )*) => {
        #[tonic::async_trait]
        impl $service for crate::call::Endpoint {
            $( async fn $method(&self, request: tonic::Request<$request>) -> Result<tonic::Response<$answer>, tonic::Status> {
                let row = crate::call::Row {
                    service: $name,
                    rpc: stringify!($method),
                    area: $area,
                    gate: $gate,
                    secrets: crate::call::serve!(@$secret $request),
                    changes: $changes,
                    work: $work,
                };
                self.serve(&row, request.get_ref()).await
            } )*
        }
    };
    (@secret $request:ty) => { |request: &$request| Some(&request.secrets) };
    (@open $request:ty) => { |_: &$request| None };
}
pub(crate) use serve;
