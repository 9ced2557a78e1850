//! What the process that runs guests sees of the machine's files: looked at from outside, through the kernel's own way into
//! its root. Needs root, because only root makes a namespace.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::Signal;

use crate::node::below;
use crate::support::shelf::{Shelf, stamped, version};
use crate::support::{Guest, Node, Options, PATIENCE, Pool, TestHost, wasm};

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        // Past the test harness, which keeps what a passing test prints to itself.
        let _ = writeln!(std::io::stderr(), "skipped: a mount namespace needs root");
    }
    root
}

/// Where the host finds a path of this machine.
fn seen(host: &TestHost, path: &Path) -> PathBuf {
    Path::new(&format!("/proc/{}/root", host.process())).join(path.strip_prefix("/").unwrap())
}

fn sees(host: &TestHost, path: &Path) -> bool {
    seen(host, path).symlink_metadata().is_ok()
}

fn namespace(process: u32) -> PathBuf {
    fs::read_link(format!("/proc/{process}/ns/mnt")).unwrap()
}

/// The configuration with another directory granted.
fn granting(text: &str, directory: &Path) -> String {
    let grant = format!("directories = [{{ host = \"{}\", guest = \"/more\", write = true }}]", directory.display());
    text.replace("[backend.grants]\n", &format!("[backend.grants]\n{grant}\n"))
}

#[tokio::test]
async fn a_host_sees_what_its_configuration_names_and_its_helper_sees_all() {
    if !is_root() {
        return;
    }
    let pool = Pool::plain();
    let beside = tempfile::tempdir().unwrap();
    let mut host = TestHost::start(Guest::LOCAL, Options::default().pool(&pool.path(), Node::Granted)).await;
    for there in [&pool.path(), &host.state(), &host.socket(), &host.admin(), &host.file()] {
        assert!(sees(&host, there), "{}", there.display());
    }
    for there in ["/usr/bin", "/dev/null", "/dev/urandom", "/etc/hosts", "/proc/self"] {
        assert_eq!(sees(&host, Path::new(there)), Path::new(there).exists(), "{there}");
    }
    let outside = [Path::new("/etc/shadow"), Path::new("/etc/passwd"), Path::new("/proc/sys"), Path::new("/dev/vda")];
    for absent in outside.into_iter().chain([beside.path(), Path::new(&pool.place("aside"))]) {
        assert!(!sees(&host, absent), "{}", absent.display());
    }
    for empty in ["/root", "/home", "/run", "/var/lib", "/opt"] {
        let entries = fs::read_dir(seen(&host, Path::new(empty))).map_or(0, Iterator::count);
        assert_eq!(entries, 0, "{empty}");
    }
    let helper = below(host.process(), "node-helper").unwrap();
    assert_eq!(namespace(helper), namespace(std::process::id()));
    assert_ne!(namespace(host.process()), namespace(helper));

    let line = host.log.wait("mounts: own namespace", 1).await;
    assert!(line.text.contains("paths="), "{}", line.text);
    assert!(host.told(&["status"]).await.contains("mounts: own namespace, "));
    let told: serde_json::Value = serde_json::from_str(&host.told(&["status", "--json"]).await).unwrap();
    assert!(told["confinement"]["mounts"].as_str().unwrap().starts_with("own namespace, "), "{told:#}");

    // The same again, and nothing of it is left when it is killed.
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count();
    let before = mounts();
    host.stop().await;
    host.start_again().await;
    assert!(sees(&host, &pool.path()) && !sees(&host, beside.path()));
    host.kill().await;
    assert_eq!(mounts(), before);
    host.start_again().await;
    host.stop().await;
}

#[tokio::test]
async fn what_the_operator_grants_later_is_seen_and_what_the_host_could_have_written_is_not() {
    if !is_root() {
        return;
    }
    let (more, stolen) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let host = TestHost::tester().await;
    let text = fs::read_to_string(host.file()).unwrap();
    assert!(!sees(&host, more.path()));
    fs::write(host.file(), granting(&text, more.path())).unwrap();
    host.signal(Signal::HUP);
    host.log.wait("generation serves", 2).await;
    fs::write(more.path().join("file"), "x").unwrap();
    assert_eq!(fs::read_to_string(seen(&host, &more.path().join("file"))).unwrap(), "x");

    // A configuration that others than the operator may write is nobody's word.
    std::os::unix::fs::chown(host.file(), Some(1), None).unwrap();
    fs::write(host.file(), granting(&text, stolen.path())).unwrap();
    host.signal(Signal::HUP);
    let line = host.log.wait("not all that the configuration names is shown", 1).await;
    assert!(line.text.contains("belongs to another user"), "{}", line.text);
    host.log.wait("refused: ", 1).await;
    assert!(!sees(&host, stolen.path()));
}

#[tokio::test]
async fn a_component_that_the_host_does_not_see_is_sent_to_it() {
    if !is_root() {
        return;
    }
    let host = TestHost::tester().await;
    let elsewhere = Shelf::with(&stamped(Guest::TESTER, &[("version", &version(7))]));
    assert!(!sees(&host, &elsewhere.file()));
    host.told(&["reload", "under-test", "--wait", "--component", elsewhere.file().to_str().unwrap()]).await;
    host.log.wait("a component was sent", 1).await;
    assert_eq!(host.status().await["version"], version(7));
    assert!(!sees(&host, &elsewhere.file()));
    let (code, words) = host.operate(&["reload", "under-test", "--component", "/nowhere/at/all.wasm"]).await;
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("/nowhere/at/all.wasm: No such file"), "{words}");
}

/// `/var/run` and many more: what the operator writes leads through links, and need not be there.
#[tokio::test]
async fn sockets_lie_where_the_operator_says_through_links_and_in_new_directories() {
    if !is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
    let (through, new) = (place.path().join("link/a.sock"), place.path().join("not/yet/there/b.sock"));
    let addons = format!("addons = \"unix://{}\"\ncsi-node = \"unix://{}\"", through.display(), new.display());
    let host = TestHost::start(Guest::TESTER, Options::default().backend(&addons)).await;
    host.log.wait("listening", 3).await;
    for socket in [&through, &new] {
        std::os::unix::net::UnixStream::connect(socket).unwrap();
    }
    assert!(place.path().join("real/a.sock").exists());
}

/// As in a container that may not mount.
#[tokio::test]
async fn a_host_that_may_not_mount_says_so_and_serves() {
    if !is_root() {
        return;
    }
    let prefix = ["setpriv", "--bounding-set", "-sys_admin", "--"].map(str::to_owned).to_vec();
    let host = TestHost::start(Guest::TESTER, Options::default().started_by(prefix)).await;
    let line = host.log.wait("mounts: the system's", 1).await;
    assert!(line.text.contains("this process has no CAP_SYS_ADMIN"), "{}", line.text);
    let told: serde_json::Value = serde_json::from_str(&host.told(&["status", "--json"]).await).unwrap();
    let mounts = told["confinement"]["mounts"].as_str().unwrap();
    assert_eq!(mounts, "the system's: this process has no CAP_SYS_ADMIN");
    assert_eq!(namespace(host.process()), namespace(std::process::id()));
    host.create(&["v"]).await;
}

/// What is compiled is a vendor's, and the compiler parses it.
#[tokio::test]
async fn what_compiles_sees_what_the_host_sees() {
    if !is_root() {
        return;
    }
    let host = TestHost::tester().await;
    let slow = stamped(Guest::TESTER, &[("version", &version(8))]);
    let slow = Shelf::with(&wasm::with_modules(&slow, &[wasm::additions(200_000)]));
    let file = slow.file();
    let arguments = ["reload", "under-test", "--wait", "--component", file.to_str().unwrap()];
    let looked = async {
        let begin = Instant::now();
        loop {
            // It may have ended between two looks.
            let found = below(host.process(), "compile-component");
            if let Some(seen) = found.and_then(|process| fs::read_link(format!("/proc/{process}/ns/mnt")).ok()) {
                return seen;
            }
            assert!(begin.elapsed() < PATIENCE, "it is compiled");
            tokio::task::yield_now().await;
        }
    };
    let (_, seen) = tokio::join!(host.told(&arguments), looked);
    assert_eq!(seen, namespace(host.process()));
    assert_ne!(seen, namespace(std::process::id()));
}
