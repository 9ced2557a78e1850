//! What of a host's node work is still there, for whoever is about to remove its state directory.
//!
//! Owns the reading of a ledger whose helper may be running or not. It must not change anything.

use std::path::Path;

use super::journal::Journal;
use super::ledger::{Entry, Ledger};
use crate::error::{ErrorCode, NodeError};
use crate::ledger_directory;

/// What the ledger in a state directory holds since the machine was started, in words: where it is mounted, or the device.
///
/// # Errors
/// When the ledger cannot be read.
pub fn still_there(state_dir: &Path) -> Result<Vec<String>, NodeError> {
    let unread = |error: &dyn std::error::Error| NodeError::new(ErrorCode::Failed, error.to_string());
    let peeked = Journal::peek(&state_dir.join(ledger_directory::NAME)).map_err(|error| unread(&error))?;
    let Some((header, records)) = peeked else { return Ok(Vec::new()) };
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(|error| unread(&error))?;
    if header.boot != boot.trim() {
        return Ok(Vec::new());
    }
    let mut ledger = Ledger::default();
    for record in &records {
        ledger.apply(record);
    }
    let words =
        |entry: &Entry| if entry.place.is_empty() { format!("/dev/{}", entry.path) } else { entry.place.clone() };
    Ok(ledger.entries().map(words).collect())
}
