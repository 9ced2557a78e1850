//! What every view shows of the system, whatever is configured: programs and their libraries, a few devices, the
//! files that names and certificates are found by. And which directories are everybody's.
//!
//! Words only. It must not look at any file.

use std::path::{Path, PathBuf};

use crate::visible::{Visibility, Visible};

/// Programs and libraries, to read: file systems are made by the distribution's programs.
const TREES: [&str; 9] = ["/bin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/sbin", "/usr", "/sys/fs/cgroup"];
/// Which image is behind which loop device, to read; and anchors of authorities, as distributions keep them.
const DIRECTORIES: [&str; 8] = [
    "/sys/block",
    "/sys/devices/virtual/block",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/ca-certificates",
    "/var/lib/ca-certificates",
    "/usr/local/share/ca-certificates",
];
/// What names are resolved by, programs are loaded by, and file systems are made by.
const FILES: [&str; 16] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/mke2fs.conf",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
];
/// Variables that name other anchors.
const ANCHORS: [(&str, Visibility); 2] = [("SSL_CERT_FILE", Visibility::Alone), ("SSL_CERT_DIR", Visibility::Read)];

/// Directories in which many have files: none of them is shown as a whole because of one file.
const EVERYBODYS: [&str; 24] = [
    "/",
    "/boot",
    "/dev",
    "/etc",
    "/etc/pki",
    "/etc/ssl",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/run/lock",
    "/run/user",
    "/srv",
    "/sys",
    "/tmp",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/run",
    "/var/tmp",
];

/// What a program of the host finds, whatever is configured.
pub(super) fn visible() -> Vec<Visible> {
    let shown = |how: Visibility| move |path: &&str| Visible { path: PathBuf::from(path), how };
    let trees = TREES.iter().chain(&DIRECTORIES).map(shown(Visibility::Read));
    // Where the host looks for programs; homes are nobody's business.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_home = |directory: &Path| ["/root", "/home"].iter().any(|home| directory.starts_with(home));
    let programs = std::env::split_paths(&path).filter(|directory| !is_everybodys(directory) && !is_home(directory));
    let programs = programs.map(|path| Visible { path, how: Visibility::Read });
    let anchors = ANCHORS.iter().filter_map(|(name, how)| {
        let path = PathBuf::from(std::env::var_os(name)?);
        Some(Visible { path, how: *how })
    });
    let all = trees.chain(programs).chain(anchors).chain(FILES.iter().map(shown(Visibility::Alone)));
    all.filter(|visible| visible.path.is_absolute()).collect()
}

/// Whether many have files in a directory, each its own.
pub(super) fn is_everybodys(directory: &Path) -> bool {
    let home = directory.parent() == Some(Path::new("/home"));
    home || EVERYBODYS.iter().any(|everybodys| directory == Path::new(everybodys))
}
