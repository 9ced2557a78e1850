//! What a driver hears, and the way to say it. Owns the messages; what they bring about is the driver's.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::Generation;
use crate::gate::{Refusal, RefusalId};
use crate::lifecycle::{Force, Input, Intake, Number, Rollout};
use drivebay_policy::BackendConfig;

/// What the operator can ask of a running backend.
#[derive(Debug)]
pub enum Command {
    /// Load what is there now.
    Reload {
        /// From this file from now on; none: from the configured one.
        component: Option<PathBuf>,
        /// Whether the operator insists.
        force: Force,
        /// What comes before it serves all calls.
        manner: Rollout,
        /// Whether the answer is the outcome, or only that it was begun.
        wait: Wait,
    },
    /// Go back to the generation before.
    Rollback(Force),
    /// Allow this digest alone, in hexadecimal; none: any.
    Pin(Option<String>),
    /// Take no more calls.
    Close(Intake),
}

/// Whether a command waits for what it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// For the outcome.
    Outcome,
    /// For nothing.
    Nothing,
}

pub(super) type Reply = oneshot::Sender<Result<String, Refusal>>;

/// What a driver hears.
#[derive(Debug)]
pub(super) enum Message {
    /// The file that this turn of watching is about came to rest with this digest.
    AtRest(u64, String),
    /// The same of its signature.
    Signed(u64),
    /// The operator changed the configuration.
    Configured(Box<BackendConfig>),
    Command(Command, Reply),
    /// Staging ended.
    Staged(Number, Result<Arc<Generation>, Refusal>),
    /// Something that the driver began has ended.
    Ended(Input),
}

/// The way to a backend's driver.
#[derive(Debug, Clone)]
pub struct Control(pub(super) mpsc::UnboundedSender<Message>);

impl Control {
    /// Asks for something and waits for the answer.
    ///
    /// # Errors
    /// The refusal.
    pub async fn ask(&self, command: Command) -> Result<String, Refusal> {
        let (reply, answer) = oneshot::channel();
        let gone = || Refusal::new(RefusalId::Host, "the backend is being shut down");
        self.0.send(Message::Command(command, reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Tells what the operator wants from now on.
    pub fn configure(&self, config: BackendConfig) {
        // The driver is gone only when the host shuts down.
        let _ = self.0.send(Message::Configured(Box::new(config)));
    }
}
