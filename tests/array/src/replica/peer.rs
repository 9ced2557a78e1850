//! The other array, as this one reaches it.
//!
//! It owns the connection and the secret of the link. A partition on demand begins here: then the
//! other array cannot be reached, as if the cable were out.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::array::Array;
use crate::client::{Call, Client};
use crate::faults::Kind;
use crate::refusal::{Code, Refusal, Result, refuse};

/// How long the other array may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The other array.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    url: String,
    ca: PathBuf,
    client: Arc<Mutex<Option<Client>>>,
}

impl Peer {
    /// At this address, under this CA.
    pub(crate) fn new(url: String, ca: PathBuf) -> Self {
        Self { url, ca, client: Arc::default() }
    }

    fn client(&self) -> anyhow::Result<Client> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*kept {
            return Ok(client.clone());
        }
        let client = Client::new(&self.url, &std::fs::read_to_string(&self.ca)?, None)?;
        Ok(kept.insert(client).clone())
    }
}

impl Array {
    /// Asks the other array. `peer-unreachable`: it does not answer.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, method: &str, path: &str, body: Bytes) -> Result<T> {
        let silent = |why: String| Refusal::new(Code::PeerUnreachable, format!("the other array is silent: {why}"));
        let peer = self.peer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(peer) = peer else {
            return refuse(Code::PeerUnreachable, "this array has no other array to replicate to");
        };
        if self.faults.is_on(Kind::Partition) {
            return Err(silent("partition".to_owned()));
        }
        let client = peer.client().map_err(|error| silent(error.to_string()))?;
        let secret = self.options.link_secret.clone().unwrap_or_default();
        let headers = vec![("authorization", format!("Bearer {secret}"))];
        let call = Call { method, path, headers, body, patience: PATIENCE };
        let reply = client.send(&call).await.map_err(|error| {
            // Its certificate may have changed with its folder.
            *peer.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
            silent(error.to_string())
        })?;
        if reply.status.is_success() {
            let body = if reply.body.is_empty() { Bytes::from_static(b"null") } else { reply.body };
            return serde_json::from_slice(&body).map_err(|error| silent(error.to_string()));
        }
        match serde_json::from_slice::<Refusal>(&reply.body) {
            Ok(refusal) if refusal.code != Code::Internal => Err(refusal),
            _ => Err(silent(reply.status.to_string())),
        }
    }
}
