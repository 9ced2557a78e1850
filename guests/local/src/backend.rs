//! One call's view of everything: host, disk and settings.
//!
//! It owns what all calls begin with (settings, secrets) and nothing that lasts: every call makes
//! its own. The work itself stands in the modules, as further methods.

use std::cell::{Cell, OnceCell};
use std::time::Duration;

use drivebay_sdk::Result;
use drivebay_sdk::types::StringMap;

use crate::disk::Disk;
use crate::host::Host;
use crate::settings::Settings;

/// What a call keeps back of its time, for the answer and for cleaning up.
const RESERVE: Duration = Duration::from_millis(1_500);

/// How long a call waits for a job before it writes down that the job lasts.
const LOOK: Duration = Duration::from_secs(1);

/// The backend during a call.
pub(crate) struct Backend<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) disk: &'a dyn Disk,
    pub(crate) settings: Settings,
    /// The pool's id once it is known: it cannot change during a call.
    pub(crate) pool: OnceCell<String>,
    /// Whether the call waits for the host's jobs as long as it can, or only has a look.
    pub(crate) patient: Cell<bool>,
}

impl<'a> Backend<'a> {
    /// Reads the settings. `invalid-argument`: they are wrong.
    pub(crate) fn open(host: &'a dyn Host, disk: &'a dyn Disk) -> Result<Self> {
        let settings = Settings::parse(&host.settings()?)?;
        Ok(Self { host, disk, settings, pool: OnceCell::new(), patient: Cell::new(true) })
    }

    /// Lets a request with secrets pass. `unauthenticated`: they are wrong.
    pub(crate) fn authorise(&self, secrets: &StringMap) -> Result<()> {
        self.settings.authorise(secrets)
    }

    /// As `authorise`, for calls whose secrets are so new to the protocol that clients do not send
    /// them yet: without any the call passes, wrong ones are wrong.
    pub(crate) fn authorise_if_given(&self, secrets: &StringMap) -> Result<()> {
        if secrets.is_empty() { Ok(()) } else { self.authorise(secrets) }
    }

    /// How long this call may wait for something, in milliseconds.
    pub(crate) fn patience(&self) -> u32 {
        let left = self.host.remaining().saturating_sub(RESERVE);
        let wait = if self.patient.get() { left } else { left.min(LOOK) };
        u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)
    }

    /// Whether the call has no time for another piece of work.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.host.remaining() <= RESERVE
    }
}
