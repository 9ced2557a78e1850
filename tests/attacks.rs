//! `drivebay attack`: attacks are contained, and each by the limit that it names: without that one it is not. A few of
//! them here; all of them run in `.ci/run`.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::Command;

use crate::support::PATIENCE;

/// Of every kind one that takes little time, also without what contains it.
const FEW: &str = "loop,trap,no-id,forge,secrets,state,absolute,handles-timers";

/// Runs it; gives its exit status and what it printed.
async fn attack(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(Path::new(env!("CARGO_BIN_EXE_drivebay"))).arg("attack").args(arguments).output().await;
    let output = output.unwrap();
    let words = [output.stdout, output.stderr].concat();
    (output.status.code().expect("it ends by itself"), String::from_utf8(words).unwrap())
}

/// What a report says of each attack that was tried.
fn verdicts(said: &str) -> Vec<bool> {
    let report: Value = serde_json::from_str(said).unwrap_or_else(|_| panic!("{said}"));
    report["attacks"].as_array().unwrap().iter().filter_map(|it| it["contained"].as_bool()).collect()
}

#[tokio::test]
async fn attacks_are_contained() {
    let (code, said) = attack(&["--only", FEW, "--json"]).await;
    assert_eq!((code, verdicts(&said)), (0, vec![true; FEW.split(',').count()]), "{said}");
}

#[tokio::test]
async fn without_what_contains_it_no_attack_is_contained() {
    let (code, said) = attack(&["--only", FEW, "--without", "every", "--json"]).await;
    // A crash is contained by what has no switch.
    assert_eq!((code, verdicts(&said)), (0, vec![false; FEW.split(',').count() - 1]), "{said}");
}

#[tokio::test]
async fn an_attack_that_is_not_contained_fails_the_command() {
    let (code, said) = attack(&["--only", "forge", "--without", "lines"]).await;
    assert!(code == 1 && said.contains("NOT CONTAINED") && said.ends_with("0 of 1 contained\n"), "{said}");
}

#[tokio::test]
async fn an_interrupted_run_leaves_no_host_behind() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().to_str().unwrap();
    // Without its limit this one goes on for as long as it is watched.
    let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_drivebay")));
    command.args(["attack", "--only", "loop", "--without", "cpu"]).env("TMPDIR", directory);
    let run = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let id = Pid::from_raw(i32::try_from(run.id().unwrap()).unwrap()).unwrap();
    until(|| hosts(directory) > 0).await;
    kill_process(id, Signal::INT).unwrap();
    let ended = run.wait_with_output().await.unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("interrupted"), "{said}");
    until(|| hosts(directory) == 0).await;
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

/// Processes that serve a host below a directory.
fn hosts(directory: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let words = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    words.filter(|words| String::from_utf8_lossy(words).contains(&format!("{directory}/"))).count()
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "it never is");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_there_is_not_is_said() {
    for (arguments, words) in [
        (["--only", "nothing"], "there is no attack"),
        (["--without", "nothing"], "is no limit"),
        (["--without", "instance"], "cannot be switched off: an instance that crashed"),
    ] {
        let (code, said) = attack(&arguments).await;
        assert!(code == 2 && said.contains(words), "{said}");
    }
}

/// The part of the program that leaves a defence away serves nothing but a stage of the command's own.
#[tokio::test]
async fn no_other_host_is_without_a_defence() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("host.toml");
    std::fs::write(&config, format!("[host]\nstate = \"{}/state\"\n", directory.path().display())).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
    assert_eq!(command.args(["attacked-host", "masking"]).arg(&config).output().await.unwrap().status.code(), Some(2));
}
