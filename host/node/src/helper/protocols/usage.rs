//! How full a share is, as its server says: asked by a program with a deadline, because a server may not answer.
//!
//! Owns the program and what it prints.

use std::time::Duration;

use super::super::system::programs::{self, Rights};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Usage, UsageUnit};

/// Clients ask every minute or so, and are told within 10 s that a server hangs.
const LIMIT: Duration = Duration::from_secs(5);
/// Bytes of a block; blocks, free ones, those for everybody; inodes, free ones.
const FORMAT: &str = "%S %b %f %a %c %d";

/// Usage of the share that is seen at a place.
pub(in crate::helper) fn usage(place: &str) -> Result<Vec<Usage>, NodeError> {
    let arguments = ["--file-system", "--format", FORMAT, "--", place];
    let outcome = programs::run_within("stat", &arguments, LIMIT, Rights::Ours).map_err(|error| {
        if error.code != ErrorCode::Limit {
            return error;
        }
        let message = format!("the server of {place} did not answer within {} s", LIMIT.as_secs());
        NodeError::new(ErrorCode::Limit, message)
    })?;
    outcome.expect_success(&[0])?;
    read(outcome.output()).ok_or_else(|| {
        let message = format!("how full {place} is was not understood");
        NodeError::new(ErrorCode::Failed, message)
    })
}

fn read(text: &str) -> Option<Vec<Usage>> {
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|number| number.parse().ok()).collect();
    let [block, total, free, available, inodes, free_inodes] = numbers?.try_into().ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(block);
    let mut usage = vec![Usage {
        available: bytes(available),
        total: bytes(total),
        used: bytes(total.saturating_sub(free)),
        unit: UsageUnit::Bytes,
    }];
    if inodes > 0 {
        let used = inodes.saturating_sub(free_inodes);
        usage.push(Usage { available: free_inodes, total: inodes, used, unit: UsageUnit::Inodes });
    }
    Some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_prints_becomes_usage() {
        // As stat of coreutils 9.1 says it of an NFS export.
        let usage = read("131072 438 438 402 16384 16372\n").unwrap();
        let bytes = |blocks: u64| blocks * 131_072;
        let inodes = Usage { available: 16372, total: 16384, used: 12, unit: UsageUnit::Inodes };
        let space = Usage { available: bytes(402), total: bytes(438), used: 0, unit: UsageUnit::Bytes };
        assert_eq!(usage, [space, inodes]);
        assert_eq!(read("4096 10 4 3 0 0").unwrap().len(), 1, "a file system that counts no inodes");
        for wrong in ["", "1 2 3 4 5", "1 2 3 4 5 6 7", "1 2 3 4 5 x", "-1 2 3 4 5 6"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_directory_of_this_machine_is_measured_by_the_real_program() {
        assert!(usage("/").unwrap()[0].total > 0);
        assert_eq!(usage("/nowhere/at/all").unwrap_err().code, ErrorCode::Failed);
    }
}
