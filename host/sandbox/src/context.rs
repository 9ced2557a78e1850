//! One call as the sandbox sees it: its id, its limits in time, its secrets, the paths it may work
//! on, and the host operations it has started. Owns no locks and no reply.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use drivebay_admission::Guard;
use drivebay_files::Files;
use drivebay_node::{CallPath, Caller, ErrorCode, Node, NodeError};
use drivebay_observe::Secrets;
use drivebay_policy::limits::CallKind;

/// A call under way. Shared by the guest's imports and by the task that waits for the call's end.
#[derive(Debug)]
pub struct CallContext {
    /// The id that log and client see.
    pub id: String,
    /// The operation, for example `NodeStageVolume`.
    pub operation: &'static str,
    /// What kind of call it is.
    pub duty: CallKind,
    /// Values that no log line may show.
    pub secrets: Secrets,
    /// Volumes that the request names: the only ones that node work may begin with.
    pub volumes: Vec<String>,
    /// Host paths of the request: the only ones that node work may touch.
    pub paths: Vec<CallPath>,
    /// When the instance is ended.
    pub ends: Instant,
    /// Locks that jobs of a background step keep beyond the step.
    pub shared: Option<Arc<Guard>>,
    operations: TaskTracker,
    files: OnceLock<Files>,
    node: OnceLock<Node>,
    node_lost: AtomicBool,
}

impl CallContext {
    /// A call that may take `wall` from now on.
    pub fn new(id: String, operation: &'static str, duty: CallKind, wall: Duration) -> Self {
        Self {
            id,
            operation,
            duty,
            secrets: Secrets::default(),
            volumes: Vec::new(),
            paths: Vec::new(),
            ends: Instant::now() + wall,
            shared: None,
            operations: TaskTracker::new(),
            files: OnceLock::new(),
            node: OnceLock::new(),
            node_lost: AtomicBool::new(false),
        }
    }

    /// The same step with the locks that its jobs keep.
    #[must_use]
    pub fn sharing(mut self, locks: Arc<Guard>) -> Self {
        self.shared = Some(locks);
        self
    }

    /// The same call with its secrets and paths.
    #[must_use]
    pub fn with(mut self, secrets: Secrets, paths: Vec<CallPath>) -> Self {
        self.secrets = secrets;
        self.paths = paths;
        self
    }

    /// The same call, about these volumes.
    #[must_use]
    pub fn about(mut self, volumes: Vec<String>) -> Self {
        self.volumes = volumes;
        self
    }

    /// On whose behalf node work for this call is done.
    pub fn caller(&self, backend: &str) -> Caller {
        let (volumes, paths) = (self.volumes.clone(), self.paths.clone());
        Caller { backend: backend.to_owned(), call: self.id.clone(), volumes, paths }
    }

    /// The helper for this call: the one that was there when the call first needed it, and no other.
    pub fn node(&self, node: &Node) -> &Node {
        self.node.get_or_init(|| node.pinned())
    }

    /// Takes note of how node work ended: once the helper is gone, nobody knows what became of the call.
    pub fn note(&self, error: &NodeError) {
        if error.code == ErrorCode::Gone {
            self.node_lost.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the helper went while it worked for this call.
    pub fn has_lost_node(&self) -> bool {
        self.node_lost.load(Ordering::Relaxed)
    }

    /// What is left of the wall time.
    pub fn remaining(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    /// Runs a host operation for the guest. It goes on when the guest is ended meanwhile, and the
    /// call's locks are kept until it is over (`settled`).
    ///
    /// # Errors
    /// When the operation panicked.
    pub async fn operation<F>(&self, work: F) -> wasmtime::Result<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(self.operations.spawn(work).await?)
    }

    /// Starts a host operation that the guest may stop to wait for; it goes on as one of `operation` does.
    pub fn begin<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.operations.spawn(work)
    }

    /// From now on the call's end waits for the jobs that it has started, too.
    pub fn track_jobs(&self, files: &Files) {
        // Set once; the files of a call never change.
        let _ = self.files.set(files.clone());
    }

    /// Whether no host operation of the call is under way.
    pub fn is_settled(&self) -> bool {
        self.operations.is_empty() && self.files.get().is_none_or(|files| !files.has_jobs_of(&self.id))
    }

    /// Resolves when every host operation of the call has ended. To be asked when the guest is
    /// gone and can start no more.
    pub async fn settled(&self) {
        if !self.operations.is_empty() {
            self.operations.close();
            self.operations.wait().await;
        }
        if let Some(files) = self.files.get() {
            files.jobs_ended(&self.id).await;
        }
    }
}
