//! Looking which granted directories cannot be used now, for `status`. A directory whose server hangs holds one
//! thread and no asker; decides nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drivebay_files::Files;

/// How long an asker waits for directories to be opened.
const PATIENCE: Duration = Duration::from_secs(3);

/// Looks at the directories of one generation, one look at a time.
#[derive(Debug, Default)]
pub(super) struct DirectoryProbe(Arc<AtomicBool>);

impl DirectoryProbe {
    /// The guest paths of directories that cannot be used, each with the reason.
    pub(super) async fn absent(&self, files: &Files) -> Vec<(String, String)> {
        let all = || files.roots().iter().map(|root| (root.guest().to_owned(), "does not answer".to_owned())).collect();
        if self.0.swap(true, Ordering::AcqRel) {
            return all();
        }
        let (looking, looked) = (Arc::clone(&self.0), files.clone());
        let look = tokio::task::spawn_blocking(move || {
            let absent = looked.directories().absent();
            looking.store(false, Ordering::Release);
            absent
        });
        match tokio::time::timeout(PATIENCE, look).await {
            Ok(absent) => {
                let absent = absent.unwrap_or_default().into_iter();
                absent.map(|(guest, error)| (guest, error.to_string())).collect()
            }
            Err(_) => all(),
        }
    }
}
