//! Several calls at once on one object, and callers that give up.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tonic::{Request, Response, Status};

use super::walk::{Driver, entry, one_writer};
use crate::call::{Endpoint, Shared};
use crate::locks::Locks;
use crate::pb::csi::v1::controller_server::Controller as _;
use crate::pb::csi::v1::node_server::Node as _;
use crate::pb::csi::v1::*;
use crate::pb::replication::controller_server::Controller as _;
use crate::pb::volumegroup::controller_server::Controller as _;
use crate::world::World;

type Calls<T> = Vec<Pin<Box<dyn Future<Output = Result<Response<T>, Status>>>>>;

/// Starts all calls, then waits for each; what they are told, in order.
async fn at_once<T>(driver: &mut Driver, what: &str, mut calls: Calls<T>) {
    let mut answers: Vec<Option<Result<Response<T>, Status>>> = Vec::new();
    for call in &mut calls {
        answers.push(match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        });
    }
    for (call, answer) in calls.into_iter().zip(answers) {
        let answer = match answer {
            Some(answer) => answer,
            None => call.await,
        };
        driver.note(what, answer.map(|answer| answer.map(drop)));
    }
}

/// Starts a call and drops it; whether it was under way by then, and not refused at once.
fn given_up<F: Future>(call: F) -> bool {
    let mut call = Box::pin(call);
    call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

/// Five times the same call at once, one afterwards, one given up, and one after that.
macro_rules! crowd {
    ($driver:ident, $slow:ident.$method:ident, $request:expr) => {{
        let request = $request;
        let call = |endpoint: Endpoint| {
            let request = request.clone();
            Box::pin(async move { endpoint.$method(Request::new(request)).await }) as Pin<Box<dyn Future<Output = _>>>
        };
        at_once($driver, stringify!($method), (0..5).map(|_| call($slow.clone())).collect()).await;
        at_once($driver, stringify!($method), vec![call($slow.clone())]).await;
        let under_way = given_up(call($slow.clone()));
        $driver.told.push(format!("given up: {under_way}"));
        at_once($driver, stringify!($method), vec![call($slow.clone())]).await;
    }};
}

impl Driver {
    /// The same driver with a world of its own in which calls take their time.
    fn slow(&self) -> Endpoint {
        let shared = &self.first.shared;
        let world = World::new(2, shared.layout.existing.as_ref());
        let shared = Shared {
            world: world.into(),
            locks: Locks::default(),
            layout: shared.layout.clone(),
            lies: shared.lies,
            work: Duration::from_millis(1),
            stuck: std::sync::Mutex::default(),
        };
        Endpoint { shared: Arc::new(shared), ..self.first.clone() }
    }

    /// What is left of a publication that nobody waited for, once it is undone.
    async fn give_up_a_publication(&mut self, slow: &Endpoint) {
        let volume_context = entry("csi.storage.k8s.io/ephemeral", "true");
        let good = NodePublishVolumeRequest { volume_context, ..self.publish("lost", "lost", one_writer()) };
        let under_way = given_up(slow.node_publish_volume(Request::new(good.clone())));
        self.told.push(format!("given up: {under_way}"));
        let undo = NodeUnpublishVolumeRequest { volume_id: "lost".to_owned(), target_path: good.target_path.clone() };
        let answer = slow.node_unpublish_volume(Request::new(undo)).await;
        self.note("undone", answer);
        let answer = slow.node_publish_volume(Request::new(NodePublishVolumeRequest { readonly: true, ..good })).await;
        self.note("published otherwise", answer);
    }

    pub(super) async fn walk_crowds(&mut self) {
        let slow = self.slow();
        let different = (0..7).map(|number| self.volume(&format!("different-{number}")));
        let calls = different.map(|request| {
            let endpoint = slow.clone();
            Box::pin(async move { endpoint.create_volume(Request::new(request)).await })
                as Pin<Box<dyn Future<Output = _>>>
        });
        let calls: Calls<CreateVolumeResponse> = calls.collect();
        at_once(self, "different volumes", calls).await;
        crowd!(self, slow.create_volume, self.volume("crowded"));
        let ids: Vec<String> = slow.shared.world.lock().unwrap().site(0).volumes.keys().cloned().collect();
        let [one, two, ..] = ids.as_slice() else { return };
        let (volume_id, node_id, secrets) = (one.clone(), "liar-1".to_owned(), self.secrets());
        let volume_capability = Some(one_writer());
        let attach =
            ControllerPublishVolumeRequest { volume_id, node_id, volume_capability, secrets, ..Default::default() };
        crowd!(self, slow.controller_publish_volume, attach);
        let snapshot = CreateSnapshotRequest {
            source_volume_id: one.clone(),
            name: "crowded".to_owned(),
            secrets: self.secrets(),
            ..Default::default()
        };
        crowd!(self, slow.create_snapshot, snapshot);
        crowd!(self, slow.create_volume_group, self.group("crowded", &[]));
        crowd!(self, slow.node_publish_volume, self.publish("no-such-volume", "crowded", one_writer()));
        crowd!(self, slow.enable_volume_replication, self.enabling(one));
        crowd!(self, slow.enable_volume_replication, self.enabling(two));
        crowd!(self, slow.promote_volume, self.promoting(one));
        let promoting = ids.iter().take(5).map(|id| {
            let (endpoint, request) = (slow.clone(), self.promoting(id));
            Box::pin(async move { endpoint.promote_volume(Request::new(request)).await })
                as Pin<Box<dyn Future<Output = _>>>
        });
        let promoting: Calls<crate::pb::replication::PromoteVolumeResponse> = promoting.collect();
        at_once(self, "different sources", promoting).await;
        self.give_up_a_publication(&slow).await;
        let dead = DeleteVolumeRequest { volume_id: two.clone(), secrets: self.secrets() };
        crowd!(self, slow.delete_volume, dead);
    }
}
