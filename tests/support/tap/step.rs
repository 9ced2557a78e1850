//! From a system call to the words for it: who does what to which file. It reads the memory of a
//! thread that waits, and leaves out what changes nothing that outlives a process.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use libc::c_long;

use super::filter::{Asked, CONTROLS, MAKING};

/// A process of the program under test.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) is_helper: bool,
}

impl Process {
    /// The process of a thread; none: it is gone, or runs another program.
    pub(super) fn of(thread: u32) -> Option<Self> {
        if std::fs::read_link(format!("/proc/{thread}/exe")).ok()? != Path::new(env!("CARGO_BIN_EXE_drivebay")) {
            return None;
        }
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let id = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
        let arguments = std::fs::read(format!("/proc/{thread}/cmdline")).ok()?;
        let is_helper = arguments.split(|byte| *byte == 0).nth(1) == Some(b"node-helper");
        Some(Self { id, is_helper })
    }
}

/// The step in words; none: it is none.
pub(super) fn name(asked: &Asked, process: &Process, roots: &[PathBuf]) -> Option<String> {
    let [first, second, third, fourth, ..] = asked.arguments;
    let thread = asked.thread;
    let open = |descriptor: u64| link(thread, descriptor).filter(|path| is_below(path, roots));
    let at = |directory: u64, path: u64| at(thread, directory, path).filter(|path| is_below(path, roots));
    let here = AT_CURRENT;
    let (verb, what) = match asked.call {
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            ("write", open(first)?)
        }
        libc::SYS_copy_file_range => ("copy into", open(third)?),
        libc::SYS_ftruncate => ("set the length of", open(first)?),
        libc::SYS_truncate => ("set the length of", at(here, first)?),
        libc::SYS_fallocate => ("allocate", open(first)?),
        libc::SYS_fchmod | libc::SYS_fchown => ("change the owner or mode of", open(first)?),
        libc::SYS_fchmodat | libc::SYS_fchownat => ("change the owner or mode of", at(first, second)?),
        libc::SYS_openat | libc::SYS_mkdirat => ("make", missing(at(first, second)?)?),
        libc::SYS_openat2 => ("make", opened(asked).and_then(|()| missing(at(first, second)?))?),
        libc::SYS_renameat | libc::SYS_renameat2 => ("rename to", at(third, fourth)?),
        libc::SYS_linkat => ("link", at(third, fourth)?),
        libc::SYS_symlinkat => ("link", at(second, third)?),
        libc::SYS_unlinkat => ("remove", at(first, second).filter(|path| is_there(path))?),
        libc::SYS_sendto => ("send", PathBuf::from(frame(thread, second, third)?)),
        libc::SYS_execve => ("run", Some(PathBuf::from(text(thread, first)?)).filter(|path| path.exists())?),
        libc::SYS_umount2 => ("unmount", PathBuf::from(text(thread, first)?)),
        libc::SYS_mount | libc::SYS_fsconfig => ("configure a mount", PathBuf::new()),
        libc::SYS_move_mount => ("attach a mount", PathBuf::new()),
        libc::SYS_mount_setattr => ("change a mount", PathBuf::new()),
        libc::SYS_ioctl => {
            let control = CONTROLS.iter().find(|(control, _)| u64::from(*control) == second & 0xFFFF_FFFF)?;
            (control.1, link(thread, first)?)
        }
        other => older(other, asked, roots)?,
    };
    let who = if process.is_helper { "helper" } else { "host" };
    Some(format!("{who}: {verb} {}", short(&what, roots)).trim_end().to_owned())
}

/// Calls that newer machines do not have.
#[cfg(target_arch = "x86_64")]
fn older(call: c_long, asked: &Asked, roots: &[PathBuf]) -> Option<(&'static str, PathBuf)> {
    let [first, second, ..] = asked.arguments;
    let at = |path: u64| at(asked.thread, AT_CURRENT, path).filter(|path| is_below(path, roots));
    match call {
        libc::SYS_rename => Some(("rename to", at(second)?)),
        libc::SYS_link | libc::SYS_symlink => Some(("link", at(second)?)),
        libc::SYS_unlink | libc::SYS_rmdir => Some(("remove", at(first).filter(|path| is_there(path))?)),
        libc::SYS_mkdir => Some(("make", missing(at(first)?)?)),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_: c_long, _: &Asked, _: &[PathBuf]) -> Option<(&'static str, PathBuf)> {
    None
}

/// Stands for the current directory, as `AT_FDCWD`.
const AT_CURRENT: u64 = u64::MAX - 99;

fn is_below(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// Making what is there is no step. A directory is where a file without a name is made.
fn missing(path: PathBuf) -> Option<PathBuf> {
    (!is_there(&path) || path.is_dir()).then_some(path)
}

/// Removing what is not there is no step.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether an `openat2` makes something.
fn opened(asked: &Asked) -> Option<()> {
    let mut flags = [0; 8];
    memory(asked.thread)?.read_exact_at(&mut flags, asked.arguments[2]).ok()?;
    (u64::from_ne_bytes(flags) & u64::from(MAKING) != 0).then_some(())
}

/// What a descriptor of a thread stands for.
fn link(thread: u32, descriptor: u64) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{thread}/fd/{}", descriptor & 0xFFFF_FFFF)).ok()
}

fn at(thread: u32, directory: u64, path: u64) -> Option<PathBuf> {
    let path = PathBuf::from(text(thread, path)?);
    if path.is_absolute() {
        return Some(path);
    }
    let directory = if directory & 0xFFFF_FFFF == AT_CURRENT & 0xFFFF_FFFF {
        std::fs::read_link(format!("/proc/{thread}/cwd")).ok()?
    } else {
        link(thread, directory)?
    };
    Some(directory.join(path))
}

/// A frame between host and helper: what is asked for, or that it is answered. All else that is sent
/// is none of ours.
fn frame(thread: u32, buffer: u64, length: u64) -> Option<String> {
    let mut bytes = vec![0; usize::try_from(length.min(16_384)).ok()?];
    memory(thread)?.read_exact_at(&mut bytes, buffer).ok()?;
    let text = std::str::from_utf8(bytes.strip_prefix(&[0])?).ok()?;
    let frame: serde_json::Value = serde_json::from_str(text).ok()?;
    if frame.get("result").is_some() {
        return Some("the answer".to_owned());
    }
    let operation = frame.get("request")?.get("operation")?;
    let word = operation.as_str().or_else(|| operation.as_object()?.keys().next().map(String::as_str))?;
    Some(format!("request {word}"))
}

fn text(thread: u32, address: u64) -> Option<String> {
    let memory = memory(thread)?;
    let mut bytes = [0; 4_096];
    // Near the end of a mapping fewer can be read.
    let read = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..read].iter().position(|byte| *byte == 0)?;
    String::from_utf8(bytes[..end].to_vec()).ok()
}

fn memory(thread: u32) -> Option<File> {
    File::open(format!("/proc/{thread}/mem")).ok()
}

/// Without the roots and without the numbers that differ from run to run.
fn short(path: &Path, roots: &[PathBuf]) -> String {
    let below = roots.iter().find_map(|root| path.strip_prefix(root.parent()?).ok()).unwrap_or(path);
    let is_number =
        |part: &str| part.len() >= 16 && part.bytes().all(|b| b.is_ascii_hexdigit() || b"-._#".contains(&b));
    let part = |part: &str| {
        let stem = part.split('.').next().unwrap_or_default();
        if is_number(stem) || part.starts_with('#') { part.replacen(stem, "*", 1) } else { part.to_owned() }
    };
    below.to_str().unwrap_or_default().split('/').map(part).collect::<Vec<_>>().join("/")
}
