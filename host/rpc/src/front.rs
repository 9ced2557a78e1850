//! A socket's view of a backend: which services it answers. Holds no state of its own.

use std::sync::Arc;

use tokio::time::Instant;
use tonic::{Code, Status};

use drivebay_backend::Backend;
use drivebay_contract::{Method, Side};
use drivebay_error::{Unsupported, status};

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    All,
    /// What runs on the controller's side, and identity.
    Controller,
    /// What runs on the node, and identity.
    Node,
}

/// A backend as one socket shows it.
#[derive(Debug, Clone)]
pub struct Front {
    pub(crate) backend: Arc<Backend>,
    pub(crate) role: Role,
}

impl Front {
    /// Shows `backend` in this role.
    pub const fn new(backend: Arc<Backend>, role: Role) -> Self {
        Self { backend, role }
    }

    /// Counts and times a call that is answered.
    pub(crate) fn answered<T>(&self, method: Method, answer: &Result<T, Status>, arrived: Instant) {
        let code = answer.as_ref().err().map_or(Code::Ok, Status::code);
        self.backend.answered(method, status::word(code), arrived.elapsed());
    }

    /// Whether this socket serves the method's service.
    pub(crate) fn serves(&self, method: Method) -> Result<(), Unsupported> {
        match (self.role, method.side()) {
            (Role::All, _) | (_, Side::Both) | (Role::Controller, Side::Controller) | (Role::Node, Side::Node) => {
                Ok(())
            }
            (Role::Controller, Side::Node) => Err(Unsupported::OtherSocket("node")),
            (Role::Node, Side::Controller) => Err(Unsupported::OtherSocket("controller")),
        }
    }
}
