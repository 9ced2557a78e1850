//! Drivers that hang or end, and people who lose patience: the suite ends within bounds, says why, leaves nothing behind
//! that it can remove, and names what it cannot.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "what cannot be set up is a failure of the test"
)]

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::net::UnixListener;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use clap::Parser as _;
use drivebay_conformance::{Addresses, Args, Choice, Kind, Report, Wish, WithFile, judge, rules, run};
use tempfile::TempDir;
use tokio::sync::watch;

/// Far more than anything here takes; what passes it has no end.
const PATIENCE: Duration = Duration::from_mins(2);
/// The command line of the suite, where this program is to be the suite.
const WORDS: &str = "CONFORM_WORDS";
/// Calls that the suite makes before the first rule, on a driver with an add-ons socket.
const OPENING: u64 = 9;

fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

/// A process that is ended when it takes too long, so that its reader does not wait for ever.
struct Watched {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    _until: Sender<()>,
}

impl Watched {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (until, end) = channel();
        let id = child.id();
        thread::spawn(move || {
            if end.recv_timeout(PATIENCE).is_err_and(|end| end == std::sync::mpsc::RecvTimeoutError::Timeout) {
                signal("-KILL", id);
            }
        });
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, said, _until: until }
    }

    /// Reads on until this line.
    fn says(&mut self, line: &str) {
        assert!(self.said.any(|said| said.unwrap() == line), "it never said {line:?}");
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The driver on its sockets.
struct Liar {
    directory: TempDir,
    process: Watched,
}

impl Liar {
    fn start(more: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_liar"));
        let sockets = [uri(&directory, "csi"), uri(&directory, "addons")];
        command.args(["--csi", &sockets[0], "--addons", &sockets[1]]).args(more);
        let mut process = Watched::start(&mut command);
        process.says("ready");
        Self { directory, process }
    }

    fn addresses(&self) -> [Addresses; 1] {
        let [csi, addons] = ["csi", "addons"].map(|name| uri(&self.directory, name));
        [Addresses { csi, nodes: Vec::new(), addons: Some(addons) }]
    }

    /// Ends it; how much it still had of what somebody made.
    fn left(mut self) -> usize {
        signal("-TERM", self.process.child.id());
        let mut said = self.process.said.by_ref().map(Result::unwrap);
        said.find_map(|line| line.strip_prefix("left ")?.parse().ok()).expect("it says what is left")
    }
}

fn uri(directory: &TempDir, name: &str) -> String {
    format!("unix://{}", directory.path().join(name).display())
}

/// Judges a driver that has so much time for an answer.
fn report(addresses: &[Addresses], deadline: &str) -> Result<Report, String> {
    report_with(addresses, &format!("deadline = \"{deadline}\""), "")
}

/// Judges a driver by some rules; by all, if none is named.
fn report_with(addresses: &[Addresses], with: &str, only: &str) -> Result<Report, String> {
    let directory = tempfile::tempdir().unwrap();
    let mut with = WithFile::parse(with).unwrap();
    let choice = if only.is_empty() { Choice::default() } else { only.parse().unwrap() };
    with.directories.work = Some(directory.path().to_owned());
    let (_wish, wished) = watch::channel(Wish::GoOn);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let judging = async {
        let progress = |_: &str| {};
        tokio::time::timeout(PATIENCE, judge(addresses, with, &choice, wished, &progress)).await.expect("it ends")
    };
    let report = runtime.block_on(judging);
    let keeps_any = report.as_ref().is_ok_and(|report| report.summary.left_behind > 0);
    let is_empty = std::fs::read_dir(directory.path()).unwrap().next().is_none();
    assert!(keeps_any || is_empty, "directories stay only where volumes do");
    report
}

#[test]
fn a_socket_where_nobody_answers_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for accepts in [false, true] {
        let name = if accepts { "accepts" } else { "does-not-accept" };
        let listener = UnixListener::bind(directory.path().join(name)).unwrap();
        let taking = listener.try_clone().unwrap();
        if accepts {
            thread::spawn(move || taking.incoming().for_each(std::mem::forget));
        }
        let address = Addresses { csi: uri(&directory, name), ..Addresses::default() };
        let why = report(std::slice::from_ref(&address), "1s").expect_err("nobody answers");
        assert!(why.contains(&address.csi) && why.contains("GetPluginInfo gets no answer"), "{why}");
        drop(listener);
    }
}

/// A driver that hangs before it has said what it can do is not judged by what it did not say.
#[test]
fn a_driver_that_hangs_at_the_first_calls() {
    thread::scope(|scope| {
        for calls in 0..=OPENING {
            scope.spawn(move || {
                let liar = Liar::start(&["--hang", &calls.to_string()]);
                match report(&liar.addresses(), "1s") {
                    Err(why) => assert!(why.contains("no answer") || why.contains("does it hang?"), "{calls}: {why}"),
                    Ok(report) => assert!(!report.is_good() && report.ended_early.is_some(), "{calls}: {report:?}"),
                }
            });
        }
    });
}

/// One silence is waited for, and not that of every call of every rule.
#[test]
fn a_driver_that_hangs_in_the_middle() {
    let liar = Liar::start(&["--hang", "400"]);
    let report = report(&liar.addresses(), "8s").expect("it had answered before");
    let why = report.ended_early.as_deref().expect("it did not end early");
    assert!(why.contains("got no answer within 8s, and neither did Get") && why.ends_with("the driver hangs"), "{why}");
    assert!(!report.is_good() && report.summary.blocked > 0 && report.rules.len() == rules().len());
    let named = report.rules.iter().flat_map(|it| &it.left_behind).count();
    assert!(liar.left() == 0 || named > 0, "what is left is named");
}

/// Nobody waits for deadlines that are longer than a test may take.
const LONG: &str = "deadline = \"1000s\"\npatience = \"20s\"\n";

#[test]
fn a_driver_that_ends_is_the_finding_of_the_rule_that_ended_it() {
    let liar = Liar::start(&["--dies"]);
    let with = format!("{LONG}parallel = 1");
    let report = report_with(&liar.addresses(), &with, "X-55..X-60").expect("it had answered before");
    let results: Vec<_> = report.rules.iter().map(|it| (it.rule.id, it.result)).collect();
    let (pass, fail, open) = (Kind::Pass, Kind::Fail, Kind::Unjudged);
    let wanted = [("X-55", pass), ("X-56", pass), ("X-57", pass), ("X-58", fail), ("X-59", open), ("X-60", open)];
    assert_eq!(results, wanted, "{report:?}");
    let found = report.rules.iter().find(|it| it.result == fail).unwrap();
    assert_eq!(found.reason.as_deref(), Some("the driver ended while it was to answer ListSnapshots"));
    assert!(found.exchange.as_ref().is_some_and(|shown| shown.request["max_entries"] == -1), "{found:?}");
    let why = report.ended_early.as_deref().expect("it ended early");
    assert!(why.starts_with("the driver ended: unix://") && why.contains("takes no connections"), "{why}");
    assert!(!report.is_good());
}

/// With many rules at work nobody knows at once which of them ended the driver, and none is accused of it falsely.
#[test]
fn a_driver_that_ends_among_many_rules() {
    let liar = Liar::start(&["--dies"]);
    let report = report_with(&liar.addresses(), &format!("{LONG}parallel = 16"), "").expect("it had answered before");
    let accused: Vec<_> = report.rules.iter().filter(|it| it.result == Kind::Fail).map(|it| it.rule.id).collect();
    assert!(accused.is_empty() || accused == ["X-58"], "{accused:?}");
    let of_it = report.rules.iter().find(|it| it.rule.id == "X-58").unwrap();
    assert!(
        of_it.exchange.is_some() && of_it.reason.as_deref().is_some_and(|why| why.contains("the driver ended while"))
    );
    assert!(report.summary.not_judged > 0 && report.rules.len() == rules().len() && !report.is_good());
}

/// A driver that a restart brought up; the test is not its parent.
struct Foster(std::path::PathBuf);

impl Drop for Foster {
    fn drop(&mut self) {
        for process in std::fs::read_to_string(&self.0).unwrap_or_default().lines() {
            let _ = Command::new("kill").args(["-KILL", process]).stderr(Stdio::null()).status();
        }
    }
}

#[test]
fn a_driver_that_is_started_again_is_judged_to_the_end() {
    let liar = Liar::start(&["--dies"]);
    let [csi, addons] = ["csi", "addons"].map(|name| uri(&liar.directory, name));
    let ids = Foster(liar.directory.path().join("ids"));
    let program = env!("CARGO_BIN_EXE_liar");
    let restart = format!("{program} --dies --csi {csi} --addons {addons} & echo $! >> {}", ids.0.display());
    let with = format!("{LONG}parallel = 16\nrestart = '{restart}'\n[replication]\nsnapshot_source = true");
    let report = report_with(&liar.addresses(), &with, "").expect("it had answered before");
    let odd = report.rules.iter().filter(|it| !matches!(it.result, Kind::Pass | Kind::Skip));
    let odd: Vec<_> = odd.map(|it| (it.rule.id, it.result, it.reason.clone().unwrap_or_default())).collect();
    let wanted = ("X-58", Kind::Fail, "the driver ended while it was to answer ListSnapshots".to_owned());
    assert_eq!(odd, [wanted], "{:?}", report.driver_ended);
    assert!(report.ended_early.is_none() && !report.driver_ended.is_empty() && !report.is_good(), "{report:?}");
    assert_eq!(report.summary.left_behind, 0);
}

/// As csi-driver-host-path behaves: liberties that no rule forbids, and a request that it does not survive.
#[test]
fn a_loose_driver_is_accused_of_nothing_but_its_death() {
    let loose = ["--loose", "--dies"];
    let liar = Liar::start(&loose);
    let [csi, addons] = ["csi", "addons"].map(|name| uri(&liar.directory, name));
    let ids = Foster(liar.directory.path().join("ids"));
    let program = env!("CARGO_BIN_EXE_liar");
    let words = loose.join(" ");
    let restart = format!("{program} {words} --csi {csi} --addons {addons} & echo $! >> {}", ids.0.display());
    let with = format!("{LONG}parallel = 16\nrestart = '{restart}'\n[replication]\nsnapshot_source = true");
    let report = report_with(&liar.addresses(), &with, "").expect("it had answered before");
    let of = |kinds: &[Kind]| {
        let odd = report.rules.iter().filter(|it| kinds.contains(&it.result));
        odd.map(|it| (it.rule.id, it.reason.clone().unwrap_or_default())).collect::<Vec<_>>()
    };
    let death = ("X-58", "the driver ended while it was to answer ListSnapshots".to_owned());
    assert_eq!(of(&[Kind::Fail, Kind::Differs, Kind::Blocked, Kind::Unjudged]), [death], "{:?}", report.driver_ended);
    // Told, and no finding: such a name may be refused.
    let told: Vec<_> = of(&[Kind::Advice]).into_iter().map(|(id, _)| id).collect();
    assert_eq!(told, ["X-12"]);
    let passed = |id: &str| report.rules.iter().any(|it| it.rule.id == id && it.result == Kind::Pass);
    let once_accused = ["X-03", "X-34", "X-36", "X-76", "X-79", "X-82", "X-84", "X-86", "X-95", "G-04"];
    let not_passed: Vec<_> = once_accused.into_iter().filter(|id| !passed(id)).collect();
    assert!(not_passed.is_empty(), "they were not judged: {not_passed:?}");
}

/// The suite as a process.
struct Conform {
    process: Watched,
    told: Lines<BufReader<ChildStderr>>,
    _files: TempDir,
}

impl Conform {
    fn start(liar: &Liar, with: &str, more: &str) -> Self {
        let files = tempfile::tempdir().unwrap();
        let file = files.path().join("with.toml");
        std::fs::write(&file, format!("{with}\n[directories]\nwork = \"{}\"\n", files.path().display())).unwrap();
        let [csi, addons] = ["csi", "addons"].map(|name| uri(&liar.directory, name));
        let words = format!("conform --csi {csi} --addons {addons} --with {} {more}", file.display());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "the_suite_as_a_program", "--nocapture"]).env(WORDS, words).stderr(Stdio::piped());
        let mut process = Watched::start(&mut command);
        let told = BufReader::new(process.child.stderr.take().unwrap()).lines();
        Self { process, told, _files: files }
    }

    /// Reads on until a line with these words.
    fn tells(&mut self, words: &str) {
        assert!(self.told.any(|line| line.unwrap().contains(words)), "it never told {words:?}");
    }

    fn interrupt(&mut self, told: &str) {
        signal("-INT", self.process.child.id());
        self.tells(told);
    }

    /// Exit status and report.
    fn ended(mut self) -> (i32, String) {
        drop(self.told);
        let report: Vec<_> = self.process.said.by_ref().map(Result::unwrap).collect();
        (self.process.child.wait().unwrap().code().expect("it ended by itself"), report.join("\n"))
    }
}

/// What `Conform` starts. Without its words it is nobody.
#[test]
fn the_suite_as_a_program() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let args = Args::parse_from(words.split_whitespace());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::process::exit(runtime.block_on(run(&args)).status().into());
}

#[test]
fn an_interrupted_run_leaves_nothing_and_is_not_good() {
    // All rules would take minutes.
    let liar = Liar::start(&["--work", "500"]);
    let mut conform = Conform::start(&liar, "deadline = \"100s\"\npatience = \"100s\"", "");
    conform.tells("[ 10/");
    conform.interrupt("interrupted: ");
    let (status, report) = conform.ended();
    assert_eq!(status, 1, "{report}");
    assert!(report.contains("The run ended early: the run was interrupted"), "{report}");
    assert!(report.contains("; 0 objects left behind"), "{report}");
    assert_eq!(liar.left(), 0, "what it made is gone");
}

/// Nobody waits for a removal that a driver does not answer, if they say so twice.
#[test]
fn an_interrupt_while_removing_ends_the_run_at_once() {
    // The volume is made; whatever is asked after it hangs.
    let mut liar = Liar::start(&["--hang", &(OPENING + 1).to_string()]);
    let mut conform = Conform::start(&liar, "deadline = \"1000s\"", "--only R-16");
    liar.process.says("hangs");
    conform.interrupt("interrupted: ");
    conform.interrupt("interrupted again: ");
    let (status, report) = conform.ended();
    assert_eq!(status, 1, "{report}");
    assert!(report.contains("left behind: site A: volume a-vol"), "{report}");
    assert!(report.contains("; 2 objects left behind"), "the volume, and its replication: {report}");
    assert_eq!(liar.left(), 1);
}

#[test]
fn an_interrupt_before_the_first_rule_ends_the_run() {
    let mut liar = Liar::start(&["--hang", "1"]);
    let mut conform = Conform::start(&liar, "deadline = \"1000s\"", "");
    liar.process.says("hangs");
    conform.interrupt("interrupted: ");
    conform.tells("nothing was made");
    assert_eq!(conform.ended().0, 2);
}
