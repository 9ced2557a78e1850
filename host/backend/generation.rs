//! One loaded version of a backend: code, settings, grants and limits together, ready to serve.
//! Hands out instances by the operator's policy; decides nothing about calls.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::facts::Facts;
use crate::config::InstancePolicy;
use crate::sandbox::context::CallContext;
use crate::sandbox::fault::Fault;
use crate::sandbox::instance::{Live, Program};
use crate::sandbox::own::OwnExports;
use crate::sandbox::store::Surroundings;
use crate::wire::Exports;

/// A generation. A lease on it keeps it alive, so calls under way end on the code they began on.
pub struct Generation {
    /// SHA-256 of the component, in hexadecimal.
    pub digest: String,
    /// What it says of itself.
    pub facts: Facts,
    /// What the bridge calls.
    pub exports: Exports,
    /// What the host calls.
    pub own: OwnExports,
    /// What its instances share.
    pub around: Arc<Surroundings>,
    program: Program,
    policy: InstancePolicy,
    idle: Mutex<Vec<Live>>,
}

impl fmt::Debug for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generation").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// The parts of a generation.
pub(super) struct Parts {
    pub digest: String,
    pub facts: Facts,
    pub exports: Exports,
    pub own: OwnExports,
    pub around: Arc<Surroundings>,
    pub program: Program,
    pub policy: InstancePolicy,
}

impl Generation {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            digest: parts.digest,
            facts: parts.facts,
            exports: parts.exports,
            own: parts.own,
            around: parts.around,
            program: parts.program,
            policy: parts.policy,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// An instance for a call: a used one that the policy still allows, or a new one.
    ///
    /// # Errors
    /// The fault that ended the instance while it was made; `Pool` when there is no room.
    pub async fn enter(&self, call: &Arc<CallContext>) -> Result<Live, Fault> {
        match self.take_idle() {
            Some(mut live) => {
                live.begin(call);
                Ok(live)
            }
            None => self.program.instantiate(&self.around, call).await,
        }
    }

    /// Gives an instance back after a call that it served without a fault.
    pub fn leave(&self, mut live: Live) {
        let InstancePolicy::Reuse { calls, .. } = self.policy else { return };
        live.uses += 1;
        if live.uses < calls {
            live.idle_since = Instant::now();
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(live);
        }
    }

    fn take_idle(&self) -> Option<Live> {
        let InstancePolicy::Reuse { idle, .. } = self.policy else { return None };
        let now = Instant::now();
        let mut pool = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // The last one given back is the warmest; the first ones are the oldest.
        pool.retain(|live| now.saturating_duration_since(live.idle_since) < idle);
        pool.pop()
    }
}
