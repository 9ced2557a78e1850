//! The places that a configuration names on this machine: directories, sockets, programs. Looks only,
//! with the functions of serving where there are some; makes nothing, so that a check beside a running host disturbs
//! nobody.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use rustix::fs::{Access, access};

use crate::admin::AdminError;
use crate::host::unusable_state;
use drivebay_files::{Absent, Programs};
use drivebay_policy::grants::attach::AttachGrant;
use drivebay_policy::{BackendConfig, HostConfig};
use drivebay_server::listener::{self, ListenError};

/// The imports behind which file systems are made, grown and copied.
const WORK: [&str; 2] = ["drivebay:host/files@", "drivebay:host/mounts@"];

/// The import behind which storage is attached.
const ATTACH: &str = "drivebay:host/attach@";
/// What is attached by which program, and the packages that have it.
const CLIENTS: [(Protocol, &str, &str, &str); 5] = [
    (Protocol::Nfs, "NFS", "mount.nfs", "nfs-common (Debian, Ubuntu) or nfs-utils"),
    (Protocol::Iscsi, "iSCSI", "iscsiadm", "open-iscsi (Debian, Ubuntu) or iscsi-initiator-utils"),
    (
        Protocol::Iscsi,
        "iSCSI over several portals",
        "multipathd",
        "multipath-tools (Debian, Ubuntu) or device-mapper-multipath",
    ),
    (Protocol::Iscsi, "iSCSI and encrypted", "cryptsetup", "cryptsetup-bin (Debian, Ubuntu) or cryptsetup"),
    (Protocol::Iscsi, "iSCSI and encrypted", "dmsetup", "dmsetup (Debian, Ubuntu) or device-mapper"),
];

/// By what storage is attached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Nfs,
    Iscsi,
    NvmeTcp,
}

impl From<&AttachGrant> for Protocol {
    fn from(grant: &AttachGrant) -> Self {
        match grant {
            AttachGrant::Nfs(_) => Self::Nfs,
            AttachGrant::Iscsi(_) => Self::Iscsi,
            AttachGrant::NvmeTcp(_) => Self::NvmeTcp,
        }
    }
}

/// What was found out about places.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Serving would not begin, or fail later.
    pub(super) problems: Vec<String>,
    /// Serving would not begin now, because somebody is there: a host that serves this already, perhaps.
    pub(super) taken: Vec<String>,
}

impl Found {
    fn problem(&mut self, words: Option<String>) {
        self.problems.extend(words);
    }

    /// A socket that is made when the host starts.
    fn socket(&mut self, key: &str, path: &Path) {
        match listener::judge(path) {
            Ok(()) => self.problem(path.parent().and_then(|directory| directory_to_be(key, directory))),
            Err(error @ ListenError::InUse(_)) => self.taken.push(taken(&format!("{key}: {error}"))),
            Err(error) => self.problems.push(format!("{key}: {error}")),
        }
    }

    fn address(&mut self, address: SocketAddr) {
        if let Err(source) = TcpListener::bind(address) {
            let is_taken = source.kind() == ErrorKind::AddrInUse;
            let words = AdminError::Http { address, source }.to_string();
            if is_taken { self.taken.push(taken(&words)) } else { self.problems.push(words) }
        }
    }
}

fn taken(words: &str) -> String {
    format!("{words} (unless it is the host that serves this configuration already)")
}

/// What is wrong with the host's own places.
pub(super) fn host(config: &HostConfig) -> Found {
    let mut found = Found::default();
    found.problem(directory_to_be(&unusable_state(&config.state), &config.state));
    if let Some(path) = &config.admin {
        found.socket("host.admin", path);
    }
    if let Some(address) = config.http {
        found.address(address);
    }
    found
}

/// What is wrong with the places of a backend, beside what loading it finds.
pub(super) fn backend(config: &BackendConfig) -> Found {
    let mut found = Found::default();
    let sockets = &config.sockets;
    for (key, path) in [
        ("csi", &sockets.csi),
        ("csi-controller", &sockets.controller),
        ("csi-node", &sockets.node),
        ("addons", &sockets.addons),
    ] {
        if let Some(path) = path {
            found.socket(key, path);
        }
    }
    for grant in config.grants.directories.iter().filter(|grant| grant.write && grant.host.is_dir()) {
        found.problem(not_writable(&grant.host).map(|words| format!("grants.directories: {words}")));
    }
    found
}

/// What this machine lacks for a component that wants work on files or on the node. Where nothing is granted yet, any
/// protocol may be meant.
pub(super) fn programs(imports: &[String], granted: &[AttachGrant], programs: &Programs) -> Vec<String> {
    let wants = |import: &String| WORK.iter().any(|name| import.starts_with(name));
    let absent = if imports.iter().any(wants) { programs.absent() } else { Vec::new() };
    let attaches = imports.iter().any(|import| import.starts_with(ATTACH));
    let meant = |protocol| granted.is_empty() || granted.iter().any(|grant| Protocol::from(grant) == protocol);
    let lacks = |(protocol, _, program, _): &&(Protocol, &str, &str, &str)| {
        attaches && meant(*protocol) && !programs.has(program)
    };
    let without = CLIENTS.iter().filter(lacks).map(|(_, protocol, program, packages)| {
        format!(
            "{program} is not installed on this machine, so nothing is attached by {protocol} here: install {packages}"
        )
    });
    let words = absent.into_iter().map(|Absent { file_system, programs, package }| {
        let verb = if programs.len() == 1 { "is" } else { "are" };
        let programs = programs.join(", ");
        format!(
            "{programs} {verb} not installed on this machine, so volumes with {file_system} cannot be made or cannot \
             be grown and copied here: install {package}"
        )
    });
    words.chain(without).collect()
}

/// What this machine lacks for what is attached by the kernel alone, and is granted. `root` is the machine's.
pub(super) fn kernel(granted: &[AttachGrant], root: &Path) -> Vec<String> {
    if !granted.iter().any(|grant| Protocol::from(grant) == Protocol::NvmeTcp) {
        return Vec::new();
    }
    let needed = [
        ("dev/nvme-fabrics", "modprobe nvme_tcp, and name nvme_tcp in /etc/modules-load.d"),
        (
            "etc/nvme/hostnqn",
            "write the node's NVMe host name there, and tell it to the array (package nvme-cli makes one: nvme gen-hostnqn)",
        ),
    ];
    let lacking = needed.iter().filter(|(path, _)| !root.join(path).exists());
    lacking
        .map(|(path, remedy)| format!("/{path} is not there, so nothing is attached by NVMe/TCP here: {remedy}"))
        .collect()
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
