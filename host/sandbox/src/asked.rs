//! What the host asks in the instance of a client's call: who is in which group, and what state a
//! source of replication is in. It changes nothing and decides nothing. A room of its own beside
//! `own`: those calls stand alone, these only ever come before another.

use wasmtime::Store;
use wasmtime::component::Instance;

use super::answer::{Answer, own_call};
use super::fault::Fault;
use super::instance::{Live, Program};
use super::store::HostState;
use drivebay_contract::bindings::drivebay::backend::types::ReplicationSource;
use drivebay_contract::bindings::exports::drivebay::backend::replication::{self, SourceState};
use drivebay_contract::bindings::exports::drivebay::backend::volume_groups;

/// The exports that tell of objects.
pub struct AskedExports {
    groups: Option<volume_groups::GuestIndices>,
    replication: Option<replication::GuestIndices>,
}

impl std::fmt::Debug for AskedExports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AskedExports")
    }
}

impl AskedExports {
    /// Finds them. A component without groups or replication has nothing to tell.
    pub fn find(program: &Program) -> Self {
        let pre = program.pre();
        Self {
            groups: volume_groups::GuestIndices::new(pre).ok(),
            replication: replication::GuestIndices::new(pre).ok(),
        }
    }

    /// `volume-groups.members`; none: there are no groups.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn members(&self, live: &mut Live, group: &str) -> Result<Option<Answer<Vec<String>>>, Fault> {
        let Some(indices) = &self.groups else { return Ok(None) };
        own_call!(live, indices, VolumeGroups "members", call_members(group)).map(Some)
    }

    /// `volume-groups.groups-of`; none: there are no groups.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn groups_of(&self, live: &mut Live, volume: &str) -> Result<Option<Answer<Vec<String>>>, Fault> {
        let Some(indices) = &self.groups else { return Ok(None) };
        own_call!(live, indices, VolumeGroups "groups-of", call_groups_of(volume)).map(Some)
    }

    /// `replication.state-of`; none: nothing is replicated.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn state_of(
        &self,
        live: &mut Live,
        source: &ReplicationSource,
    ) -> Result<Option<Answer<SourceState>>, Fault> {
        let Some(indices) = &self.replication else { return Ok(None) };
        own_call!(live, indices, Replication "state-of", call_state_of(source)).map(Some)
    }
}
