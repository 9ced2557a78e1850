//! Growing waits between looks at what is to come, until the patience for it ends.

use std::time::{Duration, Instant};

/// Growing waits between repetitions, until the patience is at its end.
#[derive(Debug)]
pub(crate) struct Pause {
    until: Instant,
    next: Duration,
}

impl Pause {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { until: Instant::now() + patience, next: Duration::from_millis(5) }
    }

    /// Waits; false when the patience is at its end.
    pub(crate) async fn rest(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(Duration::from_millis(100));
        true
    }
}
