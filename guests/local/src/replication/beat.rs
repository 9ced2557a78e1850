//! The heartbeat: a sign to the other site, a look at its sign, and at what it has begun.
//!
//! It has no objects, so no long step ever delays it.

use drivebay_sdk::Result;

use crate::backend::Backend;

impl Backend<'_> {
    /// `run-step` of the heartbeat.
    pub(super) fn beat_once(&self) -> Result<()> {
        if !self.is_writer()? {
            self.open_index()?;
        }
        self.restore_agenda()?;
        self.beat()?;
        self.adopt_all()
    }
}
