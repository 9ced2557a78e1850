//! How long the command waits for a host, and how often it looks.

use std::time::Duration;

/// How long anything may take that must happen: it takes a second or two, and much longer where much else is at work.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
/// How often something is looked at that makes no sound.
pub(super) const LOOK: Duration = Duration::from_millis(20);
