//! What all instances of one generation share and find around them. Plain data: made by the loader of a component, read
//! by the imports.

use std::sync::Arc;

use tokio::sync::Notify;

use super::boundary::Boundary;
use super::lane::Lane;
use super::limiter::MemoryInUse;
use drivebay_egress::Egress;
use drivebay_files::Files;
pub use drivebay_files::View;
use drivebay_node::Node;
use drivebay_observe::GuestLog;
use drivebay_policy::limits::Limits;
use drivebay_recording::Switch;
use drivebay_state::Namespace;

/// What one generation's instances share.
#[derive(Debug)]
pub struct Surroundings {
    /// The operator's name of the backend.
    pub backend: String,
    /// Their log; the backend's, shared by all its generations.
    pub log: Arc<GuestLog>,
    /// `wasi:config`.
    pub settings: Vec<(String, String)>,
    /// `drivebay:host/state`, perhaps read-only.
    pub state: Namespace,
    /// `wasi:filesystem` and `drivebay:host/files`.
    pub files: Files,
    /// `wasi:http/outgoing-handler`.
    pub egress: Arc<Egress>,
    /// `drivebay:host/mounts`; none: not granted.
    pub node: Option<Node>,
    /// Where its guests wait and compute for long; the backend's, shared by all its generations.
    pub lane: Arc<Lane>,
    /// What its instances hold; the backend's as well.
    pub memory: MemoryInUse,
    /// Names this host among those that share storage.
    pub host_id: String,
    /// The operator's name for this node.
    pub node_id: Option<String>,
    /// What an instance may use.
    pub limits: Limits,
    /// What may be changed.
    pub view: View,
    /// The world that they find; none: the real one.
    pub boundary: Option<Arc<dyn Boundary>>,
    /// Where it shows whether they are recorded; the backend's, shared by all its generations.
    pub recording: Arc<Switch>,
    /// Ends all guests that are running when it is told to (`notify_waiters`).
    pub ending: Notify,
}
