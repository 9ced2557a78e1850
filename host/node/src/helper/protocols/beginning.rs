//! The beginning of a disk, where file systems, tables of partitions and volume managers say what they are.
//!
//! Owns reading and emptying it, with patience: the disk may not answer. It must not judge what is there.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::super::system::blocks::{patiently, size};
use crate::error::NodeError;

/// Bytes of it.
const LENGTH: u64 = 2 << 20;
const PIECE: usize = 256 << 10;
const LIMIT: Duration = Duration::from_secs(30);

/// What is there. What cannot be read is an error, never nothing.
pub(in crate::helper) fn read(device: &str) -> Result<Vec<u8>, NodeError> {
    let (name, length) = (device.to_owned(), size(device)?.min(LENGTH));
    patiently(&format!("reading {device}"), LIMIT, move || {
        let failed = |error: std::io::Error| NodeError::io(format!("reading {name}"), &error);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        File::open(format!("/dev/{name}")).and_then(|disk| disk.read_exact_at(&mut bytes, 0)).map_err(failed)?;
        Ok(bytes)
    })
}

/// Empties the beginning of a disk again that was empty before.
pub(in crate::helper) fn wipe(device: &str) -> Result<(), NodeError> {
    let (name, length) = (device.to_owned(), size(device)?.min(LENGTH));
    patiently(&format!("wiping {device}"), LIMIT, move || {
        let wiped = OpenOptions::new().write(true).open(format!("/dev/{name}")).and_then(|disk| {
            let zeros = vec![0; PIECE];
            for offset in (0..length).step_by(PIECE) {
                let rest = usize::try_from(length - offset).unwrap_or(PIECE).min(PIECE);
                disk.write_all_at(zeros.get(..rest).unwrap_or_default(), offset)?;
            }
            disk.sync_all()
        });
        wiped.map_err(|error| NodeError::io(format!("wiping {name}"), &error))
    })
}
