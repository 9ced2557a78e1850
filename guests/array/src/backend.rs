//! One call's view of everything: settings, time, random numbers.
//!
//! It owns nothing that lasts: every call makes its own. The work stands in the modules, as further
//! methods.

use std::time::Duration;

use drivebay_sdk::{Error, Result, config, context};

use crate::settings::Settings;

/// What a call keeps back of its time, for looking after a lost answer and for its own.
const RESERVE: Duration = Duration::from_secs(2);

/// The backend during a call.
pub(crate) struct Backend {
    pub(crate) settings: Settings,
}

impl Backend {
    /// Reads the settings. `invalid-argument`: they are wrong.
    pub(crate) fn open() -> Result<Self> {
        Ok(Self { settings: Settings::parse(&config::get_all()?)? })
    }
}

/// How long a request may wait.
pub(crate) fn patience() -> Duration {
    let left = context::remaining();
    // Little is left in a probe: half of it then.
    left.saturating_sub(RESERVE).max(left / 2)
}

/// Whether the call ends before so much time has passed.
pub(crate) fn has_no_time_for(pause: Duration) -> bool {
    context::remaining() <= RESERVE + pause
}

/// Random bytes, for a name or a salt.
pub(crate) fn random() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::unavailable(format!("the host gave no random numbers: {error}")))?;
    Ok(bytes)
}
