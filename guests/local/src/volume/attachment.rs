//! Which nodes may have a volume together: a pure decision on the attachments in its record.

use drivebay_sdk::attachment::PublishVolumeRequest;
use drivebay_sdk::types::AccessMode;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::Attachment;

use super::fit;

/// What follows from a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It is attached in this way already.
    Standing,
    Attach,
}

/// The attachment that a request asks for.
pub(crate) fn wanted(request: &PublishVolumeRequest) -> Attachment {
    Attachment {
        node: request.node_id.clone(),
        mode: fit::mode_word(request.volume_capability.access_mode).to_owned(),
        readonly: request.readonly,
        fingerprint: fit::fingerprint(&request.volume_capability),
    }
}

/// Decides. `already-exists`: attached to this node in another way; `failed-precondition`: another
/// node has it and the modes do not go together (the message names that node).
pub(crate) fn decide(present: &[Attachment], wanted: &Attachment) -> Result<Decision> {
    if let Some(same) = present.iter().find(|present| present.node == wanted.node) {
        return if same == wanted {
            Ok(Decision::Standing)
        } else {
            let message = format!("attached to node {} in another way; detach it first", same.node);
            Err(Error::already_exists(message).with_reason(Reason::Incompatible))
        };
    }
    match present.iter().find(|other| !together(other, wanted)) {
        Some(other) => {
            let message =
                format!("attached to node {} ({}), which does not allow another node", other.node, other.mode);
            Err(Error::failed_precondition(message).with_reason(Reason::InUse))
        }
        None => Ok(Decision::Attach),
    }
}

fn together(a: &Attachment, b: &Attachment) -> bool {
    let single_writer = fit::mode_word(AccessMode::MultiNodeSingleWriter);
    let several = |of: &Attachment| of.mode.starts_with("multi-node-");
    let writes = |of: &Attachment| of.mode == single_writer && !of.readonly;
    several(a) && several(b) && !(writes(a) && writes(b))
}

#[cfg(test)]
mod tests;
