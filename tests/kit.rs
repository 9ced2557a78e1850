//! The vendor's commands, by the program alone. That projects build in every language is `.ci/vendor`'s; here `dev` serves
//! components that are built already, so no toolchain is waited for.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::identity_client::IdentityClient;
use drivebay_proto::pb::csi::v1::node_client::NodeClient;
use drivebay_proto::pb::csi::v1::{
    CreateVolumeRequest, GetPluginInfoRequest, NodePublishVolumeRequest, NodeUnpublishVolumeRequest,
};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use crate::support::shelf::{stamped, version};
use crate::support::{Guest, PATIENCE, expect, refused, requests};

fn drivebay(words: &[&str], directory: &Path) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.args(words).current_dir(directory).output().unwrap()
}

#[test]
fn the_contract_is_in_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let done = drivebay(&["wit", "wit"], directory.path());
    assert!(done.status.success(), "{done:?}");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("wit");
    for file in ["types.wit", "deps/host/state.wit", "README.md"] {
        let written = std::fs::read(directory.path().join("wit").join(file)).unwrap();
        assert!(written == std::fs::read(ours.join(file)).unwrap(), "{file}");
    }
    let done = drivebay(&["wit", "wit/deps", "--flat"], directory.path());
    assert!(done.status.success(), "{done:?}");
    assert!(directory.path().join("wit/deps/backend/types.wit").is_file());
}

#[test]
fn a_project_is_made_once_and_its_name_is_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let done = drivebay(&["new", "my-array", "--lang", "go"], directory.path());
    assert!(done.status.success(), "{done:?}");
    assert!(directory.path().join("my-array/go.mod").is_file());
    for (words, said) in [(["new", "my-array"], "is not empty"), (["new", "My_Array"], "cannot be a project's name")] {
        let refused = drivebay(&words, directory.path());
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(said), "{refused:?}");
    }
}

/// Bindings for both languages, from both layouts of the contract, and what is no core module.
#[test]
fn bindings_and_components_are_made_or_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    assert!(drivebay(&["new", "my-array", "--lang", "go", "--dir", "."], place).status.success());
    let done = drivebay(&["component", "bindings", "go", "-o", "bindings", "wit"], place);
    assert!(done.status.success(), "{done:?}");
    let exports = std::fs::read_to_string(place.join("bindings/wit_exports/wit_exports.go")).unwrap();
    assert!(exports.contains("\"my-array/export_drivebay_backend_volumes\""), "{exports}");
    let done = drivebay(&["component", "bindings", "c", "-o", "c", "wit"], place);
    assert!(done.status.success(), "{done:?}");
    assert!(place.join("c/backend.h").is_file() && place.join("c/backend_component_type.o").is_file());
    std::fs::write(place.join("core.wasm"), b"\0asm\x01\0\0\0").unwrap();
    let refused = drivebay(&["component", "new", "core.wasm", "-o", "out.wasm", "--wit", "wit"], place);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(words.contains("core.wasm becomes no component") && words.contains("identity"), "{words}");
    assert!(!place.join("out.wasm").exists());
}

/// A project whose build copies a file.
struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    fn with(component: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let plan = "component = 'built.wasm'\nbuild = ['cp source.wasm built.wasm']\nwatch = ['source.wasm']\n";
        std::fs::write(directory.path().join("dev.toml"), plan).unwrap();
        std::fs::write(directory.path().join("source.wasm"), component).unwrap();
        Self { directory }
    }

    fn edit(&self, component: &[u8]) {
        std::fs::write(self.directory.path().join("source.wasm"), component).unwrap();
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join(".dev")
    }

    async fn connect(&self) -> Channel {
        let uri = format!("unix://{}", self.place().join("csi.sock").display());
        Endpoint::try_from(uri).unwrap().connect().await.unwrap()
    }
}

/// `drivebay dev`, and what it prints.
struct Dev {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Dev {
    fn start(project: &Project) -> Self {
        let mut dev = Command::new(env!("CARGO_BIN_EXE_drivebay"));
        dev.arg("dev").current_dir(project.directory.path()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = dev.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, said }
    }

    /// The next line that has these words.
    async fn says(&mut self, words: &str) -> String {
        let (begin, mut before) = (Instant::now(), String::new());
        loop {
            let line = tokio::time::timeout(PATIENCE.saturating_sub(begin.elapsed()), self.said.next_line()).await;
            match line {
                Ok(Ok(Some(line))) if line.contains(words) => return line,
                Ok(Ok(Some(line))) => before = format!("{before}{line}\n"),
                _ => panic!("it never says {words}:\n{before}"),
            }
        }
    }

    /// The last that it says.
    async fn interrupted(&mut self) -> String {
        self.interrupt().await;
        let mut said = String::new();
        while let Ok(Some(line)) = self.said.next_line().await {
            said = format!("{said}{line}\n");
        }
        said
    }

    async fn interrupt(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap();
        assert!(ended.success(), "{ended}");
    }
}

#[tokio::test]
async fn calls_are_shown_and_never_refused_for_those_before_them() {
    let project = Project::with(&std::fs::read(Guest("minimal-rust").path()).unwrap());
    let mut dev = Dev::start(&project);
    dev.says("serving: unix://").await;
    let mut client = ControllerClient::new(project.connect().await);
    client.create_volume(requests::create("a")).await.unwrap();
    dev.says("info volumes: a is vol-").await;
    let line = dev.says("CreateVolume").await;
    assert!(line.contains("OK") && line.ends_with(" ms"), "{line}");
    let crash =
        CreateVolumeRequest { parameters: [("trap".to_owned(), "1".to_owned())].into(), ..requests::create("b") };
    for _ in 0..7 {
        expect(&refused(client.create_volume(crash.clone()).await), Code::Unavailable, "the backend crashed");
        dev.says("the backend crashed").await;
    }
    client.create_volume(requests::create("c")).await.unwrap();
    dev.interrupt().await;
    assert!(!project.place().exists(), "nothing is left of it");
}

#[tokio::test]
async fn a_change_is_built_and_swapped_in_and_a_broken_one_leaves_what_serves() {
    let echo = |n| stamped(Guest("echo"), &[("version", &version(n))]);
    let project = Project::with(&echo(2));
    let mut dev = Dev::start(&project);
    dev.says("serving: unix://").await;
    let mut client = IdentityClient::new(project.connect().await);
    let mut serves =
        async || client.get_plugin_info(GetPluginInfoRequest {}).await.unwrap().into_inner().vendor_version;
    assert_eq!(serves().await, version(2));
    // A lower version: developers go back, too.
    project.edit(&echo(1));
    dev.says("changed: source.wasm").await;
    dev.says("built in").await;
    dev.says("generation 2 serves").await;
    assert_eq!(serves().await, version(1));
    project.edit(b"no component");
    dev.says("does not begin as a WebAssembly file").await;
    assert_eq!(serves().await, version(1));
    dev.interrupt().await;
}

/// Unmounts what a failed test leaves.
struct Mounted(PathBuf);

impl Mounted {
    fn is_there(&self) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.lines().any(|line| line.split(' ').nth(1) == self.0.to_str())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        while self.is_there() && unmount(&self.0, UnmountFlags::DETACH).is_ok() {}
    }
}

/// The ledger in the state says whose a mount is: without it the next run could not take it away.
#[tokio::test]
async fn the_state_stays_for_as_long_as_something_is_mounted() {
    if !rustix::process::geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "skipped: needs root");
        return;
    }
    let project = Project::with(&std::fs::read(Guest("first").path()).unwrap());
    let place = project.directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(place.join("data/a")).unwrap();
    let plan = format!(
        "component = 'built.wasm'\nbuild = ['cp source.wasm built.wasm']\nwatch = ['source.wasm']\n\
         [host]\ntargets = ['{0}/pods']\n[backend.grants]\nnode = true\n\
         directories = [{{ host = '{0}/data', guest = '/data', write = true }}]\n",
        place.display()
    );
    std::fs::write(place.join("dev.toml"), plan).unwrap();
    std::fs::create_dir(place.join("pods")).unwrap();
    let target = Mounted(place.join("pods/a"));
    let target_path = target.0.to_str().unwrap().to_owned();
    let mut dev = Dev::start(&project);
    dev.says("serving: unix://").await;
    let publish = NodePublishVolumeRequest { target_path: target_path.clone(), ..requests::publish("a") };
    let publish = NodePublishVolumeRequest { staging_target_path: String::new(), ..publish };
    NodeClient::new(project.connect().await).node_publish_volume(publish).await.unwrap();
    assert!(target.is_there());
    let still = dev.interrupted().await;
    assert!(still.contains("still mounted") && still.contains(&target_path), "{still}");
    assert!(target.is_there() && project.place().join("state").is_dir());

    let mut dev = Dev::start(&project);
    dev.says("serving: unix://").await;
    let unpublish = NodeUnpublishVolumeRequest { target_path, ..requests::unpublish("a") };
    NodeClient::new(project.connect().await).node_unpublish_volume(unpublish).await.unwrap();
    assert!(!target.is_there());
    dev.interrupt().await;
    assert!(!project.place().exists(), "nothing is left of it");
}

#[tokio::test]
async fn a_folder_of_somebody_else_is_left_alone() {
    let project = Project::with(b"");
    std::fs::create_dir(project.place()).unwrap();
    let precious = project.place().join("state");
    std::fs::write(&precious, "x").unwrap();
    let refused = drivebay(&["dev"], project.directory.path());
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not of `drivebay dev`"), "{refused:?}");
    assert!(precious.is_file());
}
