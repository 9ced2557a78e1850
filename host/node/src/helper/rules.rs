//! What a request may ask for, from its words and what the ledger holds.
//!
//! Pure decisions. Requests are judged here although the host did so too: this process has the rights that the other
//! gave up. It must not look at the system: paths and images are judged where they are opened.

use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Caller, Operation};

/// Longer than any id that CSI lets through, in bytes.
const LONGEST_NAME: usize = 1024;
const MOST_OPTIONS: usize = 64;

/// Whether an operation may be done on a volume. `held`: the ledger has something of it for this backend.
pub(super) fn judge(caller: &Caller, volume: &str, operation: &Operation, held: bool) -> Result<(), NodeError> {
    check_name(volume)?;
    if makes(operation) && !held {
        named(caller, volume)?;
    }
    if let Operation::MountDevice { options, .. } | Operation::MountShare { options, .. } = operation {
        check_options(options)?;
    }
    Ok(())
}

/// `not-allowed` for a volume that the call under way does not name: any text is none.
pub(super) fn named(caller: &Caller, volume: &str) -> Result<(), NodeError> {
    if caller.volumes.iter().any(|named| named == volume) {
        return Ok(());
    }
    let message = format!("{volume} is not a volume of the call under way, and nothing of it is on this node");
    Err(NodeError::new(ErrorCode::NotAllowed, message))
}

/// Whether something may be there afterwards that was not there before.
const fn makes(operation: &Operation) -> bool {
    match operation {
        Operation::AttachImage { .. }
        | Operation::RenewUuid { .. }
        | Operation::MountDevice { .. }
        | Operation::MountShare { .. }
        | Operation::Connect { .. }
        | Operation::Encrypt { .. }
        | Operation::Unlock { .. }
        | Operation::MakeFileSystem { .. }
        | Operation::Bind { .. }
        | Operation::PublishDevice { .. } => true,
        Operation::DetachImage { .. }
        | Operation::Disconnect { .. }
        | Operation::ChangePassphrase { .. }
        | Operation::Unmount { .. }
        | Operation::SetAccess { .. }
        | Operation::Grow { .. }
        | Operation::Trim { .. }
        | Operation::Freeze { .. }
        | Operation::Thaw { .. }
        | Operation::GetUsage { .. }
        | Operation::GetHealth { .. }
        | Operation::SetGroup { .. }
        | Operation::ListEntries { .. }
        | Operation::Reread
        | Operation::Acknowledge { .. }
        | Operation::Abandon
        | Operation::Forget { .. }
        | Operation::Publications { .. }
        | Operation::Recover
        | Operation::Load => false,
    }
}

fn check_name(volume: &str) -> Result<(), NodeError> {
    if (1..=LONGEST_NAME).contains(&volume.len()) && !volume.contains('\0') {
        return Ok(());
    }
    Err(NodeError::new(ErrorCode::Invalid, "a volume's id must have 1 to 1024 bytes, none of them zero"))
}

fn check_options(options: &[String]) -> Result<(), NodeError> {
    if options.len() <= MOST_OPTIONS {
        return Ok(());
    }
    Err(NodeError::new(ErrorCode::Invalid, "more than 64 mount options"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Access, BindSource};

    #[test]
    fn something_is_made_for_volumes_of_the_call_or_of_the_ledger_alone() {
        let caller = Caller {
            backend: "b".to_owned(),
            call: "c".to_owned(),
            volumes: vec!["v".to_owned(), "w".to_owned()],
            paths: Vec::new(),
        };
        let volume = || "x".to_owned();
        let access = Access::ReadWrite;
        let made = [
            Operation::AttachImage { volume: volume(), image: "/pool/x".to_owned(), access },
            Operation::Bind { volume: volume(), source: BindSource::Granted("/a".into()), target: "/t".into(), access },
            Operation::PublishDevice { volume: volume(), target: "/t".to_owned(), access },
            Operation::RenewUuid { volume: volume(), file_system: "ext4".to_owned() },
        ];
        for operation in &made {
            for (volume, held, allowed) in
                [("v", false, true), ("w", true, true), ("x", true, true), ("x", false, false)]
            {
                assert_eq!(judge(&caller, volume, operation, held).is_ok(), allowed, "{volume} {operation:?}");
            }
        }
        for operation in [Operation::DetachImage { volume: volume() }, Operation::Thaw { volume: volume() }] {
            judge(&caller, "x", &operation, false).unwrap();
        }
    }

    #[test]
    fn names_and_options_are_bounded() {
        let caller = Caller { backend: "b".into(), call: "c".into(), volumes: Vec::new(), paths: Vec::new() };
        let thaw = |volume: &str| judge(&caller, volume, &Operation::Thaw { volume: volume.to_owned() }, true);
        thaw(&"x".repeat(1024)).unwrap();
        for wrong in [String::new(), "a\0b".to_owned(), "x".repeat(1025)] {
            assert_eq!(thaw(&wrong).unwrap_err().code, ErrorCode::Invalid);
        }
        let mount = |count: usize| Operation::MountDevice {
            volume: "v".to_owned(),
            target: "/t".to_owned(),
            file_system: "ext4".to_owned(),
            options: vec!["noatime".to_owned(); count],
            access: Access::ReadWrite,
        };
        judge(&caller, "v", &mount(64), true).unwrap();
        assert_eq!(judge(&caller, "v", &mount(65), true).unwrap_err().code, ErrorCode::Invalid);
    }
}
