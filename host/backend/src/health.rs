//! How a backend feels, as last seen: what Probe answers, and whether calls are let in. Holds what
//! others find out; finds out nothing itself.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Notify;

use drivebay_error::NotReady;
use drivebay_observe::{GuestLog, Topic};

/// How a backend feels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Not loaded yet, or the component cannot be loaded for this reason.
    NotLoaded(String),
    /// Loaded; recovery after the start is not over, for this reason.
    Recovering(String),
    /// Recovered; not probed well yet.
    Starting,
    /// The last probe was good.
    Ready,
    /// The last probe was not.
    Unhealthy(String),
}

impl Readiness {
    /// The reason, if it has one.
    fn words(&self) -> &str {
        match self {
            Self::NotLoaded(words) | Self::Recovering(words) | Self::Unhealthy(words) => words,
            Self::Starting | Self::Ready => "",
        }
    }
}

/// The health of one backend.
#[derive(Debug)]
pub struct Health {
    readiness: RwLock<Readiness>,
    probe: Notify,
    background: Notify,
    log: Arc<GuestLog>,
}

impl Health {
    pub(super) fn new(log: Arc<GuestLog>) -> Self {
        let readiness = RwLock::new(Readiness::NotLoaded("it is being loaded".to_owned()));
        Self { readiness, probe: Notify::new(), background: Notify::new(), log }
    }

    /// As last seen.
    pub fn readiness(&self) -> Readiness {
        self.readiness.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What Probe answers (D8: never an error; a sidecar would exit).
    pub fn is_ready(&self) -> bool {
        *self.readiness.read().unwrap_or_else(PoisonError::into_inner) == Readiness::Ready
    }

    pub(super) fn set(&self, readiness: Readiness) {
        let mut now = self.readiness.write().unwrap_or_else(PoisonError::into_inner);
        if *now != readiness {
            if self.log.admits(Topic::Events, now.words().len() + readiness.words().len()) {
                tracing::info!(from = ?*now, to = ?readiness, "health changed");
            }
            *now = readiness;
        }
    }

    /// Whether calls are let in: an unhealthy backend gets them, because it knows best what it
    /// still can do.
    pub(super) fn admits_calls(&self) -> Result<(), NotReady> {
        match &*self.readiness.read().unwrap_or_else(PoisonError::into_inner) {
            Readiness::NotLoaded(why) => Err(NotReady::NotLoaded(why.clone())),
            Readiness::Recovering(why) => Err(NotReady::Recovering(why.clone())),
            Readiness::Starting | Readiness::Ready | Readiness::Unhealthy(_) => Ok(()),
        }
    }

    /// Asks for a probe now, because a call ended in a trap or a timeout.
    pub fn doubt(&self) {
        self.probe.notify_one();
    }

    pub(super) async fn doubted(&self) {
        self.probe.notified().await;
    }

    pub(super) fn nudge_background(&self) {
        self.background.notify_one();
    }

    pub(super) async fn background_nudged(&self) {
        self.background.notified().await;
    }
}
