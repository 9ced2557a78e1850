//! Every observable rule of the conformance suite is proved able to fail: this driver, told to break
//! one rule, is found out by that rule, and besides it only by those that the reviewed table
//! `tests/conformance/consequences.tsv` names. Told to break none, it is found out by none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what cannot be set up is a failure of the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use drivebay_conformance::{Addresses, Choice, Kind, Report, Rule, Wish, WithFile, judge, rules};

const CONSEQUENCES: &str = include_str!("../../conformance/consequences.tsv");
const LAYOUTS: [&str; 9] =
    ["unified", "split", "node-only", "bare", "no-groups", "keep-volumes", "secrets", "two-nodes", "two-sites"];
/// Runs at once: most of a run is waiting.
const WORKERS: usize = 8;

/// Who breaks these makes one object's calls wait for another's, and with them the suite's own rules,
/// which run side by side.
const BLOCKS_OTHERS: [&str; 2] = ["R-10", "X-98"];

const WITH: &str = r#"
deadline = "30s"
patience = "8s"
parallel = 16
nodes = []
[replication]
other_parameters = { schedulingInterval = "5m" }
ids = true
snapshot_source = true
[parameters]
replication = { schedulingInterval = "30s" }
[groups]
other_parameters = { tier = "other" }
limit = 5
parameter = "group"
[volumes]
existing = "pre-provisioned"
[capabilities]
multi_node = "mount"
mount_group = "1234"
"#;

/// The driver as a process; it ends with this value.
struct Liar(Child);

impl Liar {
    fn start(arguments: &[String]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_liar"));
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().expect("the driver can be started");
        let said = child.stdout.take().expect("it is piped");
        let liar = Self(child);
        let first = BufReader::new(said).lines().next().expect("it says that it is ready").unwrap();
        assert_eq!(first, "ready");
        liar
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves a layout, perhaps with one rule broken, and judges it.
fn report(layout: &str, broken: Option<&str>) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let socket = |name: &str| format!("unix://{}/{name}.sock", directory.path().display());
    let mut words: Vec<String> = Vec::new();
    let mut say = |key: &str, value: String| words.extend([key.to_owned(), value]);
    say("--layout", layout.to_owned());
    say("--csi", socket("csi"));
    say("--addons", socket("addons"));
    say("--existing", "pre-provisioned".to_owned());
    let mut sites = vec![Addresses { csi: socket("csi"), nodes: Vec::new(), addons: Some(socket("addons")) }];
    let mut with = with(layout);
    match layout {
        "split" | "two-nodes" => {
            say("--node", socket("node"));
            sites[0].nodes.push(socket("node"));
        }
        "two-sites" => {
            say("--b-csi", socket("b-csi"));
            say("--b-addons", socket("b-addons"));
            sites.push(Addresses { csi: socket("b-csi"), nodes: Vec::new(), addons: Some(socket("b-addons")) });
        }
        "secrets" => say("--secret", "token=open-sesame".to_owned()),
        _ => {}
    }
    if layout == "two-nodes" {
        // The first node is served beside the controller.
        sites[0].nodes.insert(0, socket("csi"));
    }
    if layout == "two-sites" {
        let file = directory.path().join("cut").display().to_string();
        with.replication.cut = Some(format!("touch {file}"));
        with.replication.mend = Some(format!("rm {file}"));
        say("--cut-by", file);
    }
    if let Some(id) = broken {
        say("--break", id.to_owned());
        if BLOCKS_OTHERS.contains(&id) {
            with.parallel = 1;
        }
    }
    let killed = directory.path().join("killed").display().to_string();
    with.kill = Some(format!("touch {killed}"));
    say("--killed-by", killed);
    with.directories.work = Some(directory.path().to_owned());
    let _liar = Liar::start(&words);
    let (_stop, stopped) = tokio::sync::watch::channel(Wish::GoOn);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(judge(&sites, with, &Choice::default(), stopped, &|_| {})).expect("the driver answers")
}

fn with(layout: &str) -> WithFile {
    let secrets = if layout == "secrets" { "[secrets]\nall = { token = \"open-sesame\" }\n" } else { "" };
    WithFile::parse(&format!("{WITH}{secrets}")).unwrap()
}

/// Where a rule is tried: in the first layout that its row names.
fn layout_of(rule: &Rule) -> &'static str {
    let first = rule.layouts.first().copied().expect("an observable rule names a layout");
    LAYOUTS.into_iter().find(|layout| *layout == first).unwrap_or("unified")
}

/// The rules that a run finds fault with. A rule that could not be judged finds none.
fn found(report: &Report) -> BTreeMap<&'static str, String> {
    let is_fault = |kind| matches!(kind, Kind::Fail | Kind::Advice | Kind::Differs);
    let faults = report.rules.iter().filter(|it| is_fault(it.result));
    faults.map(|it| (it.rule.id, it.reason.clone().unwrap_or_default())).collect()
}

fn consequences() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut table: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in CONSEQUENCES.lines().skip(1) {
        let cells: Vec<_> = line.split('\t').collect();
        let [broken, also, reason] = cells[..] else { panic!("three cells: {line}") };
        assert!(!reason.trim().is_empty(), "no reason: {line}");
        table.entry(broken).or_default().insert(also);
    }
    table
}

#[test]
fn an_honest_driver_is_found_out_by_no_rule() {
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for layout in LAYOUTS {
            let faults = &faults;
            scope.spawn(move || {
                let report = report(layout, None);
                let bad = report.rules.iter().filter(|it| !matches!(it.result, Kind::Pass | Kind::Skip));
                let mut faults = faults.lock().unwrap();
                faults.extend(bad.map(|it| format!("{layout} {}: {:?} {:?}", it.rule.id, it.reason, it.exchange)));
                faults.extend(report.rules.iter().flat_map(|it| &it.left_behind).map(|it| format!("{layout}: {it}")));
                if !report.is_good() {
                    faults.push(format!("{layout}: {:?}", report.summary));
                }
            });
        }
    });
    assert_eq!(faults.into_inner().unwrap(), Vec::<String>::new());
}

#[test]
fn every_observable_rule_finds_out_who_breaks_it() {
    let jobs: Vec<_> = rules().into_iter().filter(|rule| rule.unobservable.is_none()).collect();
    assert!(jobs.len() > 200, "the table is not the whole one");
    let (jobs, table) = (Mutex::new(jobs.into_iter()), consequences());
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(rule) = next(&jobs) {
                    let layout = layout_of(&rule);
                    let found = found(&report(layout, Some(rule.id)));
                    let none = BTreeSet::new();
                    let allowed = table.get(rule.id).unwrap_or(&none);
                    let mut faults = faults.lock().unwrap();
                    if !found.contains_key(rule.id) {
                        faults.push(format!("{} in {layout}: not found out", rule.id));
                    }
                    let others = found.iter().filter(|(id, _)| **id != rule.id && !allowed.contains(*id));
                    faults.extend(others.map(|(id, why)| format!("{} in {layout}: {id} as well: {why}", rule.id)));
                }
            });
        }
    });
    let mut faults = faults.into_inner().unwrap();
    faults.sort();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn next(jobs: &Mutex<std::vec::IntoIter<Rule>>) -> Option<Rule> {
    jobs.lock().unwrap().next()
}

#[test]
fn the_table_of_consequences_names_rules() {
    let known: BTreeSet<_> = rules().into_iter().map(|rule| rule.id).collect();
    for (broken, also) in consequences() {
        assert!(known.contains(broken), "{broken}");
        assert!(also.iter().all(|id| known.contains(id) && *id != broken), "{broken}: {also:?}");
    }
}
