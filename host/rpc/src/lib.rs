//! The RPCs: what each one locks, how its failures are read, what of the node's ledger it concerns.
//! One row an RPC; the order of steps that all of them go through is `pipeline.rs`.

mod controller;
mod enter;
mod facts;
mod fence;
mod front;
mod group_controller;
mod identity;
mod inquiry;
mod key_rotation;
mod ledger;
mod node;
mod pipeline;
mod premise;
mod reclaim_space;
mod removal;
mod replication;
mod shadow;
mod snapshot_metadata;
mod table;
mod volume_group;

pub use drivebay_backend::SocketState;
pub use front::{Front, Role};

use std::time::Duration;

use drivebay_admission::LockSet;
use drivebay_contract::check::Check;
use drivebay_contract::{Call, Effect};
use drivebay_node::CallPath;
use drivebay_proto::Secrets;

/// How long a call waits for a background step that holds its objects.
const STEP_PATIENCE: Duration = Duration::from_millis(500);

/// What an RPC does to the node's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LedgerUse {
    /// Nothing.
    None,
    /// It puts a volume at a path.
    Put(ledger::Placement),
    /// It takes a volume away from a path.
    Remove {
        /// The volume.
        volume: String,
        /// Where it is.
        path: String,
    },
}

/// A row: one RPC that enters a guest.
pub(crate) trait Rpc:
    Call<Answer: Send + 'static> + Check + Secrets + premise::Premise + Clone + Send + Sync + 'static
{
    /// What it does.
    const EFFECT: Effect = Self::METHOD.effect();

    /// The request as today's clients phrase it.
    #[must_use]
    fn folded(self) -> Self {
        self
    }

    /// What it locks, from the request alone.
    fn locks(&self) -> LockSet;

    /// The objects that it is about: calls on them must always reach the same generation.
    fn about(&self) -> LockSet {
        self.locks()
    }

    /// The objects that it has made.
    fn makes(_answer: &<Self as Call>::Answer) -> LockSet {
        LockSet::none()
    }

    /// The host paths that the request names, and what each is for. Node work for this call may touch those of
    /// them whose form the checks allow, and no others.
    fn host_paths(&self) -> Vec<CallPath> {
        Vec::new()
    }

    /// The answer when the ledger says that all is done already; none: only the guest can tell.
    fn done() -> Option<<Self as Call>::Answer> {
        None
    }

    /// What it means for the ledger.
    fn ledger(&self) -> LedgerUse {
        LedgerUse::None
    }
}
