//! A node for tests: a temporary directory with state, pool and pod paths, and a helper of its own.
//!
//! Owns setting up and, whatever happened, tidying up: on drop everything that is mounted beneath
//! the directory is unmounted and every loop device on its images freed.

use std::fs::{self, File};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::client::Launch;
use crate::helper::system::table::MountTable;
use crate::{
    Access, CallPath, Caller, DirectoryGrant, Mandate, MountRequest, Node, NodeError, PathRole, Permissions,
    PermissionsByName, Publication, PublicationKind,
};

pub(super) const BACKEND: &str = "local";
/// What a call of these tests names, unless it says otherwise.
const VOLUMES: [&str; 3] = ["v", "w", "x"];
/// What is permitted in most tests, but for directories.
pub(super) const PERMISSIONS: Permissions =
    Permissions { directories: Vec::new(), mount_options: Vec::new(), devices: 256, attach: Vec::new() };
pub(super) const MIB: u64 = 1024 * 1024;

/// Whether these tests can mount; says so when they cannot.
pub(super) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: needs root");
    }
    root
}

pub(super) struct Site {
    pub(super) node: Node,
    pub(super) mandate: Mandate,
    directory: TempDir,
}

fn directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("drivebay-node.").tempdir().unwrap();
    for name in ["state", "pool", "pods"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    directory
}

/// What the backend is granted in most tests.
pub(super) fn grants(root: &Path) -> Vec<DirectoryGrant> {
    let grant = |guest: &str, write| DirectoryGrant { host: root.join("pool"), guest: guest.to_owned(), write };
    vec![grant("/pool", true), grant("/frozen-pool", false)]
}

/// A configuration of one backend.
fn only(directories: Vec<DirectoryGrant>) -> PermissionsByName {
    [(BACKEND.to_owned(), Permissions { directories, ..PERMISSIONS })].into()
}

/// How the helper of these tests understands a configuration.
pub(super) fn read_permissions(_name: &str, text: &str) -> Result<PermissionsByName, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl Site {
    pub(super) fn new() -> Self {
        Self::granting(grants)
    }

    /// A node with other roots below its directory.
    pub(super) fn rooted(make: impl FnOnce(&Path) -> Vec<PathBuf>) -> Self {
        Self::with(|root| (only(grants(root)), make(root)))
    }

    /// A node whose backend has other grants, below a directory that is there.
    pub(super) fn granting(make: impl FnOnce(&Path) -> Vec<DirectoryGrant>) -> Self {
        Self::configured(|root| only(make(root)))
    }

    /// A node with other backends.
    pub(super) fn configured(make: impl FnOnce(&Path) -> PermissionsByName) -> Self {
        Self::with(|root| (make(root), vec![root.join("pods")]))
    }

    /// Permissions and roots, in a file that the helper can read again.
    fn with(make: impl FnOnce(&Path) -> (PermissionsByName, Vec<PathBuf>)) -> Self {
        let directory = directory();
        let (backends, targets) = make(directory.path());
        let file = directory.path().join("configuration");
        fs::write(&file, serde_json::to_string(&backends).unwrap()).unwrap();
        let mandate =
            Mandate { state_dir: directory.path().join("state"), targets, backends, file: Some(file), unshared: false };
        let node = Node::start(launch(mandate.clone())).unwrap();
        let site = Self { node, mandate, directory };
        wait(site.node.recover()).unwrap();
        site
    }

    /// Writes the configuration as the operator does.
    pub(super) fn configure(&self, backends: &PermissionsByName) {
        fs::write(self.path("configuration"), serde_json::to_string(backends).unwrap()).unwrap();
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A path beneath `pods`, as text.
    pub(super) fn pod(&self, name: &str) -> String {
        self.path("pods").join(name).to_str().unwrap().to_owned()
    }

    /// A path beneath `pods` that exists as a directory.
    pub(super) fn staging(&self, name: &str) -> String {
        let path = self.pod(name);
        fs::create_dir(&path).unwrap();
        path
    }

    /// An image with a file system, and its path for the backend.
    pub(super) fn image(&self, name: &str, file_system: &str) -> String {
        let path = self.path("pool").join(name);
        File::create(&path).unwrap().set_len(smallest(file_system)).unwrap();
        let force = if file_system == "ext4" { "-F" } else { "-f" };
        if file_system != "raw" {
            run(&format!("mkfs.{file_system}"), &[force, "-q", path.to_str().unwrap()]);
        }
        format!("/pool/{name}")
    }

    /// Attaches a new image and mounts it at a new staging path.
    pub(super) fn staged(&self, call: &Caller, volume: &str, file_system: &str) -> String {
        let image = self.image(&format!("{volume}.img"), file_system);
        let staging = self.staging(&format!("{volume}-staging"));
        let caller = with(call, PathRole::Staging, &staging);
        wait(self.node.attach_image(&caller, volume, &image, Access::ReadWrite)).unwrap();
        wait(self.node.mount_device(&caller, request(volume, &staging, file_system))).unwrap();
        staging
    }

    /// Ends the helper as a crash would, and starts the next one.
    pub(super) fn crash(&self) -> crate::RecoveryReport {
        self.kill();
        wait(self.node.respawn()).unwrap().expect("the old helper was gone")
    }

    pub(super) fn kill(&self) {
        kill(&self.node);
        wait(self.node.closed());
    }

    /// What is mounted at or beneath the directory, in the order in which it can be unmounted.
    pub(super) fn mounts(&self) -> Vec<String> {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let root = self.directory.path().to_str().unwrap();
        let places = text.lines().filter_map(|line| line.split(' ').nth(4));
        let mut places: Vec<_> = places.filter(|it| it.starts_with(root)).map(str::to_owned).collect();
        places.reverse();
        places
    }

    /// The loop devices on images of this directory.
    pub(super) fn loops(&self) -> Vec<String> {
        let root = self.directory.path().to_str().unwrap();
        let mut names = Vec::new();
        for device in fs::read_dir("/sys/block").unwrap() {
            let path = device.unwrap().path();
            let backing = fs::read_to_string(path.join("loop/backing_file")).unwrap_or_default();
            if backing.starts_with(root) {
                names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
            }
        }
        names.sort();
        names
    }

    /// Nothing mounted, nothing attached, nothing in the ledger.
    pub(super) fn assert_clean(&self) {
        assert_eq!(self.mounts(), Vec::<String>::new(), "mounts");
        assert_eq!(self.loops(), Vec::<String>::new(), "loop devices");
        let caller = call("listing", &[]);
        assert_eq!(wait(self.node.list_entries(&caller, None)).unwrap(), vec![], "entries");
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // After the helper's end nothing is frozen any more, or a thaw below would have to be first.
        if !self.node.is_closed() {
            self.kill();
        }
        for place in self.mounts() {
            if let Ok(root) = File::open(&place) {
                let _ = crate::helper::system::syscalls::thaw(&root);
            }
            let _ = rustix::mount::unmount(&place, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        }
        for name in self.loops() {
            let _ = Command::new("losetup").arg("-d").arg(format!("/dev/{name}")).status();
        }
    }
}

/// Kills a node's helper; the handle learns of it a moment later.
pub(super) fn kill(node: &Node) {
    let process = i32::try_from(node.process_id()).unwrap();
    rustix::process::kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
}

/// This test binary as the helper.
pub(super) fn launch(mandate: Mandate) -> Launch {
    let module = module_path!().split_once("::").unwrap().1.rsplit_once("::").unwrap().0;
    let entry = format!("{module}::helper_entry");
    Launch::Program {
        exe: std::env::current_exe().unwrap(),
        arguments: vec![entry, "--exact".to_owned(), "--nocapture".to_owned()],
        variable: super::HELPER_VARIABLE,
        mandate,
    }
}

pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

pub(super) fn call(id: &str, paths: &[(PathRole, &str)]) -> Caller {
    let path = |(role, path): &(PathRole, &str)| CallPath { role: *role, path: (*path).to_owned() };
    let volumes = VOLUMES.map(str::to_owned).to_vec();
    Caller { backend: BACKEND.to_owned(), call: id.to_owned(), volumes, paths: paths.iter().map(path).collect() }
}

pub(super) fn with(caller: &Caller, role: PathRole, path: &str) -> Caller {
    let mut caller = caller.clone();
    caller.paths.push(CallPath { role, path: path.to_owned() });
    caller
}

pub(super) fn request(volume: &str, target: &str, file_system: &str) -> MountRequest {
    MountRequest {
        volume: volume.to_owned(),
        target: target.to_owned(),
        file_system: file_system.to_owned(),
        options: Vec::new(),
        access: Access::ReadWrite,
    }
}

pub(super) fn publication(volume: &str, kind: PublicationKind, path: &str) -> Publication {
    Publication {
        volume: volume.to_owned(),
        kind,
        path: path.to_owned(),
        fingerprint: "f".to_owned(),
        access_mode: "SINGLE_NODE_WRITER".to_owned(),
        readonly: false,
    }
}

pub(super) fn code<T: std::fmt::Debug>(result: Result<T, NodeError>) -> crate::ErrorCode {
    result.unwrap_err().code
}

pub(super) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(super) fn is_mount(path: impl AsRef<Path>) -> bool {
    MountTable::read().unwrap().topmost(path.as_ref().to_str().unwrap()).is_some()
}

fn smallest(file_system: &str) -> u64 {
    match file_system {
        "xfs" => 320 * MIB,
        "btrfs" => 160 * MIB,
        _ => 32 * MIB,
    }
}
