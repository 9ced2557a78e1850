//! What the process that runs guests has given up: every thread of it, as the kernel tells it, and as the program
//! itself says. The helper keeps its rights, and so does the one that takes its place.

use std::collections::BTreeMap;

use rustix::process::{Pid, Signal, kill_process};

use crate::node::below;
use crate::support::{Guest, Node, Options, Pool, TestHost};

/// `CAP_DAC_OVERRIDE` and `CAP_FOWNER`.
const KEPT: u64 = 1 << 1 | 1 << 3;
const SYS_ADMIN: u64 = 1 << 21;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What the kernel says of a thread.
fn fields(status: &str) -> BTreeMap<&str, &str> {
    status.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key, value.trim())).collect()
}

fn capabilities(fields: &BTreeMap<&str, &str>, set: &str) -> u64 {
    u64::from_str_radix(fields[set], 16).unwrap()
}

fn status_of(process: u32) -> String {
    std::fs::read_to_string(format!("/proc/{process}/status")).unwrap()
}

#[tokio::test]
async fn every_thread_that_may_run_a_guest_has_given_up_its_rights() {
    let pool = Pool::plain();
    let node = if is_root() { Node::Granted } else { Node::Withheld };
    let host = TestHost::start(Guest::LOCAL, Options::default().pool(&pool.path(), node)).await;
    let threads = std::fs::read_dir(format!("/proc/{}/task", host.process())).unwrap();
    let mut seen = 0;
    for thread in threads {
        // A thread may end while it is looked at.
        let Ok(status) = std::fs::read_to_string(thread.unwrap().path().join("status")) else { continue };
        let fields = fields(&status);
        let expected = if is_root() { KEPT } else { 0 };
        for set in ["CapEff", "CapPrm"] {
            assert_eq!(capabilities(&fields, set), expected, "{set}:\n{status}");
        }
        assert_eq!((fields["NoNewPrivs"], fields["Seccomp"]), ("1", "2"), "{status}");
        seen += 1;
    }
    assert!(seen > 2, "{seen} threads");

    let told = host.told(&["status", "--json"]).await;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let confinement = &told["confinement"];
    assert!(confinement["mount"].as_str().unwrap().starts_with("refused: "), "{confinement:#}");
    assert_eq!(confinement["no_new_privileges"], true);
    assert_eq!(confinement["seccomp"], "in force", "{confinement:#}");
    let names: Vec<_> =
        confinement["capabilities"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names, if is_root() { vec!["CAP_DAC_OVERRIDE", "CAP_FOWNER"] } else { vec![] });
    let line = host.log.wait("rights given up", 1).await;
    assert!(line.text.contains("mount=\"impossible: "), "{}", line.text);
    let people = host.told(&["status"]).await;
    assert!(people.contains("a mount is refused"), "{people}");
}

#[tokio::test]
async fn a_helper_has_the_rights_that_the_host_gave_up_and_so_has_the_next() {
    if !is_root() {
        eprintln!("skipped: node work needs root");
        return;
    }
    let pool = Pool::plain();
    let host = TestHost::start(Guest::LOCAL, Options::default().pool(&pool.path(), Node::Granted)).await;
    let first = below(host.process(), "node-helper").unwrap();
    for n in 0..2 {
        let helper = below(host.process(), "node-helper").unwrap();
        let status = status_of(helper);
        let fields = fields(&status);
        assert_ne!(capabilities(&fields, "CapEff") & SYS_ADMIN, 0, "{status}");
        assert_eq!((fields["NoNewPrivs"], fields["Seccomp"]), ("0", "0"), "{status}");
        assert_eq!(helper == first, n == 0);
        kill_process(Pid::from_raw(i32::try_from(helper).unwrap()).unwrap(), Signal::KILL).unwrap();
        host.log.wait("node work goes on in another process", n + 1).await;
    }
}

/// A directory that comes with a later configuration may lie anywhere but among the system's own.
#[tokio::test]
async fn a_directory_that_cannot_be_written_any_more_is_refused_in_words() {
    if !is_root() {
        eprintln!("skipped: a directory among the system's own needs root");
        return;
    }
    let (near, system) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/etc").unwrap());
    let host = TestHost::tester().await;
    let file = std::fs::read_to_string(host.file()).unwrap();
    let granting = |directory: &std::path::Path| {
        let grant =
            format!("directories = [{{ host = \"{}\", guest = \"/more\", write = true }}]", directory.display());
        file.replace("[backend.grants]\n", &format!("[backend.grants]\n{grant}\n"))
    };
    let configure = |text: String| {
        std::fs::write(host.file(), text).unwrap();
        host.signal(Signal::HUP);
    };
    configure(granting(system.path()));
    let line = host.log.wait("refused: ", 1).await;
    assert!(line.text.contains("restart the host") && line.text.contains("surroundings"), "{}", line.text);
    configure(granting(near.path()));
    host.log.wait("generation serves", 2).await;
    host.create(&["a"]).await;
}
