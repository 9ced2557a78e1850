//! `drivebay demo` as a newcomer starts it: twice on one directory, and stopped in the middle. It leaves no volume and no
//! socket. With root it mounts as well; what it says then, `.ci/run` shows.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::support::PATIENCE;

fn demo(directory: &Path, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.args(["demo", "--dir"]).arg(directory).args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true).spawn().unwrap()
}

/// The files of the volumes that a pool holds. Folders may stay: they are shared by many volumes.
fn volumes(pool: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![pool.join("volumes")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

#[tokio::test]
async fn a_walk_goes_well_twice_on_the_same_directory_and_leaves_no_volume() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = demo(directory.path(), &["--once"]).wait_with_output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("DeleteVolume"), "{said}");
        let acts = [
            "Act 1: a driver",
            "Act 2: a volume's life",
            "Act 3: a volume fails over",
            "Act 4: the backend is swapped",
        ];
        let places: Vec<_> = acts.iter().map(|act| said.find(act).unwrap_or_else(|| panic!("{act}: {said}"))).collect();
        assert!(places.is_sorted(), "{said}");
        assert!(said.contains("clients made") && said.contains("none failed"), "{said}");
        assert!(!directory.path().join("admin.sock").exists(), "nor does it leave the operators' socket");
        assert!(!directory.path().join("csi.sock").exists(), "a host takes its sockets away");
        for pool in ["data/pool", "data/b/pool"] {
            let pool = directory.path().join(pool);
            assert!(pool.is_dir(), "{}", pool.display());
            assert_eq!(volumes(&pool), Vec::<PathBuf>::new(), "{said}");
        }
    }
}

#[tokio::test]
async fn a_walk_that_is_stopped_tidies_up_and_ends() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = demo(directory.path(), &["--once"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("CreateVolume") {
            break;
        }
    }
    kill_process(Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    let rest = async { while lines.next_line().await.unwrap().is_some() {} };
    let (status, ()) = tokio::join!(child.wait(), rest);
    assert!(status.unwrap().code().is_some(), "it ends by itself, not by the signal");
    assert_eq!(volumes(&directory.path().join("data/pool")), Vec::<PathBuf>::new());
    assert!(!directory.path().join("csi.sock").exists());
}

/// What it names to try next works while it serves.
#[tokio::test]
async fn what_it_invites_to_works() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = demo(directory.path(), &["--no-walk"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    while !said.last().is_some_and(|line: &String| line.contains("drivebay config")) {
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        said.push(line.unwrap_or_else(|_| panic!("it says no more: {said:?}")).unwrap().expect("it serves"));
    }
    let admin = said.iter().find_map(|line| line.trim().strip_prefix("export DRIVEBAY_ADMIN=")).unwrap();
    for command in ["status", "history", "reload", "rollback"] {
        let line =
            said.iter().find_map(|line| line.trim().strip_prefix("drivebay ").filter(|l| l.starts_with(command)));
        let words: Vec<_> = line.unwrap_or_else(|| panic!("{command}: {said:?}")).split(' ').collect();
        let begun = Instant::now();
        let output = loop {
            let mut program = Command::new(env!("CARGO_BIN_EXE_drivebay"));
            let output = program.args(&words).env("DRIVEBAY_ADMIN", admin).output().await.unwrap();
            // It may still be recovering from its start, which is no state to be well in.
            if output.status.success() || command != "status" || begun.elapsed() > PATIENCE {
                break output;
            }
        };
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
    kill_process(Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    assert!(child.wait().await.unwrap().success());
}
