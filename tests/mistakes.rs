//! `drivebay test`: what it says of right components, of wrong ones (`guests/mistakes`, one typical mistake each), and of a
//! budget. Every mistake of the catalogue must be found; a component without one is accused of nothing.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::process::Command;

use crate::support::Guest;

/// The typical mistakes, each with a rule that it must be found to break.
const MISTAKES: [(&str, &str); 37] = [
    ("forgets-names", "once"),
    ("two-commits", "leak"),
    ("name-before-volume", "there"),
    ("intent-left", "leak"),
    ("id-from-name", "new-id"),
    ("id-from-clock", "apart"),
    ("id-from-counter", "apart"),
    ("id-freed", "new-id"),
    ("index-overwritten", "listed"),
    ("ignores-commit", "once"),
    ("again-without-looking", "leak"),
    ("failure-for-ever", "done"),
    ("delete-id-first", "listed"),
    ("delete-name-first", "leak"),
    ("delete-unknown", "done"),
    ("delete-keeps", "leak"),
    ("delete-prefix", "there"),
    ("other-size", "conflict"),
    ("token-position", "listed"),
    ("token-twice", "listed"),
    ("list-short", "listed"),
    ("secret-in-context", "done"),
    ("secret-in-state", "secret"),
    ("space-lost", "capacity"),
    ("space-twice", "leak"),
    ("space-raced", "leak"),
    ("growth-adds", "size"),
    ("growth-forgotten", "size"),
    ("growth-once", "done"),
    ("context-differs", "once"),
    ("size-forgotten", "once"),
    ("confirms-anything", "gone"),
    ("lock-left", "done"),
    ("lock-with-time", "done"),
    ("stumbles-on-leftover", "done"),
    ("recovery-deletes", "there"),
    ("static-memory", "once"),
];

/// Tests that run side by side: most of the time each waits for the other end of a socket.
const AT_ONCE: usize = 3;

/// Runs `drivebay test` on a component; gives its exit status and what it printed.
async fn test(component: &Path, words: &[&str], directory: &Path) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.arg("test").arg(component).args(words).current_dir(directory).stdin(Stdio::null()).kill_on_drop(true);
    let done = command.output().await.unwrap();
    let words = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    (done.status.code().unwrap_or(-1), words)
}

/// The words of the catalogue, from its source.
fn catalogue() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/mistakes/src/mistake.rs");
    let text = std::fs::read_to_string(source).unwrap();
    let rows = text.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" = \""));
    rows.map(|(_, word)| word.to_owned()).collect()
}

#[test]
fn every_mistake_of_the_catalogue_has_a_row() {
    let rows: Vec<_> = MISTAKES.iter().map(|(mistake, _)| (*mistake).to_owned()).collect();
    let (mut rows, mut words) = (rows, catalogue());
    rows.sort();
    words.sort();
    assert_eq!(rows, words);
}

#[tokio::test]
async fn every_mistake_is_found() {
    let (component, directory) = (Guest("mistakes").path(), tempfile::tempdir().unwrap());
    let found = stream::iter(MISTAKES).map(|(mistake, rule)| {
        let (component, place) = (&component, directory.path());
        async move {
            let setting = format!("mistake={mistake}");
            let (code, words) = test(component, &["--set", &setting, "--only", "deep"], place).await;
            let is_found = code == 1 && words.lines().any(|line| line.starts_with(&format!("FAIL {rule}: ")));
            (!is_found).then(|| format!("{mistake} ({rule}): {code}\n{words}"))
        }
    });
    let missed: Vec<_> = found.buffer_unordered(AT_ONCE).filter_map(std::future::ready).collect().await;
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The samples that are there, and the component of the mistakes when it makes none.
#[tokio::test]
async fn what_is_right_is_accused_of_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let samples = ["mistakes", "minimal-rust", "minimal-go", "minimal-python", "minimal-ts", "minimal-c"].map(Guest);
    let components: Vec<PathBuf> = samples.into_iter().filter(|guest| guest.is_built()).map(Guest::path).collect();
    let runs = components.iter().flat_map(|component| [1, 2, 3].map(|seed: u64| (component, seed.to_string())));
    let accused = stream::iter(runs).map(|(component, seed)| {
        let place = directory.path();
        async move {
            let (code, words) = test(component, &["--only", "deep", "--seed", &seed], place).await;
            (code != 0).then(|| format!("{} with seed {seed}: {code}\n{words}", component.display()))
        }
    });
    let accused: Vec<_> = accused.buffer_unordered(AT_ONCE).filter_map(std::future::ready).collect().await;
    assert!(accused.is_empty(), "{}", accused.join("\n"));
}

/// The reference backend keeps files, notes intents and cleans up behind itself; it is the sternest test of the judges.
#[tokio::test]
async fn the_reference_backend_is_accused_of_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let pool = directory.path().join("pool");
    std::fs::create_dir(&pool).unwrap();
    let grant = format!("{}:/pool", pool.display());
    let (code, words) = test(&Guest::LOCAL.path(), &["--directory", &grant, "--only", "deep"], directory.path()).await;
    assert_eq!(code, 0, "{words}");
}

/// A finding is one block, and what it says to play again shows the same.
#[tokio::test]
async fn a_finding_is_shown_again_by_its_command() {
    let (component, directory) = (Guest("mistakes").path(), tempfile::tempdir().unwrap());
    let setting = ["--set", "mistake=two-commits"];
    let (_, words) =
        test(&component, &[&setting[..], &["--only", "deep", "--seed", "5"]].concat(), directory.path()).await;
    let block = words.split("\n\n").next().unwrap_or_default();
    assert!(block.contains("at host call") && block.contains("state.commit"), "{words}");
    let again = block.lines().find_map(|line| line.trim().strip_prefix("again: drivebay test ")).unwrap();
    let scenario = again.split_once("--only ").map(|(_, name)| name.trim()).unwrap();
    assert!(again.contains("--set mistake=two-commits") && again.contains("--deep --seed 5"), "{again}");
    let only = [&setting[..], &["--deep", "--seed", "5", "--only", scenario, "--json"]].concat();
    let (code, words) = test(&component, &only, directory.path()).await;
    let report: Value = serde_json::from_str(&words).unwrap();
    assert_eq!((code, &report["deep"]["findings"][0]["rule"]), (1, &Value::from("leak")), "{words}");
    assert_eq!(report["deep"]["scenarios"], 1);
    let (code, words) = test(&component, &["--deep", "--only", "create/kill-99"], directory.path()).await;
    assert!(code == 1 && words.contains("there is no scenario create/kill-99"), "{words}");
}

/// Without `--deep`: the rules of CSI, and what calls use against a file that the vendor commits.
#[tokio::test]
async fn a_component_is_judged_by_the_rules_and_by_its_budget() {
    let (component, directory) = (Guest("minimal-rust").path(), tempfile::tempdir().unwrap());
    let (code, words) = test(&component, &["--write-budget"], directory.path()).await;
    assert_eq!(code, 0, "{words}");
    assert!(words.contains("conform: ") && words.contains("0 fail") && words.contains("within the budget"), "{words}");
    let (code, words) = test(&component, &["--only", "budget", "--json"], directory.path()).await;
    let report: Value = serde_json::from_str(&words).unwrap();
    assert_eq!((code, &report["budget"]["is_held"]), (0, &Value::from(true)), "{words}");
    let file = directory.path().join("drivebay.budget.toml");
    let budget = std::fs::read_to_string(&file).unwrap();
    let fewer = budget.replacen("host-calls = 2", "host-calls = 1", 1);
    assert!(fewer != budget, "{budget}");
    std::fs::write(&file, fewer).unwrap();
    let (code, words) = test(&component, &["--only", "budget"], directory.path()).await;
    assert!(code == 1 && words.contains("2 host calls, the budget is 1"), "{words}");
    std::fs::write(&file, "[margin]\ntiem = 1.0\n").unwrap();
    let (code, words) = test(&component, &["--only", "budget"], directory.path()).await;
    assert!(code != 0 && words.contains("tiem"), "{words}");
    let (code, words) = test(Path::new("absent.wasm"), &[], directory.path()).await;
    assert!(code != 0 && words.contains("absent.wasm"), "{words}");
}
