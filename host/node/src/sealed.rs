//! A mandate on its way from the launcher to a helper: a file in memory that nobody can change any more.
//!
//! Owns the sealing and the refusal of what is not sealed. It must not look at what the mandate says.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::FdFlags;

use crate::error::{ErrorCode, NodeError};
use crate::permissions::Mandate;

/// Neither its bytes nor its length nor these seals can change.
const ALL: SealFlags = SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::WRITE);

/// Writes a mandate down for good. A program that is started later inherits the file, by its number.
pub(super) fn seal(mandate: &Mandate) -> Result<OwnedFd, NodeError> {
    let attempt = "writing the node helper's mandate down";
    let failed = |errno| NodeError::system(attempt, errno);
    let file = rustix::fs::memfd_create("drivebay-mandate", MemfdFlags::ALLOW_SEALING).map_err(failed)?;
    let mut file = File::from(file);
    serde_json::to_vec(mandate)
        .map_err(std::io::Error::from)
        .and_then(|bytes| file.write_all(&bytes))
        .map_err(|error| NodeError::io(attempt, &error))?;
    rustix::fs::fcntl_add_seals(&file, ALL).map_err(failed)?;
    Ok(file.into())
}

/// The mandate that this process inherited; refused unless nobody can change it.
pub(super) fn open(number: RawFd) -> Result<Mandate, NodeError> {
    let attempt = "reading the node helper's mandate";
    let failed = |errno| NodeError::system(attempt, errno);
    let inherited = crate::process::inherited(number)?;
    if !rustix::fs::fcntl_get_seals(&inherited).map_err(failed)?.contains(ALL) {
        return Err(NodeError::new(ErrorCode::Invalid, "the node helper's mandate is not sealed"));
    }
    // Not where somebody else has read to: all helpers share the file.
    let file = File::from(inherited);
    let read = file.metadata().and_then(|metadata| {
        let mut bytes = vec![0; usize::try_from(metadata.len()).map_err(std::io::Error::other)?];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(serde_json::from_slice(&bytes)?)
    });
    read.map_err(|error| NodeError::io(attempt, &error))
}

/// The number under which a program that is started later finds the mandate.
pub(super) fn number(sealed: &OwnedFd) -> Result<String, NodeError> {
    let failed = |errno| NodeError::system("handing the node helper's mandate over", errno);
    rustix::io::fcntl_setfd(sealed, FdFlags::empty()).map_err(failed)?;
    Ok(sealed.as_raw_fd().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mandate_arrives_as_it_was_and_cannot_be_changed() {
        let mandate = Mandate { state_dir: "/state".into(), ..Mandate::default() };
        let sealed = seal(&mandate).unwrap();
        assert_eq!(open(sealed.as_raw_fd()).unwrap(), mandate);
        let mut file = File::from(sealed);
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
        // The next helper reads the same.
        assert_eq!(open(file.as_raw_fd()).unwrap(), mandate);
    }

    #[test]
    fn what_is_not_sealed_is_refused() {
        let file = rustix::fs::memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        let mut file = File::from(file);
        file.write_all(b"{\"state_dir\":\"/\",\"backends\":{},\"file\":null}").unwrap();
        assert_eq!(open(file.as_raw_fd()).unwrap_err().code, ErrorCode::Invalid);
    }
}
