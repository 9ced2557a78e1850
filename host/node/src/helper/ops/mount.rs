//! Mounting a volume's file system or share, and changing a mount between writable and read-only.
//!
//! Works by descriptor (`fsopen`, `fsmount`, `move_mount`): the mount is complete, with all its
//! flags, before anybody can see it, and no path is resolved twice. It must not try file systems
//! that are not offered: the kernel would parse an image by a driver of the image's choice.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, FsPickFlags};

use super::super::engine::Scope;
use super::super::ledger::{Entry, FileId, Recipe, Shared};
use super::super::options::{self, MountPlan};
use super::super::system::busy::while_busy;
use super::super::system::paths::{Place, Shape, descriptor_path};
use super::super::system::syscalls;
use super::super::system::table::MountTable;
use super::effect::{Missing, carry_out, vacant};
use super::fit;
use super::presence::need_mounted;
use super::trees::attach;
use super::{disks, shares};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind, PathRole, Share};

/// What is mounted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// The file system of this name, on the volume's device.
    Device(&'a str),
    /// What a server has.
    Share(&'a Share),
}

/// What to mount where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) target: &'a str,
    pub(crate) options: &'a [String],
    pub(crate) access: Access,
}

/// A source that may be mounted, and where its data come from.
#[derive(Debug)]
enum Found<'a> {
    Device(&'a str, Box<Entry>),
    Share(&'a Share, String),
}

/// Mounts a file system or a share for the volume.
pub(crate) fn mount(scope: &Scope<'_>, wanted: Wanted<'_>) -> Result<(), NodeError> {
    let Wanted { source, target, .. } = wanted;
    let plan = source.plan(scope, wanted.options, wanted.access)?;
    let recipe = Recipe { file_system: source.file_system().to_owned(), options: wanted.options.to_vec() };
    let place = scope.place(target)?;
    if let Some(there) = scope.at(&place) {
        let same = source.is_of(&there) && there.recipe.as_ref() == Some(&recipe) && there.access == plan.access;
        return if same { Ok(()) } else { Err(other_arguments(&there)) };
    }
    let found = source.find(scope, plan.access)?;
    // Staging paths are made by the client; a target is ours to make and to remove.
    let missing = if place.role == PathRole::Target { Missing::Create } else { Missing::Refuse };
    let nothing = FileId { device: 0, inode: 0 };
    let mut entry = scope.draft(EntryKind::Mount, target, &place.real, nothing);
    entry.created_path = vacant(&place, Shape::Directory, missing)?;
    entry.access = plan.access;
    entry.recipe = Some(recipe);
    found.note(&mut entry);
    let (created, id) = (entry.created_path, entry.id);
    carry_out(scope, entry, |_| {
        if created {
            place.create(Shape::Directory)?;
        }
        found.show(scope, id, &plan, &place)
    })
    .map(drop)
}

impl<'a> Source<'a> {
    const fn file_system(self) -> &'a str {
        match self {
            Self::Device(file_system) => file_system,
            Self::Share(share) => shares::protocol(share),
        }
    }

    fn plan(self, scope: &Scope<'_>, words: &[String], access: Access) -> Result<MountPlan, NodeError> {
        let allowed = &scope.grants.mount_options;
        match self {
            Self::Device(file_system) => options::plan(file_system, words, access, allowed),
            Self::Share(_) => options::plan_share(words, access, allowed),
        }
    }

    /// Whether an entry is a mount of this source; of which device, its volume says.
    fn is_of(self, entry: &Entry) -> bool {
        let asked = entry.share.as_ref().map(|shared| &shared.asked);
        match self {
            Self::Device(_) => entry.kind == EntryKind::Mount && asked.is_none(),
            Self::Share(share) => asked == Some(share),
        }
    }

    fn find(self, scope: &Scope<'_>, access: Access) -> Result<Found<'a>, NodeError> {
        Ok(match self {
            Self::Device(file_system) => {
                let device = scope.need_device()?;
                check_device(scope, &device, access)?;
                disks::expect_live(&device)?;
                Found::Device(file_system, Box::new(device))
            }
            Self::Share(share) => Found::Share(share, shares::source(scope, share)?),
        })
    }
}

impl Found<'_> {
    /// Writes down what the mount is of.
    fn note(&self, entry: &mut Entry) {
        match self {
            Self::Device(_, device) => {
                entry.backing = device.backing;
                entry.stands_on = Some(device.id);
            }
            Self::Share(share, source) => {
                let (asked, source) = ((*share).clone(), source.clone());
                entry.share = Some(Box::new(Shared { asked, source }));
            }
        }
    }

    fn show(&self, scope: &Scope<'_>, entry: u64, plan: &MountPlan, place: &Place) -> Result<(), NodeError> {
        match self {
            Self::Device(file_system, device) => {
                fit::before_mount(scope, file_system, device, plan.access)?;
                attach(&make(file_system, &device.path, plan)?, place)
            }
            Self::Share(share, source) => shares::show(scope.engine, entry, share, source, plan, place),
        }
    }
}

/// The answer to a repeat that is none.
pub(crate) fn other_arguments(found: &Entry) -> NodeError {
    let message = format!("{} shows volume {} already, with other arguments", found.path, found.volume);
    NodeError::new(ErrorCode::AlreadyExists, message)
}

fn check_device(scope: &Scope<'_>, device: &Entry, access: Access) -> Result<(), NodeError> {
    let writing = access == Access::ReadWrite;
    if writing && device.access == Access::ReadOnly {
        let message = format!("volume {} is attached for reading only", scope.volume);
        return Err(NodeError::new(ErrorCode::Invalid, message));
    }
    let raw = |it: &Entry| it.access == Access::ReadWrite;
    if writing && scope.of_kind(EntryKind::Block).iter().any(raw) {
        let message = format!("volume {} is published as a writable raw device", scope.volume);
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    let key = scope.key();
    let unfinished = scope
        .engine
        .read(|ledger| ledger.renewal(&key.backend, &key.volume).is_some_and(|it| it.image == device.backing));
    if unfinished {
        let message = format!("giving volume {} a UUID of its own was cut off; do that again first", scope.volume);
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    Ok(())
}

/// A mount of a device, attached nowhere yet. It goes when the descriptor is closed.
pub(crate) fn make(file_system: &str, device: &str, plan: &MountPlan) -> Result<OwnedFd, NodeError> {
    let failed = |errno| {
        // `EINVAL` and `EUCLEAN` stand for whatever the file system's driver did not like.
        NodeError::system(format!("mounting {file_system} from {device}"), errno)
    };
    let context = rustix::mount::fsopen(file_system, FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed)?;
    rustix::mount::fsconfig_set_string(context.as_fd(), "source", format!("/dev/{device}")).map_err(failed)?;
    for (name, value) in &plan.parameters {
        let set = match value {
            Some(value) => rustix::mount::fsconfig_set_string(context.as_fd(), name.as_str(), value.as_str()),
            None => rustix::mount::fsconfig_set_flag(context.as_fd(), name.as_str()),
        };
        set.map_err(failed)?;
    }
    rustix::mount::fsconfig_create(context.as_fd()).map_err(failed)?;
    rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, plan.attributes).map_err(failed)
}

/// Changes a mount between writable and read-only.
pub(crate) fn set_access(scope: &Scope<'_>, target: &str, access: Access) -> Result<(), NodeError> {
    let place = scope.place(target)?;
    let mut entry = need_mounted(scope, &place)?;
    shares::expect_own(scope.engine, &entry, "the access is fixed when it is mounted")?;
    if access == Access::ReadWrite {
        check_writable(scope, &entry)?;
    }
    let node = place.node()?.ok_or_else(|| scope.nothing_at(target))?;
    let failed = |errno| NodeError::system(format!("changing the access of {}", place.real), errno);
    if access == Access::ReadWrite && is_super_read_only(&place)? {
        make_super_writable(&node).map_err(failed)?;
    }
    while_busy(|| syscalls::set_access(&node, access)).map_err(failed)?;
    entry.access = access;
    scope.engine.put(&entry)
}

/// Whether what the mount shows may be written to at all.
fn check_writable(scope: &Scope<'_>, entry: &Entry) -> Result<(), NodeError> {
    if let (EntryKind::Bind, Some(source)) = (entry.kind, &entry.source) {
        return scope.grants.node(source, Access::ReadWrite).map(drop);
    }
    let below = scope.entries().into_iter().find(|it| Some(it.id) == entry.stands_on);
    if below.is_none_or(|it| it.access == Access::ReadOnly) {
        let message = format!("what {} shows is read-only itself", entry.path);
        return Err(NodeError::new(ErrorCode::Unsupported, message));
    }
    Ok(())
}

fn is_super_read_only(place: &Place) -> Result<bool, NodeError> {
    Ok(MountTable::read()?.topmost(&place.real).is_some_and(|line| line.super_read_only))
}

fn make_super_writable(root: &OwnedFd) -> Result<(), Errno> {
    // By descriptor path: fspick takes an empty path only of descriptors that may be read.
    let flags = FsPickFlags::FSPICK_CLOEXEC;
    let context = rustix::mount::fspick(CWD, descriptor_path(root), flags)?;
    rustix::mount::fsconfig_set_flag(context.as_fd(), "rw")?;
    rustix::mount::fsconfig_reconfigure(context.as_fd())
}
