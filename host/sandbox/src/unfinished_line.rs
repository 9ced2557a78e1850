//! Standard output of a guest, cut into lines: it comes in pieces, and a log has lines. Owns what there is of a line that has not
//! ended; what becomes of lines is the caller's.

use std::sync::{Arc, Mutex, PoisonError};

use drivebay_observe::guest_log::LINE;

/// A line that has not ended. Copies share it.
#[derive(Debug, Clone, Default)]
pub struct UnfinishedLine(Arc<Mutex<Vec<u8>>>);

impl UnfinishedLine {
    /// Adds a piece, and says each line that ends in it, but for blank ones.
    pub fn take(&self, bytes: &[u8], mut say: impl FnMut(&str)) {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // One more than a line has: so it is known to be cut.
            let room = (LINE + 1).saturating_sub(line.len());
            line.extend(piece.iter().take(room));
            if piece.ends_with(b"\n") {
                whole(&line, &mut say);
                line.clear();
            }
        }
    }

    /// Whether nobody else has a copy.
    pub(crate) fn is_last(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Says what there is of the line, unless it is blank.
    pub fn end(&self, say: impl FnMut(&str)) {
        let line = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        whole(&line, say);
    }
}

fn whole(line: &[u8], mut say: impl FnMut(&str)) {
    let text = String::from_utf8_lossy(line.trim_ascii_end());
    if !text.is_empty() {
        say(&text);
    }
}
