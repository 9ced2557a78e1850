//! One call at a time changes a group.
//!
//! The host does not know which group a new volume will join, so its locks do not cover this. A short lease in the
//! state does; it expires when its holder dies.

use std::time::Duration;

use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::{self, Moment};

use crate::backend::Backend;

/// How long a change of a group may take, in seconds; it takes milliseconds.
const LONGEST: i64 = 5;

/// How long to wait for another call before looking again.
const WAIT: Duration = Duration::from_millis(20);

/// How often to look.
const ATTEMPTS: u32 = 100;

impl Backend<'_> {
    /// Does `work` while no other call changes this group. `aborted`: others are at it.
    pub(super) fn in_turn<T>(&self, group: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let key = format!("group-turn/{group}");
        self.take_turn(&key)?;
        let done = work();
        let ended = self.host.commit(&Commit::new().delete(key));
        done.and_then(|value| ended.map(|()| value))
    }

    fn take_turn(&self, key: &str) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let held = self.host.get(key)?;
            let until: Option<Moment> = held.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
            let now = self.host.now();
            if until.is_none_or(|until| until <= now) {
                let until = Moment { seconds: now.seconds.saturating_add(LONGEST), ..now };
                let take = Commit::new().expect(key, held).put(key, record::encode(&until)?);
                match self.host.commit(&take) {
                    Ok(()) => return Ok(()),
                    Err(error) if error.reason.as_deref() != Some(Reason::Busy.as_str()) => return Err(error),
                    Err(_) => {}
                }
            }
            self.host.pause(WAIT);
        }
        Err(Error::aborted("another call is changing the volume group").with_reason(Reason::Busy))
    }
}
