//! Jobs of the host, on a machine whose `mkfs.ext4` begins only when the test lets it: what runs beside
//! what, and what becomes of a job when the host ends. Asserts nothing about what a job makes but that it
//! is whole.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tonic::Code;

use crate::support::{Guest, Options, PATIENCE, TestHost, expect, refused, requests};

/// A pool and a `mkfs.ext4` that says when it begins and ends, and waits in between until it may go on.
struct Workshop(TempDir);

impl Workshop {
    fn new() -> Self {
        let workshop = Self(tempfile::tempdir().unwrap());
        fs::create_dir(workshop.pool()).unwrap();
        fs::create_dir(workshop.path("notes")).unwrap();
        let program = workshop.path("programs/mkfs.ext4");
        fs::create_dir(program.parent().unwrap()).unwrap();
        let real = ["/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"].into_iter().find(|path| Path::new(path).exists());
        let script = format!(
            "#!/bin/sh\necho begun >> {0}/said\nwhile [ ! -e {0}/gate ]; do [ -d {0} ] || exit 1; sleep 0.02; done\n\
             {1} \"$@\" || exit\necho ended >> {0}/said\n",
            workshop.path("notes").display(),
            real.expect("mkfs.ext4 is installed")
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        workshop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn pool(&self) -> PathBuf {
        self.path("pool")
    }

    fn options(&self) -> Options {
        let pool = self.pool();
        // The program is the host's: it sees what the host sees.
        let granted = [(pool, "/pool"), (self.path("notes"), "/notes")]
            .map(|(host, guest)| format!("{{ host = \"{}\", guest = \"{guest}\", write = true }}", host.display()));
        let grant = format!("directories = [{}]", granted.join(", "));
        Options::default().grant(&grant).programs(&self.path("programs"))
    }

    fn said(&self) -> Vec<String> {
        fs::read_to_string(self.path("notes/said")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Waits until the program has said so much.
    async fn heard(&self, lines: usize) {
        let begin = Instant::now();
        while self.said().len() < lines {
            assert!(begin.elapsed() < PATIENCE, "only {:?}", self.said());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn open_gate(&self) {
        fs::write(self.path("notes/gate"), "").unwrap();
    }

    /// Whether an image holds an ext4: the magic number of its superblock.
    fn is_made(&self, image: &str) -> bool {
        fs::read(self.pool().join(image)).unwrap()[1080..1082] == [0x53, 0xef]
    }
}

/// Asks for an image whose job has not ended when the call does.
async fn begin(host: &TestHost, name: &str) -> tonic::Status {
    host.instruct("create-volume", name, &format!("format /pool/{name} 0")).await;
    refused(host.controller().await.create_volume(requests::create(name)).await)
}

/// Asks for an image until it is there.
async fn finish(host: &TestHost, name: &str) {
    host.instruct("create-volume", name, &format!("format /pool/{name} 20000")).await;
    let (mut client, since) = (host.controller().await, Instant::now());
    while let Err(status) = client.create_volume(requests::create(name)).await {
        // What the first call began still holds the name.
        assert!(status.code() == Code::Aborted && since.elapsed() < PATIENCE, "{status:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A host that is told to end does not wait for a job, and does not lose it: the drain time is longer than
/// this test waits.
#[tokio::test]
async fn a_job_stops_with_the_host_and_goes_on_with_the_next() {
    let workshop = Workshop::new();
    let mut host = TestHost::start(Guest::TESTER, workshop.options()).await;
    expect(&begin(&host, "a").await, Code::Unavailable, "the job is under way");
    workshop.heard(1).await;
    let again = refused(host.controller().await.create_volume(requests::create("a")).await);
    expect(&again, Code::Aborted, "already under way");
    host.stop().await;
    assert!(!workshop.is_made("a"));
    assert_eq!(workshop.said(), ["begun"]);

    workshop.open_gate();
    host.start_again().await;
    finish(&host, "a").await;
    assert!(workshop.is_made("a"));
    assert_eq!(workshop.said(), ["begun", "begun", "ended"]);
    host.stop().await;
}

/// `limits.jobs`: a backend that asks for more gets them one after the other.
#[tokio::test]
async fn no_more_jobs_run_at_once_than_allowed() {
    let workshop = Workshop::new();
    let mut host = TestHost::start(Guest::TESTER, workshop.options().limit("jobs", "2")).await;
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        expect(&begin(&host, name).await, Code::Unavailable, "the job is under way");
    }
    workshop.heard(2).await;
    workshop.open_gate();
    for name in names {
        finish(&host, name).await;
        assert!(workshop.is_made(name));
    }
    let mut running = 0_i32;
    for line in workshop.said() {
        running += if line == "begun" { 1 } else { -1 };
        assert!(running <= 2, "{:?}", workshop.said());
    }
    assert_eq!(workshop.said().len(), 2 * names.len());
    host.stop().await;
}

/// A backend that begins jobs without end is told so when too many wait.
#[tokio::test]
async fn jobs_do_not_queue_without_end() {
    let workshop = Workshop::new();
    let mut host = TestHost::start(Guest::TESTER, workshop.options().limit("jobs", "1")).await;
    for n in 0..65 {
        expect(&begin(&host, &format!("v{n}")).await, Code::Unavailable, "the job is under way");
    }
    expect(&begin(&host, "one-too-many").await, Code::Unavailable, "1 jobs run and 64 wait already");
    workshop.open_gate();
    finish(&host, "v0").await;
    host.stop().await;
}
