//! The file systems that this host can make, and where their programs are.
//!
//! Owns the table of kinds with their options and smallest sizes, and runs nothing. A kind whose
//! program is absent is not offered.

use std::{os::unix::fs::PermissionsExt, path::PathBuf};

const MIB: u64 = 1024 * 1024;

/// A file system that this host can make in an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// For example `ext4`.
    pub name: String,
    /// The smallest image it can be made in, in bytes.
    pub minimum_bytes: u64,
}

/// One kind of file system.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    pub(super) minimum_bytes: u64,
    /// Bytes of the longest label.
    pub(super) longest_label: usize,
    pub(super) options: &'static [&'static str],
    /// What node work with it needs besides: for growing, and for the UUID of a copy.
    companions: &'static [&'static str],
    /// The distributions' name for where all of them come from.
    package: &'static str,
}

/// A kind of file system that cannot be used on this host as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// For example `xfs`.
    pub file_system: &'static str,
    /// The programs that are not there.
    pub programs: Vec<&'static str>,
    /// What to install.
    pub package: &'static str,
}

/// Quiet, without questions, without discarding (an image has nothing to discard), and small: what
/// can be written at the first mount is left to it.
const KINDS: [Kind; 3] = [
    Kind {
        name: "ext4",
        program: "mkfs.ext4",
        // With e2fsprogs 1.47.0 an image of 1 MiB gets no journal, one of 2 MiB does.
        minimum_bytes: 2 * MIB,
        longest_label: 16,
        // No blocks are kept back for root: the volume's size is what its user asked for.
        options: &["-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"],
        companions: &["e2fsck", "resize2fs", "tune2fs"],
        package: "e2fsprogs",
    },
    Kind {
        name: "xfs",
        program: "mkfs.xfs",
        // xfsprogs 6.1.0 makes it in 300 MiB, its own documented limit, and refuses one byte less.
        minimum_bytes: 300 * MIB,
        longest_label: 12,
        options: &["-q", "-f", "-K"],
        companions: &["xfs_db", "xfs_growfs"],
        package: "xfsprogs",
    },
    Kind {
        name: "btrfs",
        program: "mkfs.btrfs",
        // btrfs-progs 6.2 refuses 108 MiB and makes one in 109 MiB that can be mounted and filled.
        minimum_bytes: 109 * MIB,
        longest_label: 255,
        options: &["-q", "-f", "-K"],
        companions: &["btrfs", "btrfstune"],
        package: "btrfs-progs",
    },
];

impl Kind {
    /// The kind of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

/// Where the programs are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs(Vec<PathBuf>);

impl Programs {
    /// In these directories, first match wins.
    pub fn new(directories: Vec<PathBuf>) -> Self {
        Self(directories)
    }

    /// In the host's `PATH`, then where distributions put them, which is often not in the `PATH`
    /// of an unprivileged process.
    pub fn system() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let usual = ["/usr/sbin", "/sbin"].map(PathBuf::from);
        Self(std::env::split_paths(&path).filter(|directory| directory.is_absolute()).chain(usual).collect())
    }

    /// The kinds whose programs are there.
    pub fn offered(&self) -> Vec<FileSystem> {
        let offered = KINDS.iter().filter(|kind| self.find(kind).is_some());
        offered.map(|kind| FileSystem { name: kind.name.to_owned(), minimum_bytes: kind.minimum_bytes }).collect()
    }

    /// Whether a program is there.
    pub fn has(&self, program: &str) -> bool {
        self.named(program).is_some()
    }

    /// The kinds that lack a program, each with all that it lacks.
    pub fn absent(&self) -> Vec<Absent> {
        let lacks = |kind: &Kind| {
            let needed = std::iter::once(kind.program).chain(kind.companions.iter().copied());
            let programs: Vec<_> = needed.filter(|program| self.named(program).is_none()).collect();
            (!programs.is_empty()).then_some(Absent { file_system: kind.name, programs, package: kind.package })
        };
        KINDS.iter().filter_map(lacks).collect()
    }

    pub(super) fn find(&self, kind: &Kind) -> Option<PathBuf> {
        self.named(kind.program)
    }

    fn named(&self, program: &str) -> Option<PathBuf> {
        self.0.iter().map(|directory| directory.join(program)).find(|program| {
            program.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
    }
}
