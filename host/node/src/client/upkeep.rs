//! The host's own requests as methods: permissions, the end of calls, publications, recovery.
//!
//! Backends cannot reach these. Owns nothing, as [`super::calls`], and must not keep anything.

use super::node::Node;
use super::requests::{nobody, unexpected};
use crate::error::NodeError;
use crate::permissions::Permissions;
use crate::protocol::{Answer, Caller, Load, Operation, Publication, RecoveryReport};

impl Node {
    /// Has the helper read the operator's configuration again if it allows a backend something else than these by
    /// now. What it then allows is what stands there, whatever is wanted here.
    ///
    /// # Errors
    /// `not-granted` if nothing of the backend stands there; `not-allowed` if this host could have written it.
    pub async fn permit(&self, backend: &str, wanted: &Permissions) -> Result<(), NodeError> {
        if self.permits(backend, wanted) {
            return Ok(());
        }
        let answer = self.ask(&nobody(backend), Operation::Reread).await?;
        let Answer::Permitted(permissions) = answer else { return Err(unexpected(&answer)) };
        self.note(backend, permissions);
        Ok(())
    }

    /// The call is about to be answered with success; durable when it returns.
    pub async fn acknowledge(&self, caller: &Caller, publication: Option<Publication>) -> Result<(), NodeError> {
        self.done(caller, Operation::Acknowledge { publication }).await
    }

    /// The call failed: undoes what it made.
    pub async fn abandon(&self, caller: &Caller) -> Result<(), NodeError> {
        self.done(caller, Operation::Abandon).await
    }

    /// Strikes the publication at a path; success when there is none.
    pub async fn forget(&self, caller: &Caller, volume: &str, path: &str) -> Result<(), NodeError> {
        let (volume, path) = (volume.to_owned(), path.to_owned());
        self.done(caller, Operation::Forget { volume, path }).await
    }

    /// The stages and publishes of a backend. Of one volume: after comparing with the mount table,
    /// so that what somebody unmounted by hand is not among them.
    pub async fn publications(&self, backend: &str, volume: Option<&str>) -> Result<Vec<Publication>, NodeError> {
        let operation = Operation::Publications { volume: volume.map(str::to_owned) };
        let answer = self.ask(&nobody(backend), operation).await?;
        if let Answer::Publications(publications) = answer { Ok(publications) } else { Err(unexpected(&answer)) }
    }

    /// Undoes what earlier runs left unacknowledged; to be called once per start, before calls.
    pub async fn recover(&self) -> Result<RecoveryReport, NodeError> {
        let answer = self.ask(&nobody(""), Operation::Recover).await?;
        if let Answer::Recovered(report) = answer { Ok(report) } else { Err(unexpected(&answer)) }
    }

    /// How much the helper holds.
    pub async fn load(&self) -> Result<Load, NodeError> {
        let answer = self.ask(&nobody(""), Operation::Load).await?;
        if let Answer::Load(load) = answer { Ok(load) } else { Err(unexpected(&answer)) }
    }
}
