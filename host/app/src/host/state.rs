//! Opening the state of a host, which another one may not have let go of yet.
//!
//! Owns how long that is waited for. A host that was killed can leave children for a moment: they were forked to run a program,
//! and until they run it, or die with their parent, they hold what it held. An operator who restarts a host at once must not be told
//! that another one is running.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use drivebay_state::{EmbeddedStores, OpenError};

/// How long the state may be in use before that is an error: far longer than a busy machine takes to begin a program, and short
/// for an operator who has started a second host by mistake.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens the stores in `directory`, waiting for one that has just been killed.
///
/// # Errors
/// As [`EmbeddedStores::open`]; `Locked` after three seconds only.
pub(super) async fn open(directory: &Path) -> Result<EmbeddedStores, OpenError> {
    while_locked(PATIENCE, || EmbeddedStores::open(directory)).await
}

async fn while_locked<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let begin = Instant::now();
    let mut told = false;
    loop {
        match attempt() {
            Err(OpenError::Locked { path }) if begin.elapsed() < patience => {
                if !told {
                    tracing::info!(path = %path.display(), "the state is in use; waiting a moment for its end");
                    told = true;
                }
                sleep(PAUSE).await;
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_that_is_let_go_meanwhile_is_opened() {
        let root = tempfile::tempdir().unwrap();
        let mut held = vec![EmbeddedStores::open(root.path()).unwrap()];
        let opened = while_locked(Duration::MAX, || {
            let attempt = EmbeddedStores::open(root.path());
            held.pop();
            attempt
        });
        drop(opened.await.unwrap());
    }

    #[tokio::test]
    async fn a_store_that_is_not_let_go_is_refused_in_the_end() {
        let root = tempfile::tempdir().unwrap();
        let _held = EmbeddedStores::open(root.path()).unwrap();
        let mut attempts = 0;
        let refused = while_locked(2 * PAUSE, || {
            attempts += 1;
            EmbeddedStores::open(root.path())
        });
        assert!(matches!(refused.await.unwrap_err(), OpenError::Locked { .. }));
        assert!(attempts > 1, "{attempts}");
    }
}
