//! What a guest tried that is not granted: a line in the log, so that the operator sees what it
//! lacks, or what it should not have tried. Refuses nothing itself. The lines have a budget of their own: a guest that
//! tries without end hides nothing else.

use crate::context::CallContext;
use crate::surroundings::{Surroundings, View};
use drivebay_observe::Topic;

/// Bytes of what a guest tried; the rest is cut.
const LONGEST: usize = 256;
/// Bytes of such a line without them.
const FIELDS: usize = 120;

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tried {
    /// A path.
    Path,
    /// A socket, to connect or to listen.
    Socket,
    /// The addresses of a name.
    Lookup,
    /// Loop devices and mounts.
    Node,
}

impl Tried {
    const fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Socket => "socket",
            Self::Lookup => "name lookup",
            Self::Node => "node work",
        }
    }
}

/// Says what a call tried, if the log has room for it. The words are the guest's.
pub(crate) fn tell(around: &Surroundings, call: &CallContext, tried: Tried, words: &str) {
    // While it is looked at, a backend may change nothing that it is granted: that is no want of a grant.
    if tried == Tried::Path && around.view == View::ReadOnly {
        return;
    }
    let Some(words) = around.log.fit(words, LONGEST, &call.secrets) else { return };
    if around.log.admits(Topic::Refused, FIELDS + words.len()) {
        let (backend, call, operation) = (around.backend.as_str(), call.id.as_str(), call.operation);
        tracing::info!(target: "audit", backend, call, operation, tried = tried.word(), "not granted: {words}");
    }
}
