//! The system calls that make a view: a namespace with an empty root, copies of mounts, what they are attached to.
//!
//! Owns the unsafe code of views. It must not decide what is shown.

use std::ffi::{OsStr, c_long, c_uint};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, mkdirat, openat2, renameat, symlinkat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::plan::Bind;

type Result<T> = rustix::io::Result<T>;

/// Nobody else may have put a link on the way since it was looked at.
const PLAIN: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
/// The same on every architecture that Linux knows, but Alpha.
const MOUNT_SETATTR: c_long = 442;
const AT_EMPTY_PATH: c_uint = 0x1000;
const AT_RECURSIVE: c_uint = 0x8000;
/// What is mounted later where it was copied from is mounted here as well, and nothing the other way.
const MS_SLAVE: u64 = 1 << 19;

/// `struct mount_attr`, first version.
#[repr(C)]
#[derive(Debug)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

#[allow(unsafe_code, reason = "the C library's own symbol; the standard library links it anyway")]
// SAFETY: declared as in the C library.
unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

#[allow(unsafe_code, reason = "rustix does not have mount_setattr")]
fn set_attributes(mount: impl AsFd, set: MountAttrFlags, propagation: u64, flags: c_uint) -> Result<()> {
    let attributes = MountAttributes { set: set.bits().into(), clear: 0, propagation, user_namespace: 0 };
    // SAFETY: the call reads an empty C string and one `mount_attr` of the size that it is told.
    let result = unsafe {
        syscall(
            MOUNT_SETATTR,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags | AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

/// A new namespace, and its root, for the thread that may write there.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) namespace: OwnedFd,
    pub(super) root: OwnedFd,
}

/// Makes a namespace whose root is empty but for `/proc`, which shows its user's own processes as far as they could be
/// traced, and nothing of the system. `aside` is any directory. The calling thread's own stays what it is.
pub(super) fn make(aside: PathBuf) -> Result<Made> {
    in_thread(move || {
        // A thread's own: others of this process stay where they are.
        leave(UnshareFlags::NEWNS)?;
        let namespace = rustix::fs::open("/proc/thread-self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
        let options = [("mode", "0755"), ("size", "16m")];
        let root =
            file_system("tmpfs", &options, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV)?;
        attach(&root, CWD, aside.as_os_str())?;
        fchdir(&root)?;
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        chdir("/")?;
        let writable = open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
        mkdirat(&writable, "proc", Mode::from_raw_mode(0o555))?;
        let flags = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let proc = file_system("proc", &[("hidepid", "ptraceable"), ("subset", "pid")], flags)?;
        attach(&proc, CWD, OsStr::new("/proc"))?;
        set_attributes(&root, MountAttrFlags::MOUNT_ATTR_RDONLY, 0, 0)?;
        Ok(Made { namespace, root: writable })
    })
}

fn file_system(kind: &str, options: &[(&str, &str)], flags: MountAttrFlags) -> Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(&context, *key, *value)?;
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

fn attach(mount: &OwnedFd, directory: impl AsFd, path: &OsStr) -> Result<()> {
    move_mount(mount, "", directory, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// A copy of the mount at a path, which is nowhere yet, with the rights that it is shown with.
pub(super) fn copy(path: &Path, bind: &Bind) -> Result<OwnedFd> {
    let node = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), PLAIN)?;
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    flags.set(OpenTreeFlags::AT_RECURSIVE, bind.below);
    let tree = open_tree(&node, "", flags)?;
    let mut set = MountAttrFlags::MOUNT_ATTR_NOSUID;
    set.set(MountAttrFlags::MOUNT_ATTR_NODEV, !bind.source.is_device);
    set.set(MountAttrFlags::MOUNT_ATTR_RDONLY, !bind.write);
    set_attributes(&tree, set, MS_SLAVE, AT_RECURSIVE)?;
    Ok(tree)
}

/// An empty directory that nobody can write to, which is nowhere yet.
pub(super) fn empty() -> Result<OwnedFd> {
    let flags = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    file_system("tmpfs", &[("mode", "0500"), ("size", "4k")], flags)
}

/// Mounts that are nowhere yet as one: the others attached within the first, each at its path in this namespace.
pub(super) fn joined(
    namespace: BorrowedFd<'_>,
    first: (PathBuf, OwnedFd),
    others: Vec<(PathBuf, OwnedFd)>,
) -> Result<OwnedFd> {
    let namespace =
        namespace.try_clone_to_owned().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    // In a copy of it, which ends with the thread: nobody sees them in between. A copy of the system's own would keep busy for
    // a moment whatever is mounted on the machine.
    in_thread(move || {
        leave(UnshareFlags::FS)?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
        leave(UnshareFlags::NEWNS)?;
        mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
        let root = first.0.clone();
        for (path, mount) in std::iter::once(first).chain(others) {
            attach_at(&mount, &path)?;
        }
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        open_tree(CWD, &root, flags)
    })
}

/// Attaches a mount where whatever stands there is hidden by it from then on.
fn attach_at(mount: &OwnedFd, path: &Path) -> Result<()> {
    let point = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), PLAIN)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", &point, "", flags)
}

/// Makes what a mount is attached to, and everything above it.
pub(super) fn make_point(root: &OwnedFd, path: &Path, is_directory: bool) -> Result<()> {
    let below = below(path)?;
    make_directories(root, if is_directory { below } else { below.parent().unwrap_or(Path::new("")) })?;
    if is_directory {
        return Ok(());
    }
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    openat2(root, below, flags, Mode::from_raw_mode(0o444), PLAIN).map(drop)
}

/// Takes away what a mount was attached to, unless something else is in it.
pub(super) fn remove_point(root: &OwnedFd, path: &Path) {
    let Ok(below) = below(path) else { return };
    if unlinkat(root, below, AtFlags::REMOVEDIR) == Err(Errno::NOTDIR) {
        let _ = unlinkat(root, below, AtFlags::empty());
    }
}

/// Makes directories, each with all above it.
pub(super) fn make_directories(root: &OwnedFd, below: &Path) -> Result<()> {
    let mut made = PathBuf::new();
    for part in below {
        made.push(part);
        match mkdirat(root, &made, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Puts a link where one may be already.
pub(super) fn link(root: &OwnedFd, path: &Path, target: &Path) -> Result<()> {
    let below = below(path)?;
    make_directories(root, below.parent().unwrap_or(Path::new("")))?;
    let part = Path::new(".link");
    match unlinkat(root, part, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno),
    }
    symlinkat(target, root, part)?;
    renameat(root, part, root, below)
}

/// Takes a link away.
pub(super) fn unlink(root: &OwnedFd, path: &Path) -> Result<()> {
    unlinkat(root, below(path)?, AtFlags::empty())
}

fn below(path: &Path) -> Result<&Path> {
    path.strip_prefix("/").map_err(|_| Errno::INVAL)
}

/// Takes mounts away in a namespace, and attaches copies; gives what was refused.
pub(super) fn change(
    namespace: BorrowedFd<'_>,
    go: Vec<PathBuf>,
    come: Vec<(PathBuf, OwnedFd)>,
) -> Result<Vec<(PathBuf, Errno)>> {
    let namespace =
        namespace.try_clone_to_owned().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    in_thread(move || {
        leave(UnshareFlags::FS)?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
        for path in go {
            // It went with what it stood on, or with what it was copied from.
            let _ = unmount(&path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        }
        let mut refused = Vec::new();
        for (path, copy) in come {
            if let Err(errno) = attach_at(&copy, &path) {
                refused.push((path, errno));
            }
        }
        Ok(refused)
    })
}

#[allow(unsafe_code, reason = "the call is unsafe for other flags")]
fn leave(flags: UnshareFlags) -> Result<()> {
    // SAFETY: the table of descriptors stays shared.
    unsafe { unshare_unsafe(flags) }
}

/// A thread has a working directory and a namespace of its own, once it leaves that of its process.
fn in_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let started = thread::Builder::new().name("view".to_owned()).spawn(work);
    let started = started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
    started.join().unwrap_or(Err(Errno::IO))
}
