//! The process for node work dies: calls under way learn that nobody knows what became of them, whatever
//! their backend makes of it, and the next ones find another process. And what it takes from whom: roots and
//! grants from the operator alone. Needs root, because it mounts.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use drivebay_proto::pb::csi::v1::NodeStageVolumeRequest;
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use tempfile::TempDir;
use tonic::{Code, Response, Status};

use crate::support::{Guest, Node, Options, Pool, TestHost, expect, refused, requests};

/// A pool with a directory `a` to show, and a place to show it at. What is left there is unmounted.
struct Site(TempDir);

impl Site {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            // Past the test harness, which keeps what a passing test prints to itself.
            let _ = writeln!(std::io::stderr(), "skipped: needs root");
            return None;
        }
        let site = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(site.0.path().join("pool/a")).unwrap();
        Some(site)
    }

    fn staging(&self) -> PathBuf {
        self.0.path().join("staging")
    }

    fn options(&self) -> Options {
        let pool = self.0.path().join("pool");
        let grant = format!("directories = [{{ host = \"{}\", guest = \"/pool\", write = true }}]", pool.display());
        Options::default().grant(&grant).grant("node = true").backend("node-id = \"n\"")
    }

    async fn host(&self) -> TestHost {
        let host = TestHost::start(Guest::TESTER, self.options()).await;
        host.create(&["v"]).await;
        host
    }

    /// Tells the backend how to stage; `{bind}` stands for showing the directory.
    async fn instruct(&self, host: &TestHost, words: &str) {
        let bind = format!("bind /pool/a {}", self.staging().display());
        host.instruct("stage-volume", "vol-v", &words.replace("{bind}", &bind)).await;
    }

    fn stage(&self) -> NodeStageVolumeRequest {
        let staging_target_path = self.staging().to_str().unwrap().to_owned();
        NodeStageVolumeRequest { staging_target_path, ..requests::stage("vol-v") }
    }

    fn is_mounted(&self) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.lines().any(|line| line.split(' ').nth(1) == self.staging().to_str())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        while self.is_mounted() && rustix::mount::unmount(self.staging(), UnmountFlags::DETACH).is_ok() {}
    }
}

/// A process below another whose command line has this word.
pub fn below(process: u32, word: &str) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let children = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let children: Vec<u32> = children.flat_map(|text| numbers(&text)).collect();
    let is_it = |process: &u32| {
        let command = std::fs::read_to_string(format!("/proc/{process}/cmdline"));
        command.is_ok_and(|command| command.contains(word))
    };
    children.iter().copied().find(is_it).or_else(|| children.iter().find_map(|child| below(*child, word)))
}

fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// The process for node work below a host.
fn helper(host: &TestHost) -> Pid {
    let found = below(host.process(), "node-helper").expect("the host has a process for node work");
    Pid::from_raw(i32::try_from(found).unwrap()).unwrap()
}

/// Kills the process for node work in the middle of a stage that goes on with `rest` afterwards.
async fn cut_off(site: &Site, host: &TestHost, rest: &str) -> Result<Response<impl std::fmt::Debug>, Status> {
    site.instruct(host, &format!("{{bind}} then hold gate{rest}")).await;
    let mut client = host.node().await;
    let killing = async {
        host.log.wait("holding gate", 1).await;
        assert!(site.is_mounted());
        kill_process(helper(host), Signal::KILL).unwrap();
        host.log.wait("the process for node work ended; starting another", 1).await;
        host.log.wait("node work goes on in another process", 1).await;
        assert!(!site.is_mounted(), "what nobody was told of is undone");
        host.open("gate").await;
    };
    tokio::join!(client.node_stage_volume(site.stage()), killing).0
}

/// A later stage is one like any other.
async fn stages_again(site: &Site, host: &TestHost) {
    site.instruct(host, "{bind}").await;
    let mut client = host.node().await;
    for _ in 0..2 {
        client.node_stage_volume(site.stage()).await.unwrap();
        assert!(site.is_mounted());
    }
    host.instruct("unstage-volume", "vol-v", &format!("unmount {}", site.staging().display())).await;
    let mut request = requests::unstage("vol-v");
    request.staging_target_path = site.stage().staging_target_path;
    client.node_unstage_volume(request).await.unwrap();
    assert!(!site.is_mounted());
}

/// The backend takes the failure of its next work for a proof that nothing is left, and says INTERNAL: a client
/// would forget the volume.
#[tokio::test]
async fn a_call_whose_work_was_cut_off_does_not_know_its_outcome() {
    let Some(site) = Site::new() else { return };
    let mut host = site.host().await;
    let status = refused(cut_off(&site, &host, " then {bind}").await);
    expect(&status, Code::Unavailable, "the process for node work ended");
    stages_again(&site, &host).await;
    host.stop().await;
}

/// The backend had done all its work before, and answers with success: nothing of it is left.
#[tokio::test]
async fn a_success_that_was_undone_is_none() {
    let Some(site) = Site::new() else { return };
    let mut host = site.host().await;
    let status = refused(cut_off(&site, &host, "").await);
    expect(&status, Code::Unavailable, "the process for node work ended");
    stages_again(&site, &host).await;
    host.stop().await;
}

/// Where a call may mount is for the operator to say, in the configuration.
#[tokio::test]
async fn a_target_outside_of_the_roots_is_refused_and_the_client_told_what_to_configure() {
    let Some(site) = Site::new() else { return };
    let pods = site.0.path().join("pods");
    std::fs::create_dir(&pods).unwrap();
    let host = TestHost::start(Guest::TESTER, site.options().targets(&pods)).await;
    host.create(&["v"]).await;
    site.instruct(&host, "{bind}").await;
    let mut client = host.node().await;
    let status = refused(client.node_stage_volume(site.stage()).await);
    let words = status.message();
    assert!(words.contains("outside of the directories") && words.contains("`targets` of [host]"), "{words}");
    assert!(!site.is_mounted());
    // Undoing what was refused succeeds, or the client would go on for ever.
    host.instruct("unstage-volume", "vol-v", &format!("unmount {}", site.staging().display())).await;
    let mut request = requests::unstage("vol-v");
    request.staging_target_path = site.stage().staging_target_path;
    client.node_unstage_volume(request).await.unwrap();
}

/// The process for node work reads new grants itself, and not from a file that others than the operator may write.
#[tokio::test]
async fn a_configuration_that_the_host_could_have_written_grants_nothing() {
    let Some(site) = Site::new() else { return };
    let host = site.host().await;
    let file = std::fs::read_to_string(host.file()).unwrap();
    let configure = |guest: &str, mode: u32| {
        std::fs::set_permissions(host.file(), std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::write(host.file(), file.replace("guest = \"/pool\"", &format!("guest = \"{guest}\""))).unwrap();
        host.signal(Signal::HUP);
    };
    configure("/other", 0o666);
    let line = host.log.wait("refused: ", 1).await;
    assert!(line.text.contains("node work cannot be set up"), "{}", line.text);
    assert!(line.text.contains("others than its owner may write to it"), "{}", line.text);
    configure("/another", 0o600);
    host.log.wait("generation serves", 2).await;
    site.instruct(&host, &format!("bind /another/a {}", site.staging().display())).await;
    host.node().await.node_stage_volume(site.stage()).await.unwrap();
    assert!(site.is_mounted());
}

async fn unstage(site: &Site, host: &TestHost) {
    host.instruct("unstage-volume", "vol-v", &format!("unmount {}", site.staging().display())).await;
    let mut request = requests::unstage("vol-v");
    request.staging_target_path = site.stage().staging_target_path;
    host.node().await.node_unstage_volume(request).await.unwrap();
}

/// As an earlier version left it.
#[tokio::test]
async fn a_ledger_beside_its_directory_is_moved_into_it() {
    let Some(site) = Site::new() else { return };
    let mut host = site.host().await;
    site.instruct(&host, "{bind}").await;
    host.node().await.node_stage_volume(site.stage()).await.unwrap();
    host.stop().await;
    let (former, directory) = (host.state().join("node-ledger"), host.state().join("node"));
    std::fs::rename(directory.join("ledger"), &former).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    host.start_again().await;
    assert!(!former.exists() && directory.join("ledger").exists());
    // What the ledger does not name stays mounted.
    unstage(&site, &host).await;
    assert!(!site.is_mounted());
    host.stop().await;
}

/// Does something among the mounts of a host.
fn among_mounts_of<T: Send + 'static>(host: &TestHost, work: impl FnOnce() -> T + Send + 'static) -> T {
    let namespace = std::fs::File::open(format!("/proc/{}/ns/mnt", host.process())).unwrap();
    let entered = std::thread::spawn(move || {
        // SAFETY: the table of descriptors stays shared.
        #[allow(unsafe_code, reason = "the call is unsafe for other flags")]
        let left = unsafe { unshare_unsafe(UnshareFlags::FS) };
        left.unwrap();
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount)).unwrap();
        work()
    });
    entered.join().unwrap()
}

/// Puts a ledger wherever the next helper may look for one.
fn forge(state: &Path, text: &str) {
    let directories = [state.join("node"), state.join("node.new"), state.to_owned()];
    for directory in &directories {
        let _ = std::fs::create_dir(directory);
        for name in ["ledger", "ledger.new", "node-ledger"] {
            let _ = std::fs::write(directory.join(name), text);
        }
    }
    // The same where others have been put in their places.
    for held in [state.join("node"), state.to_owned()] {
        let moved = std::fs::rename(&held, held.with_extension("away"));
        assert_eq!(moved.unwrap_err().kind(), std::io::ErrorKind::ResourceBusy, "{}", held.display());
        assert!(std::fs::remove_dir(&held).is_err());
    }
}

/// A broken host writes where it can; what it writes ends no mount.
#[tokio::test]
async fn a_host_cannot_forge_the_ledger() {
    let Some(site) = Site::new() else { return };
    let mut host = site.host().await;
    site.instruct(&host, "{bind}").await;
    host.node().await.node_stage_volume(site.stage()).await.unwrap();
    let (state, ledger) = (host.state(), host.state().join("node/ledger"));
    let text = std::fs::read_to_string(&ledger).unwrap();
    // Without the line that says that the client was answered, the mount is half a call's work.
    let forged: String = text.split_inclusive('\n').filter(|line| !line.contains("acknowledge")).collect();
    assert_ne!(forged, text);
    let written = forged.clone();
    among_mounts_of(&host, move || forge(&state, &written));
    host.kill().await;
    assert_eq!(std::fs::read_to_string(&ledger).unwrap(), text);
    host.start_again().await;
    assert!(site.is_mounted());
    // It matters: writing there ends mounts.
    host.stop().await;
    std::fs::write(&ledger, forged).unwrap();
    host.start_again().await;
    assert!(!site.is_mounted());
    host.stop().await;
}

/// A use that was written down first is taken back: nobody could unstage what is not there.
#[tokio::test]
async fn what_a_host_without_node_work_could_not_stage_can_be_deleted() {
    let pool = Pool::plain();
    let host = TestHost::start(Guest::LOCAL, Options::default().pool(&pool.path(), Node::Withheld)).await;
    let mut client = host.controller().await;
    let volume = client.create_volume(requests::create("v")).await.unwrap().into_inner().volume.unwrap().volume_id;
    let request = NodeStageVolumeRequest { staging_target_path: pool.made("stage"), ..requests::stage(&volume) };
    let status = refused(host.node().await.node_stage_volume(request).await);
    expect(&status, Code::FailedPrecondition, "node work is not granted");
    client.delete_volume(requests::delete(&volume)).await.unwrap();
}
