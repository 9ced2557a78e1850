//! One replicated volume of a client: over to the other site and back, a call at a time. At no moment
//! are both sides primary, because nobody uses force.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tonic::{Code, Status};

use super::client::{Client, text};
use super::site::Site;

/// A volume that is replicated, and what comes next.
#[derive(Debug)]
pub struct Pair {
    /// Its name at its client.
    volume: String,
    next: Next,
    copy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Enable,
    Find,
    Watch,
    Leave,
    TakeOver,
    Enrol,
    Follow,
    LeaveThere,
    ComeBack,
    End,
    EndThere,
    Clear,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Here,
    There,
}

impl Pair {
    /// A volume that is not replicated yet.
    pub const fn of(volume: String) -> Self {
        Self { volume, next: Next::Enable, copy: String::new() }
    }

    /// Whether it is this volume that is replicated.
    pub fn holds(&self, volume: &str) -> bool {
        self.volume == volume && !matches!(self.next, Next::EndThere | Next::Clear)
    }

    /// Makes the next call. None: the volume is on its own again.
    pub async fn advance(mut self, client: &mut Client) -> Option<Self> {
        let terms = json!({ "parameters": { "schedulingInterval": "1h" } });
        self.next = match self.next {
            Next::Enable => self.done(client, At::Here, "EnableVolumeReplication", terms, Next::Find).await,
            Next::Find => self.find(client).await,
            Next::Watch => self.watch(client).await,
            Next::Leave if client.is_attached(&self.volume) => self.cannot_leave(client).await,
            Next::Leave => self.done(client, At::Here, "DemoteVolume", json!({}), Next::TakeOver).await,
            Next::TakeOver => self.promoted(client, At::There, Next::Enrol).await,
            Next::Enrol => self.done(client, At::There, "EnableVolumeReplication", terms, Next::Follow).await,
            Next::Follow => self.follow(client).await,
            Next::LeaveThere => self.done(client, At::There, "DemoteVolume", json!({}), Next::ComeBack).await,
            Next::ComeBack => self.promoted(client, At::Here, Next::End).await,
            Next::End => self.ended(client, At::Here, Next::EndThere).await,
            Next::EndThere => self.ended(client, At::There, Next::Clear).await,
            Next::Clear => {
                let site = Arc::clone(&client.b);
                let request = json!({ "volumeId": self.copy });
                client.call(&site, "csi.v1.Controller/DeleteVolume", request).await.unwrap();
                assert!(site.array.object("volume", &self.copy).await.is_null(), "the copy is still there");
                return None;
            }
        };
        Some(self)
    }

    fn site(client: &Client, at: At) -> Arc<Site> {
        Arc::clone(if at == At::Here { &client.a } else { &client.b })
    }

    fn id<'a>(&'a self, client: &'a Client, at: At) -> &'a str {
        if at == At::Here { &client.volumes[&self.volume].id } else { &self.copy }
    }

    async fn call(&self, client: &mut Client, at: At, name: &str, mut request: Json) -> Result<Json, Status> {
        request["replicationSource"] = json!({ "volume": { "volumeId": self.id(client, at) } });
        let site = Self::site(client, at);
        client.call(&site, &format!("replication.Controller/{name}"), request).await
    }

    /// A call that must succeed.
    async fn done(&self, client: &mut Client, at: At, name: &str, request: Json, next: Next) -> Next {
        let answer = self.call(client, at, name, request).await;
        answer.unwrap_or_else(|status| panic!("{name} of {} {at:?}: {status:?}", self.volume));
        let expected = match name {
            "DemoteVolume" => "secondary",
            _ => "primary",
        };
        assert_eq!(self.role(client, at).await, expected, "{name} of {} {at:?}", self.volume);
        next
    }

    async fn role(&self, client: &Client, at: At) -> String {
        let all = Self::site(client, at).array.objects("replication").await;
        let own = all.iter().find(|it| it["source"] == self.id(client, at));
        own.map_or_else(String::new, |own| text(&own["role"]))
    }

    async fn find(&mut self, client: &mut Client) -> Next {
        let told = self.call(client, At::Here, "GetReplicationDestinationInfo", json!({})).await.unwrap();
        self.copy = text(&told["replicationDestination"]["volume"]["volumeId"]);
        assert!(!client.b.array.object("volume", &self.copy).await.is_null(), "there is no copy {}", self.copy);
        Next::Watch
    }

    async fn watch(&self, client: &mut Client) -> Next {
        match self.call(client, At::Here, "GetVolumeReplicationInfo", json!({})).await {
            Ok(told) => {
                assert!(told["lastSyncTime"].is_string(), "{told}");
                let mark = client.b.array.objects("replication").await;
                let copy = mark.iter().find(|it| it["source"] == self.copy).expect("the copy is known");
                assert_ne!(copy["contents"], "awaited", "a transfer is told of that is not there");
                Next::Leave
            }
            Err(status) if status.code() == Code::NotFound => Next::Watch,
            Err(status) => panic!("{}: {status:?}", self.volume),
        }
    }

    /// What a node uses stays primary.
    async fn cannot_leave(&self, client: &mut Client) -> Next {
        let refused = self.call(client, At::Here, "DemoteVolume", json!({})).await.expect_err("a node has it");
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
        assert_eq!(self.role(client, At::Here).await, "primary", "{}", self.volume);
        client.detach(&self.volume).await;
        Next::Leave
    }

    async fn promoted(&self, client: &mut Client, at: At, next: Next) -> Next {
        match self.call(client, at, "PromoteVolume", json!({})).await {
            Ok(_) => {
                let other = if at == At::Here { At::There } else { At::Here };
                assert_eq!(self.role(client, at).await, "primary", "{} {at:?}", self.volume);
                assert_eq!(self.role(client, other).await, "secondary", "{} {other:?}", self.volume);
                next
            }
            // The arrays do not see each other, and force would be right; a caller that does not want it waits.
            Err(status) if status.code() == Code::FailedPrecondition => self.next,
            Err(status) => panic!("{} {at:?}: {status:?}", self.volume),
        }
    }

    async fn follow(&self, client: &mut Client) -> Next {
        let told = self.call(client, At::Here, "ResyncVolume", json!({})).await.unwrap();
        if told["ready"] != true {
            return Next::Follow;
        }
        let own = client.a.array.objects("replication").await;
        let own = own.iter().find(|it| it["source"] == self.id(client, At::Here)).expect("it is known");
        assert_eq!((&own["contents"], &own["role"]), (&json!("marked"), &json!("secondary")), "ready, and it is not");
        Next::LeaveThere
    }

    async fn ended(&self, client: &mut Client, at: At, next: Next) -> Next {
        self.call(client, at, "DisableVolumeReplication", json!({})).await.unwrap();
        assert_eq!(self.role(client, at).await, "", "{} {at:?}", self.volume);
        next
    }
}
