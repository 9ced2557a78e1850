//! The directories that a backend was given, and the way from its paths to open files.
//!
//! Owns the translation and its refusals. The way to a granted directory is resolved once, when it is
//! granted: a link that takes its place later leads nowhere, because a component that may write beside it
//! could have put it there. It must not keep directories open: that would make the operator's own mounts
//! busy.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::ledger::FileId;
use super::protocols::nfs::Grant as NfsGrant;
use super::protocols::portals::Grant as PortalGrant;
use super::system::paths::{descriptor_path, identity, is_normal, open_beneath, open_resolved, stat};
use crate::error::{ErrorCode, NodeError};
use crate::permissions::{AttachGrant, DirectoryGrant, MountOption, Permissions};
use crate::protocol::Access;

/// A backend's directories, what its clients may ask for, and how much it may hold.
#[derive(Debug)]
pub(super) struct Grants {
    directories: Vec<DirectoryGrant>,
    pub(super) mount_options: Vec<MountOption>,
    /// Loop devices at once.
    pub(super) devices: usize,
    attach: Attachable,
}

/// What a backend may attach, by protocol.
#[derive(Debug, Default)]
pub(super) struct Attachable {
    pub(super) nfs: Vec<NfsGrant>,
    pub(super) iscsi: Vec<PortalGrant>,
    pub(super) nvme_tcp: Vec<PortalGrant>,
}

impl Attachable {
    fn read(grants: Vec<AttachGrant>) -> Result<Self, NodeError> {
        let mut all = Self::default();
        for grant in grants {
            match grant {
                AttachGrant::Nfs(grant) => all.nfs.push(NfsGrant::read(grant)?),
                AttachGrant::Iscsi(grant) => all.iscsi.push(PortalGrant::iscsi(grant)?),
                AttachGrant::NvmeTcp(grant) => all.nvme_tcp.push(PortalGrant::nvme_tcp(grant)?),
            }
        }
        Ok(all)
    }
}

/// An image, opened for a loop device.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) file: OwnedFd,
    pub(super) id: FileId,
}

impl Grants {
    /// Takes the operator's grants; refuses what could not be resolved later.
    pub(super) fn new(permissions: Permissions) -> Result<Self, NodeError> {
        let Permissions { mut directories, mount_options, devices, attach } = permissions;
        let attach = Attachable::read(attach)?;
        for grant in &mut directories {
            let guest = grant.guest.strip_prefix('/').is_some_and(is_normal);
            if !guest || !grant.host.is_absolute() {
                let message = format!(
                    "the grant of {} as {} must name two absolute, normalised paths",
                    grant.host.display(),
                    grant.guest
                );
                return Err(NodeError::new(ErrorCode::Invalid, message));
            }
            // One that is not there yet, or does not answer, is meant as it is written.
            if let Some(resolved) = resolved(&grant.host) {
                grant.host = resolved;
            }
        }
        Ok(Self { directories, mount_options, devices, attach })
    }

    /// What it may attach.
    pub(super) const fn attach(&self) -> &Attachable {
        &self.attach
    }

    /// Where a component may write.
    pub(super) fn written(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().filter(|grant| grant.write).map(|grant| grant.host.clone())
    }

    /// Opens an image for a loop device. Only regular files are images.
    pub(super) fn image(&self, path: &str, access: Access) -> Result<Image, NodeError> {
        let node = self.node(path, access)?;
        let stat = stat(&node, path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            let message = format!("{path} is not a regular file, so it is no image");
            return Err(NodeError::new(ErrorCode::Invalid, message));
        }
        let flags = match access {
            Access::ReadWrite => OFlags::RDWR,
            Access::ReadOnly => OFlags::RDONLY,
        };
        let file = reopen(&node, flags).map_err(|errno| NodeError::system(format!("opening {path}"), errno))?;
        Ok(Image { file, id: identity(&stat) })
    }

    /// Finds a file or directory, without opening its contents.
    pub(super) fn node(&self, path: &str, access: Access) -> Result<OwnedFd, NodeError> {
        let (grant, relative) = self.resolve(path)?;
        if access == Access::ReadWrite && !grant.write {
            let message = format!("{} is granted for reading only", grant.guest);
            return Err(NodeError::new(ErrorCode::NotAllowed, message));
        }
        open_beneath(open_resolved(&grant.host)?, relative, path)
    }

    /// The innermost grant that holds the path, and the rest of the path.
    fn resolve<'a>(&'a self, path: &'a str) -> Result<(&'a DirectoryGrant, &'a str), NodeError> {
        let within = |grant: &'a DirectoryGrant| {
            let rest = path.strip_prefix(grant.guest.as_str())?.strip_prefix('/')?;
            is_normal(rest).then_some((grant, rest))
        };
        let found = self.directories.iter().filter_map(within).max_by_key(|(grant, _)| grant.guest.len());
        found.ok_or_else(|| {
            let message = format!("{path} does not lie in a granted directory");
            NodeError::new(ErrorCode::NotAllowed, message)
        })
    }
}

/// Where a directory is, without links; none: it is not there, or its server does not say so in time.
fn resolved(path: &Path) -> Option<PathBuf> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let ((tell, told), path) = (mpsc::channel(), path.to_owned());
    // What hangs holds its thread alone.
    let look = move || tell.send(path.canonicalize().ok());
    thread::Builder::new().name("grant".to_owned()).spawn(look).ok()?;
    told.recv_timeout(PATIENCE).ok().flatten()
}

/// Opens for use what was opened for looking: the same file, whatever its name means by now.
fn reopen(node: impl AsFd, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(CWD, descriptor_path(node), flags | OFlags::CLOEXEC, Mode::empty())
}
