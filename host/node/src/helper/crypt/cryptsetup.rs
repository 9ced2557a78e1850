//! The distribution's `cryptsetup`: its arguments, and what its ends mean.
//!
//! A passphrase reaches it through a pipe, never in an argument, a file or the environment; it keeps no key in a keyring of the
//! kernel, so the mapping alone has it. It must not be asked whether a disk is encrypted: of one that cannot be read it says that it is not.

use std::time::Duration;

use super::super::system::programs::{self, Outcome};
use super::super::system::told::Told;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, Secret};

const PROGRAM: &str = "cryptsetup";
/// Longer than a key slot takes that was made for a fast machine, or a disk to take a header of 16 MiB.
const KEY_LIMIT: Duration = Duration::from_mins(1);
/// Those that have the program.
const PACKAGES: &str = "cryptsetup-bin (Debian, Ubuntu) or cryptsetup (others)";
const LIMIT: Duration = Duration::from_secs(20);

/// How a passphrase becomes the key of its slot: the second choice of RFC 9106, for where memory is short, with one pass
/// more, as the program's least is four. 64 MiB for each passphrase that is tried, and a tenth of a second: a node that stages its volumes at once
/// after a start has nothing to spare for the gibibyte that the program would take by itself.
const DERIVATION: [&str; 8] =
    ["--pbkdf", "argon2id", "--pbkdf-memory", "65536", "--pbkdf-parallel", "4", "--pbkdf-force-iterations", "4"];

/// Bytes of a passphrase. The shortest is what still can be masked in a log; whoever makes one takes 20 and more.
const SHORTEST: usize = 8;
const LONGEST: usize = 512;

/// Statuses that the program ends with.
const PERMISSION: i32 = 2;
const MEMORY: i32 = 3;
const BUSY: i32 = 5;
/// Its words where a passphrase does not fit. By the status alone it may also mean that the kernel refuses.
const NO_KEY: &str = "No key available with this passphrase";
const NO_SLOT: &str = "No usable keyslot is available";
/// Its words where the kernel does not know such mappings.
const NO_MAPPING: [&str; 3] = ["reload ioctl on", "Cannot initialize device-mapper", "Check that kernel supports"];

/// How an attempt to open ended that was no failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    Yes,
    WrongPassphrase,
}

/// `invalid` for what is no passphrase.
pub(in crate::helper) fn passphrase(secret: &Secret) -> Result<(), NodeError> {
    if (SHORTEST..=LONGEST).contains(&secret.words().len()) {
        return Ok(());
    }
    Err(NodeError::new(ErrorCode::Invalid, "a passphrase has 8 to 512 bytes"))
}

/// Writes a header with one key slot. Whether the disk may be overwritten is known by whoever asks for it.
pub(in crate::helper) fn format(disk: &str, passphrase: &Secret) -> Result<(), NodeError> {
    let device = format!("/dev/{disk}");
    let arguments =
        [&["luksFormat", "--batch-mode", "--type", "luks2"], &DERIVATION[..], &["--key-file", "-", &device]];
    succeed(disk, &tell(&arguments.concat(), Told::new(passphrase)?, None)?)
}

/// Makes the mapping. Discards are let through, or nothing could give unused blocks back.
pub(super) fn open(disk: &str, name: &str, passphrase: &Secret, access: Access) -> Result<Opened, NodeError> {
    let device = format!("/dev/{disk}");
    let mut arguments = vec!["open", "--batch-mode", "--type", "luks2", "--disable-keyring", "--allow-discards"];
    if access == Access::ReadOnly {
        arguments.push("--readonly");
    }
    arguments.extend(["--key-file", "-", &device, name]);
    let ended = tell(&arguments, Told::new(passphrase)?, None)?;
    judge(disk, &ended)
}

/// Whether the passphrase opens the disk.
pub(super) fn opens(disk: &str, passphrase: &Secret) -> Result<bool, NodeError> {
    let device = format!("/dev/{disk}");
    let arguments = ["open", "--batch-mode", "--type", "luks2", "--test-passphrase", "--key-file", "-", &device];
    let ended = tell(&arguments, Told::new(passphrase)?, None)?;
    Ok(judge(disk, &ended)? == Opened::Yes)
}

/// Writes a slot for the new passphrase, then erases the one of the old.
pub(super) fn change(disk: &str, old: &Secret, new: &Secret) -> Result<(), NodeError> {
    let (device, new) = (format!("/dev/{disk}"), Told::new(new)?);
    let place = new.path();
    let arguments =
        [&["luksChangeKey", "--batch-mode", "--type", "luks2"], &DERIVATION[..], &["--key-file", "-", &device, &place]];
    succeed(disk, &tell(&arguments.concat(), Told::new(old)?, Some(new))?)
}

/// Erases the slot of a passphrase, which must not be the last one.
pub(super) fn erase(disk: &str, passphrase: &Secret) -> Result<(), NodeError> {
    let device = format!("/dev/{disk}");
    let arguments = ["luksRemoveKey", "--batch-mode", "--type", "luks2", "--key-file", "-", &device];
    succeed(disk, &tell(&arguments, Told::new(passphrase)?, None)?)
}

/// Takes up the size of what is below a mapping.
pub(super) fn resize(name: &str) -> Result<(), NodeError> {
    succeed(name, &run(&["resize", "--batch-mode", name])?)
}

/// Takes a mapping away.
pub(super) fn close(name: &str) -> Result<(), NodeError> {
    succeed(name, &run(&["close", name])?)
}

fn tell(arguments: &[&str], first: Told, second: Option<Told>) -> Result<Outcome, NodeError> {
    programs::run_told(PROGRAM, arguments, KEY_LIMIT, Some(first), second)
        .map_err(|error| error.with_packages(PACKAGES))
}

fn run(arguments: &[&str]) -> Result<Outcome, NodeError> {
    programs::run_told(PROGRAM, arguments, LIMIT, None, None).map_err(|error| error.with_packages(PACKAGES))
}

fn judge(disk: &str, ended: &Outcome) -> Result<Opened, NodeError> {
    if ended.status() == Some(PERMISSION) && ended.says(NO_KEY) {
        return Ok(Opened::WrongPassphrase);
    }
    succeed(disk, ended).map(|()| Opened::Yes)
}

/// What the program's end means for whoever asked. Its words go to the log.
fn succeed(of: &str, ended: &Outcome) -> Result<(), NodeError> {
    let Err(error) = ended.expect_success(&[0]) else { return Ok(()) };
    let (code, meaning) = if NO_MAPPING.iter().any(|words| ended.says(words)) {
        (ErrorCode::Unsupported, "this kernel cannot do it: modprobe dm-crypt")
    } else if ended.says(NO_SLOT) {
        (ErrorCode::Failed, "its header has no key slot left, so nothing opens it any more")
    } else {
        match ended.status() {
            Some(MEMORY) => (ErrorCode::Failed, "its key slot wants more memory than 2 GiB, or than there is"),
            Some(BUSY) => (ErrorCode::Busy, "it is still in use"),
            _ => return Err(error),
        }
    };
    Err(NodeError::new(code, format!("the encrypted disk {of}: {meaning}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded::{CRYPTSETUP, ended};

    #[test]
    fn a_wrong_passphrase_is_told_from_every_other_end() {
        for case in ["a wrong passphrase", "it does not open"] {
            assert_eq!(judge("sda", &ended(CRYPTSETUP, case)), Ok(Opened::WrongPassphrase), "{case}");
        }
        for case in ["opened", "the passphrase opens"] {
            assert_eq!(judge("sda", &ended(CRYPTSETUP, case)), Ok(Opened::Yes), "{case}");
        }
        let kernel = Outcome::recorded(PROGRAM, PERMISSION, "Operation not permitted");
        assert_eq!(judge("sda", &kernel).unwrap_err().code, ErrorCode::Failed);
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        let cases = [
            ("the kernel has no dm-crypt", ErrorCode::Unsupported, "modprobe dm-crypt"),
            ("open already", ErrorCode::Busy, "in use"),
            ("a mapping in use", ErrorCode::Busy, "in use"),
            ("a slot that wants more memory", ErrorCode::Failed, "memory"),
            ("no key slot", ErrorCode::Failed, "no key slot"),
            ("no header", ErrorCode::Failed, "the log has"),
            ("unreadable", ErrorCode::Failed, "the log has"),
            ("not open", ErrorCode::Failed, "the log has"),
        ];
        for (case, code, words) in cases {
            let error = judge("sda", &ended(CRYPTSETUP, case)).unwrap_err();
            assert!(error.code == code && error.message.contains(words), "{case}: {error:?}");
        }
        for case in ["formatted", "resized", "changed", "closed"] {
            assert_eq!(succeed("sda", &ended(CRYPTSETUP, case)), Ok(()), "{case}");
        }
    }

    #[test]
    fn a_passphrase_has_a_length() {
        let of = |length| passphrase(&Secret::new("x".repeat(length))).is_ok();
        assert!(of(SHORTEST) && of(LONGEST) && !of(SHORTEST - 1) && !of(LONGEST + 1) && !of(0));
    }
}
