//! The host's own calls into a component: who it is, how it feels, what is due, what to recover.
//! Clients never cause them directly; everything a client causes goes through the bridge.

use wasmtime::Store;
use wasmtime::component::Instance;

use super::answer::{Answer, own_call};
use super::asked::AskedExports;
use super::fault::Fault;
use super::instance::{Live, Program};
use super::store::HostState;
use drivebay_contract::bindings::drivebay::backend::types::Instant as WitInstant;
use drivebay_contract::bindings::exports::drivebay::backend::background::{self, DueWorks, Step};
use drivebay_contract::bindings::exports::drivebay::backend::identity::{self, Description, Readiness};
use drivebay_contract::bindings::exports::drivebay::backend::node::{self, NodeDescription};
use drivebay_contract::bindings::exports::drivebay::backend::{recovery, self_test};

/// The exports that the host itself calls.
pub struct OwnExports {
    identity: identity::GuestIndices,
    node: Option<node::GuestIndices>,
    background: Option<background::GuestIndices>,
    recovery: Option<recovery::GuestIndices>,
    self_test: Option<self_test::GuestIndices>,
    /// Those that come before a client's call.
    pub asked: AskedExports,
}

impl std::fmt::Debug for OwnExports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnExports")
    }
}

impl OwnExports {
    /// Finds them.
    ///
    /// # Errors
    /// The component does not export `identity`, and so is no backend.
    pub fn find(program: &Program) -> wasmtime::Result<Self> {
        let pre = program.pre();
        Ok(Self {
            identity: identity::GuestIndices::new(pre)?,
            node: node::GuestIndices::new(pre).ok(),
            background: background::GuestIndices::new(pre).ok(),
            recovery: recovery::GuestIndices::new(pre).ok(),
            self_test: self_test::GuestIndices::new(pre).ok(),
            asked: AskedExports::find(program),
        })
    }

    /// Whether there is background work to ask for.
    pub const fn has_background(&self) -> bool {
        self.background.is_some()
    }

    /// Whether there is something to do after a start.
    pub const fn has_recovery(&self) -> bool {
        self.recovery.is_some()
    }

    /// `identity.describe`.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn describe(&self, live: &mut Live) -> Result<Answer<Description>, Fault> {
        own_call!(live, &self.identity, Identity "describe", call_describe())
    }

    /// `identity.probe`.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn probe(&self, live: &mut Live) -> Result<Answer<Readiness>, Fault> {
        own_call!(live, &self.identity, Identity "probe", call_probe())
    }

    /// `node.get-node`; none: the backend has no node side.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn get_node(&self, live: &mut Live) -> Result<Option<Answer<NodeDescription>>, Fault> {
        let Some(indices) = &self.node else { return Ok(None) };
        own_call!(live, indices, Node "get-node", call_get_node()).map(Some)
    }

    /// `background.list-due`; none: there is no background work.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn list_due(&self, live: &mut Live, now: WitInstant) -> Result<Option<Answer<DueWorks>>, Fault> {
        let Some(indices) = &self.background else { return Ok(None) };
        own_call!(live, indices, Background "list-due", call_list_due(now)).map(Some)
    }

    /// `background.run-step`; none: there is no background work.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn run_step(&self, live: &mut Live, id: &str) -> Result<Option<Answer<Step>>, Fault> {
        let Some(indices) = &self.background else { return Ok(None) };
        own_call!(live, indices, Background "run-step", call_run_step(id)).map(Some)
    }

    /// `recovery.recover`; none: nothing to recover.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn recover(&self, live: &mut Live) -> Result<Option<Answer<()>>, Fault> {
        let Some(indices) = &self.recovery else { return Ok(None) };
        own_call!(live, indices, Recovery "recover", call_recover()).map(Some)
    }

    /// `self-test.run-self-test`; none: there is none.
    ///
    /// # Errors
    /// The fault that ended the guest.
    pub async fn self_test(&self, live: &mut Live) -> Result<Option<Answer<()>>, Fault> {
        let Some(indices) = &self.self_test else { return Ok(None) };
        own_call!(live, indices, SelfTest "run-self-test", call_run_self_test()).map(Some)
    }
}
