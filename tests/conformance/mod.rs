//! `drivebay conform` against the reference backend in every layout, as an operator runs it: nothing
//! is broken, and every observable rule that is stated or implied was judged in at least one of them.
//! That the suite can find fault at all is proved in `tests/liar/tests/conform.rs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::Command;

use crate::support::{Guest, Node, Options, Pool, TestHost, is_root, requests};

/// What the reference backend takes.
const LOCAL: &str = r#"
deadline = "30s"
patience = "30s"
parallel = 4
[parameters]
replication = { schedulingInterval = "30s" }
[replication]
other_parameters = { schedulingInterval = "5m" }
ids = true
snapshot_source = true
[groups]
other_parameters = { max-volumes = "7" }
limit = 3
limit_parameters = { max-volumes = "3" }
parameter = "group"
[capabilities]
multi_node = "block"
mount_group = "1234"
"#;

/// What it takes where nothing is mounted by several, or nothing at all.
const PLAIN: &str = r#"
deadline = "30s"
patience = "30s"
parallel = 4
[groups]
other_parameters = { max-volumes = "7" }
limit = 3
limit_parameters = { max-volumes = "3" }
parameter = "group"
"#;

/// Without a second site nothing can be replicated; those rules run with two.
const ONE_SITE: &str = "cannot = [\"EnableVolumeReplication\"]\n";

/// What the backends that are judged here cannot show, and why; `liar` shows it, and `.ci/array` what its array can.
const NOT_HERE: [(&str, &str); 5] = [
    ("G-14", "the groups of every backend here delete their volumes; those of `array` keep them"),
    ("X-93", "every backend here that grows volumes grows them online"),
    ("X-94", "every backend here that grows volumes has a node that grows them"),
    ("X-120", "no backend here rotates keys; `array` does"),
    ("R-11", "eight calls at once need not meet"),
];

/// A run's report.
struct Run {
    layout: &'static str,
    code: i32,
    report: Value,
}

impl Run {
    /// The rules with this result.
    fn with_result(&self, result: &str) -> BTreeSet<String> {
        let rules = self.report["rules"].as_array().expect("a list of rules");
        let chosen = rules.iter().filter(|it| it["result"] == result);
        chosen.map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    }

    fn faults(&self) -> Vec<String> {
        let rules = self.report["rules"].as_array().expect("a list of rules");
        let bad = rules
            .iter()
            .filter(|it| !matches!(it["result"].as_str(), Some("pass" | "skip")) || it["left_behind"].is_array());
        let mut faults: Vec<_> = bad.map(|it| format!("{}: {it}", self.layout)).collect();
        if self.code != 0 {
            faults.push(format!("{}: exit status {}", self.layout, self.code));
        }
        faults
    }
}

fn uri(path: &Path) -> String {
    format!("unix://{}", path.display())
}

/// Runs the program on a host's sockets.
async fn conform(layout: &'static str, host: &TestHost, with: &str, more: &[(&str, String)]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("with.toml");
    std::fs::write(&file, with).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.args(["conform", "--json", "--csi", &uri(&host.socket()), "--addons", &uri(&host.addons_socket())]);
    command.arg("--with").arg(&file).env("TMPDIR", directory.path()).kill_on_drop(true);
    for (option, value) in more {
        command.args([*option, value.as_str()]);
    }
    let done = command.output().await.expect("the program can be started");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let report = serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{layout}: {e}\n{said}"));
    Run { layout, code: done.status.code().unwrap_or(-1), report }
}

async fn local(pool: &Pool, options: Options) -> TestHost {
    TestHost::start(Guest::LOCAL, options.pool(&pool.path(), Node::Granted).with_addons()).await
}

async fn unified() -> Run {
    let pool = Pool::plain();
    let host = local(&pool, Options::default()).await;
    let made = host.controller().await.create_volume(requests::create("there-before")).await.unwrap();
    let id = made.into_inner().volume.unwrap().volume_id;
    conform("unified", &host, &format!("{ONE_SITE}{LOCAL}[volumes]\nexisting = \"{id}\"\n"), &[]).await
}

async fn split() -> Run {
    let pool = Pool::plain();
    let host = local(&pool, Options::default().split().setting("topology", "zone=a")).await;
    conform("split", &host, &format!("{ONE_SITE}{LOCAL}"), &[("--csi-node", uri(&host.node_socket()))]).await
}

async fn secrets() -> Run {
    let pool = Pool::plain();
    let link = Pool::plain();
    let options = Options::default().pool_and_link(&pool.path(), &link.path(), Node::Granted);
    let options = options.setting("secret", "open-sesame").with_addons();
    let host = TestHost::start(Guest::LOCAL, options).await;
    let with = format!("{LOCAL}[secrets]\nall = {{ secret = \"open-sesame\" }}\n");
    // Nothing is promoted without a peer; what needs a replicated source runs with two sites.
    conform("secrets", &host, &with, &[("--only", "R-12,G-01..G-25b,C-01..C-19,E-01..E-08,X-01..X-130".to_owned())])
        .await
}

/// Volumes of another kind; `image` is that of all others.
async fn kind(layout: &'static str, more: &str) -> Run {
    let pool = Pool::plain();
    let host = local(&pool, Options::default()).await;
    conform(layout, &host, &format!("{ONE_SITE}{PLAIN}{more}"), &[]).await
}

/// A host without any capability, which does no node work: the controller's part.
async fn unprivileged() -> Run {
    let pool = Pool::plain();
    let nothing = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--"].map(str::to_owned).to_vec();
    let options = Options::default().pool(&pool.path(), Node::Withheld).started_by(nothing).with_addons();
    let host = TestHost::start(Guest::LOCAL, options).await;
    let cannot = "cannot = [\"EnableVolumeReplication\", \"NodeStageVolume\", \"NodePublishVolume\"]\n";
    conform("unprivileged", &host, &format!("{cannot}{PLAIN}"), &[]).await
}

/// The same in another language, where it is built.
async fn sample(language: &'static str) -> Option<Run> {
    let guest = Guest(language);
    if !guest.is_built() {
        return None;
    }
    let host = TestHost::start(guest, Options::default().with_addons()).await;
    Some(conform(language, &host, "", &[]).await)
}

async fn two_nodes() -> Run {
    let pool = Pool::plain();
    let host = local(&pool, Options::default().setting("nodes", "n1,n2")).await;
    conform("two-nodes", &host, &format!("nodes = [\"n1\", \"n2\"]\n{ONE_SITE}{LOCAL}"), &[]).await
}

async fn two_sites() -> Run {
    let (a, b, link) = (Pool::plain(), Pool::plain(), Pool::plain());
    let options =
        |pool: &Pool| Options::default().pool_and_link(&pool.path(), &link.path(), Node::Granted).with_addons();
    let first = TestHost::start(Guest::LOCAL, options(&a)).await;
    let second = TestHost::start(Guest::LOCAL, options(&b)).await;
    let more = [("--csi-b", uri(&second.socket())), ("--addons-b", uri(&second.addons_socket()))];
    // The sites hear nothing of each other while their link has another name.
    let there = link.path().display().to_string();
    let cut = format!("cut = \"mv {there} {there}.away\"\nmend = \"rm -rf {there}; mv {there}.away {there}\"\n");
    let with = LOCAL.replace("[replication]\n", &format!("[replication]\n{cut}"));
    conform("two-sites", &first, &with, &more).await
}

/// A host that is killed and started again while it is judged.
async fn killed() -> Run {
    let (pool, files) = (Pool::plain(), tempfile::tempdir().unwrap());
    let host = local(&pool, Options::default()).await;
    let heir = Heir(files.path().join("process"));
    let (process, program) = (host.process(), env!("CARGO_BIN_EXE_drivebay"));
    let end =
        format!("kill -KILL {process}; while grep -q '^State:.[RSD]' /proc/{process}/status; do sleep 0.01; done");
    let begin =
        format!("{program} serve --config {} >/dev/null 2>&1 & echo $! > {}", host.file().display(), heir.0.display());
    let with = format!("kill = \"\"\"{end}; {begin}\"\"\"\n{ONE_SITE}{LOCAL}");
    conform("killed", &host, &with, &[("--only", "X-146".to_owned())]).await
}

/// A host that a command has started; the test is not its parent.
struct Heir(PathBuf);

impl Drop for Heir {
    fn drop(&mut self) {
        let process = std::fs::read_to_string(&self.0).unwrap_or_default();
        let process = process.trim().parse().ok().and_then(Pid::from_raw);
        if let Some(process) = process {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// The tutorial's backend has a node and no controller.
async fn node_only() -> Run {
    let data = tempfile::tempdir().unwrap();
    std::fs::create_dir(data.path().join("photos")).unwrap();
    let granted =
        format!("directories = [{{ host = \"{}\", guest = \"/data\", write = true }}]", data.path().display());
    let options = Options::default().backend("node-id = \"n1\"").grant(&granted).grant("node = true").with_addons();
    let host = TestHost::start(Guest("first"), options).await;
    conform("node-only", &host, "[volumes]\nexisting = \"photos\"\n", &[]).await
}

/// The smallest controller: volumes are made and deleted, and there is nothing else.
async fn no_groups() -> Run {
    let host = TestHost::start(Guest("minimal-rust"), Options::default().with_addons()).await;
    conform("no-groups", &host, "", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_backend_keeps_every_rule_in_every_layout() {
    if !is_root("the_reference_backend_keeps_every_rule_in_every_layout") {
        return;
    }
    let (unified, split, secrets, nodes) = tokio::join!(unified(), split(), secrets(), two_nodes());
    let (sites, node_only, no_groups) = tokio::join!(two_sites(), node_only(), no_groups());
    let directories = kind("directories", "[parameters]\nvolume = { kind = \"directory\" }\n");
    let blocks = kind("blocks", "[capabilities]\naccess = \"block\"\nmulti_node = \"block\"\n");
    let (directories, blocks, unprivileged, killed) = tokio::join!(directories, blocks, unprivileged(), killed());
    let (go, python) = tokio::join!(sample("minimal-go"), sample("minimal-python"));
    let (ts, c) = tokio::join!(sample("minimal-ts"), sample("minimal-c"));
    let mut runs = vec![unified, split, secrets, nodes, sites, node_only, no_groups];
    runs.extend([directories, blocks, unprivileged, killed]);
    runs.extend([go, python, ts, c].into_iter().flatten());
    let faults: Vec<_> = runs.iter().flat_map(Run::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let judged: BTreeSet<_> = runs.iter().flat_map(|run| run.with_result("pass")).collect();
    let missing: Vec<_> = drivebay_conformance::rules()
        .into_iter()
        .filter(|rule| rule.unobservable.is_none() && rule.class != drivebay_conformance::Class::Decision)
        .filter(|rule| !judged.contains(rule.id) && !NOT_HERE.iter().any(|(id, _)| *id == rule.id))
        .map(|rule| rule.id)
        .collect();
    assert!(missing.is_empty(), "no layout has judged {missing:?}");
}
