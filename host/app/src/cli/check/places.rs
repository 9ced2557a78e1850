//! The places that a configuration names on this machine: directories, sockets, programs. Looks only;
//! makes and opens nothing, so that a check beside a running host disturbs nobody.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Access, access};

use drivebay_files::{Absent, Programs};
use drivebay_policy::{BackendConfig, HostConfig};

/// The imports behind which file systems are made, grown and copied.
const WORK: [&str; 2] = ["drivebay:host/files@", "drivebay:host/mounts@"];

/// What is wrong with the host's own places.
pub(super) fn host(config: &HostConfig) -> Vec<String> {
    let admin = config.admin.as_deref().and_then(|path| socket("host.admin", path));
    directory_to_be("host.state", &config.state).into_iter().chain(admin).collect()
}

/// What is wrong with the places of a backend.
pub(super) fn backend(config: &BackendConfig) -> Vec<String> {
    let sockets = &config.sockets;
    let sockets = [
        ("csi", &sockets.csi),
        ("csi-controller", &sockets.controller),
        ("csi-node", &sockets.node),
        ("addons", &sockets.addons),
    ];
    let sockets = sockets.into_iter().filter_map(|(key, path)| socket(key, path.as_deref()?));
    let grants = config.grants.directories.iter().filter_map(|grant| {
        let write = if grant.write { Need::Writing } else { Need::Reading };
        granted(&grant.host, write).map(|words| format!("grants.directories: {words}"))
    });
    sockets.chain(grants).collect()
}

/// What this machine lacks for a component that wants work on files or on the node.
pub(super) fn programs(imports: &[String], programs: &Programs) -> Vec<String> {
    let wants = |import: &String| WORK.iter().any(|name| import.starts_with(name));
    let absent = if imports.iter().any(wants) { programs.absent() } else { Vec::new() };
    let words = absent.into_iter().map(|Absent { file_system, programs, package }| {
        let verb = if programs.len() == 1 { "is" } else { "are" };
        let programs = programs.join(", ");
        format!(
            "{programs} {verb} not installed on this machine, so volumes with {file_system} cannot be made or cannot \
             be grown and copied here: install {package}"
        )
    });
    words.collect()
}

/// What a directory is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Reading,
    Writing,
}

fn granted(path: &Path, need: Need) -> Option<String> {
    match fs::metadata(path) {
        Err(error) => Some(format!("{}: {error}; make the directory, or correct the path", path.display())),
        Ok(found) if !found.is_dir() => Some(format!("{}: this is no directory", path.display())),
        Ok(_) if need == Need::Writing => not_writable(path),
        Ok(_) => None,
    }
}

/// A socket that is made when the host starts.
fn socket(key: &str, path: &Path) -> Option<String> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
        return Some(format!("{key}: {}: there is a file that is no socket; choose another path", path.display()));
    }
    path.parent().and_then(|directory| directory_to_be(key, directory))
}

/// A directory that is made if it is not there.
fn directory_to_be(key: &str, path: &Path) -> Option<String> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let wrong = if existing.is_dir() {
        not_writable(existing)
    } else {
        Some(format!("{}: this is no directory", existing.display()))
    };
    wrong.map(|words| format!("{key}: {words}"))
}

fn not_writable(path: &Path) -> Option<String> {
    access(path, Access::WRITE_OK | Access::EXEC_OK).err().map(|error| {
        let error = std::io::Error::from(error);
        format!("{}: not writable by the user who runs this check, uid {} ({error})", path.display(), user())
    })
}

fn user() -> u32 {
    rustix::process::getuid().as_raw()
}
