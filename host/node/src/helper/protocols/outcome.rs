//! What a mount program's failure means for the caller.
//!
//! Owns the reading of its words, against recorded ones. Its words themselves go to the log and never into an error.

use crate::error::{ErrorCode, NodeError};

/// What was recognised in a program's words.
struct Reason {
    words: &'static str,
    code: ErrorCode,
    meaning: &'static str,
}

const fn reason(words: &'static str, code: ErrorCode, meaning: &'static str) -> Reason {
    Reason { words, code, meaning }
}

/// In the order in which they are looked for.
const REASONS: [Reason; 9] = [
    reason("access denied", ErrorCode::Failed, "the server refuses this node: see its list of clients for the export"),
    reason("Operation not permitted", ErrorCode::Failed, "the server, or this machine, does not permit it"),
    reason("No such file or directory", ErrorCode::NotFound, "there is no such directory on the server"),
    reason("Not a directory", ErrorCode::Invalid, "what the server has there is no directory"),
    reason("No such device", ErrorCode::Unsupported, "this kernel cannot do it: modprobe nfs"),
    reason("unknown filesystem", ErrorCode::Unsupported, "this kernel cannot do it: modprobe nfs"),
    reason("not supported", ErrorCode::Unsupported, "the server, or this kernel, does not have this version of it"),
    reason("timed out", ErrorCode::Limit, "the server does not answer"),
    reason("refused", ErrorCode::Failed, "nobody listens at the server's address"),
];

/// The error for a mount of `source` that failed with these words.
pub(super) fn explain(source: &str, words: &str) -> NodeError {
    let found = REASONS.iter().find(|reason| words.contains(reason.words));
    let (code, meaning) = found.map_or((ErrorCode::Failed, "the log has what mount said"), |it| (it.code, it.meaning));
    NodeError::new(code, format!("mounting {source}: {meaning}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mount_nfs_says_becomes_what_to_do() {
        // Of nfs-utils 2.6.2.
        let cases = [
            (
                "mount.nfs: access denied by server while mounting 10.1.0.1:/srv/v2",
                ErrorCode::Failed,
                "list of clients",
            ),
            (
                "mount.nfs: mounting 10.1.0.1:/none failed, reason given by server: No such file or directory",
                ErrorCode::NotFound,
                "no such directory",
            ),
            ("mount.nfs: Connection timed out for 10.1.0.1:/v1 on /mnt", ErrorCode::Limit, "does not answer"),
            ("mount.nfs: Connection refused for 10.1.0.1:/v1 on /mnt", ErrorCode::Failed, "nobody listens"),
            ("mount.nfs: No such device", ErrorCode::Unsupported, "modprobe nfs"),
            ("mount.nfs: Protocol not supported for 10.1.0.1:/v1 on /mnt", ErrorCode::Unsupported, "version"),
            ("mount.nfs: something else", ErrorCode::Failed, "the log"),
        ];
        for (words, code, expected) in cases {
            let error = explain("10.1.0.1:/v1", words);
            assert!(error.code == code && error.message.contains(expected), "{words}: {error:?}");
        }
    }
}
