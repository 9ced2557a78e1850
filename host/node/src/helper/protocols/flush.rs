//! Having a server store what was written to its share, before the share is unmounted.
//!
//! Owns the program and what its end means. The kernel writes what was cached when the last mount of a file system goes,
//! and tells nobody how that went; another mount of the same export keeps the file system, and pages that a
//! workload had mapped stay unwritten until then.

use std::time::Duration;

use super::super::log_budget::say;
use super::super::system::programs::{self, Rights};
use crate::error::{ErrorCode, NodeError};

/// How long a server may take to have everything written that is to be written.
const LIMIT: Duration = Duration::from_secs(20);
/// What the program says of a share that its server has forgotten: nothing of it can be written any more.
const FORGOTTEN: &str = "Stale file handle";

/// Writes the share at a place back to its server. `busy`: it does not answer. An error of the server's is told once, as
/// the kernel does; the next call goes on without.
pub(in crate::helper) fn flush(place: &str) -> Result<(), NodeError> {
    let ended = programs::run_within("sync", &["--file-system", "--", place], LIMIT, Rights::Ours);
    match ended {
        Ok(outcome) if outcome.says(FORGOTTEN) => {
            say(&format!("the server of {place} does not know the share any more; what was not written to it is lost"));
            Ok(())
        }
        Ok(outcome) => outcome.expect_success(&[0]).map_err(|error| {
            let message = format!("what was written to {place} could not be stored on its server: {error}");
            NodeError::new(ErrorCode::Failed, message)
        }),
        Err(error) if error.code == ErrorCode::Limit => Err(silent(place)),
        Err(error) => Err(error),
    }
}

/// The answer while a server has something to store and does not answer.
pub(in crate::helper) fn silent(place: &str) -> NodeError {
    let message = format!(
        "the server of {place} does not answer, so what was written cannot be stored; it is tried again with the next \
         call. If the server is gone for good: umount --force {place}"
    );
    NodeError::new(ErrorCode::Busy, message)
}
