//! What the documents say is what the sources do: the tutorial's code, the limits that vendors read.
//! Owns no number and no code of its own to compare with. Why as tests: nobody notices a document that
//! fell behind, except those who rely on it.

use std::path::Path;
use std::time::Duration;

use drivebay_files::JobLimits;
use drivebay_policy::grants::http::HttpLimits;
use drivebay_policy::limits::{Limits, WallLimits};
use drivebay_state::{MAX_COMMIT_BYTES, MAX_COMMIT_CHANGES, MAX_KEY_BYTES, MAX_VALUE_BYTES, Quota};

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The fenced blocks of a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let parts = format!("\n{page}").split(&format!("\n{fence}")).skip(1).map(str::to_owned).collect::<Vec<_>>();
    parts.iter().filter_map(|part| part.split_once("\n```").map(|(block, _)| format!("{block}\n"))).collect()
}

#[test]
fn the_tutorial_shows_the_backend_that_is_built() {
    let shown = blocks(&text("README.md"), "rust");
    assert_eq!(shown, [text("guests/first/src/lib.rs")], "copy guests/first/src/lib.rs into README.md");
}

/// A reader of `guests/README.md` changes one line of the copy: where the SDK is.
#[test]
fn the_tutorials_folder_works_wherever_it_is_copied_to() {
    let (root, copy) = (Path::new(env!("CARGO_MANIFEST_DIR")), tempfile::tempdir().unwrap());
    std::fs::create_dir(copy.path().join("src")).unwrap();
    std::fs::copy(root.join("guests/first/src/lib.rs"), copy.path().join("src/lib.rs")).unwrap();
    // So that nothing is asked of a registry.
    std::fs::copy(root.join("guests/Cargo.lock"), copy.path().join("Cargo.lock")).unwrap();
    let manifest = text("guests/first/Cargo.toml");
    let sdk = root.join("guests/sdk").display().to_string();
    assert_eq!(manifest.matches("path = \"../sdk\"").count(), 1, "{manifest}");
    std::fs::write(copy.path().join("Cargo.toml"), manifest.replace("../sdk", &sdk)).unwrap();
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--offline",
        "--filter-platform",
        "wasm32-wasip2",
        "--format-version",
        "1",
        "--manifest-path",
    ]);
    let found = cargo.arg(copy.path().join("Cargo.toml")).output().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
}

#[test]
fn the_commented_configuration_is_that_of_the_types() {
    let page = text("host/policy/drivebay.toml");
    assert!(page == drivebay_policy::example(), "write the output of `drivebay config` to host/policy/drivebay.toml");
}

#[test]
fn blocks_are_found_by_language() {
    let page = "```rust\nfn a() {}\n```\ntext\n```sh\nls\n```\n```rust\n\n```\n";
    assert_eq!(blocks(page, "rust"), ["fn a() {}\n", "\n"]);
    assert_eq!(blocks(page, "sh"), ["ls\n"]);
}

/// The rows of the table below a heading, without its head.
fn table(page: &str, heading: &str) -> Vec<(String, String)> {
    let section = page.split(heading).nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let cell = |line: &str, n: usize| line.split('|').nth(n).unwrap().trim().to_owned();
    rows.map(|line| (cell(line, 1), cell(line, 2))).collect()
}

fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}

fn count(number: usize) -> String {
    grouped(u64::try_from(number).unwrap())
}

/// Bytes in the unit that the pages use for them: `unit` is a power of 1,024.
fn mib(bytes: usize) -> String {
    assert_eq!(bytes % (1 << 20), 0);
    format!("{} MiB", bytes >> 20)
}

fn kib(bytes: u64) -> String {
    assert_eq!(bytes % 1024, 0);
    format!("{} KiB", bytes >> 10)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// The table of limits as the sources have it. A new limit does not compile here until it has a row.
fn limits() -> Vec<(&'static str, String)> {
    let Limits {
        memory,
        memory_total,
        cpu,
        wall,
        calls,
        crossing,
        crossing_total,
        log_rate,
        log_burst,
        state,
        state_waiting,
        handles,
        open_files,
        node_devices,
        table_elements,
        jobs,
        failures,
        compile_memory,
        compile_time,
        http,
    } = Limits::default();
    let WallLimits { read, change, probe, step, recovery, load } = wall;
    let bytes = |bytes: u64| mib(usize::try_from(bytes).unwrap());
    let (quota, waiting) = (Quota::default(), JobLimits::default().waiting);
    assert_eq!((quota.bytes, quota.waiting), (state, state_waiting), "the two defaults of one limit");
    assert_eq!(JobLimits::default().running, jobs, "the two defaults of one limit");
    let mut all = vec![
        ("memory of an instance, all memories together", bytes(memory)),
        ("memory of all calls together, and of idle instances", bytes(memory_total)),
        ("CPU time of a call", seconds(cpu)),
        ("wall time: reading / changing call", format!("{} / {}", seconds(read), seconds(change))),
        (
            "wall time: `probe`, `run-step` and `list-due`, `recover`, `describe` and `run-self-test`",
            [probe, step, recovery, load].map(seconds).join(", "),
        ),
        ("calls of a backend at the same time", count(calls)),
        ("bytes in one crossing of the boundary", bytes(crossing)),
        ("bytes in all host calls of one call", bytes(crossing_total)),
        ("log", format!("{} a second, bursts of {}", kib(log_rate), kib(log_burst))),
        ("state: all keys and values", format!("{} and {} keys", bytes(state), grouped(quota.keys))),
        ("state: key / value / commit", commit_limits()),
        ("state: commits that wait for the disk", bytes(state_waiting)),
        ("open handles of an instance", count(handles)),
        ("open files and directories of all calls", count(open_files)),
        ("loop devices on a node", count(node_devices)),
        ("table elements of an instance", grouped(table_elements)),
        ("jobs of `files.run-job` at the same time", format!("{jobs}, and {waiting} that wait")),
        ("calls in a row that may end badly", failures.to_string()),
        ("compiling: memory / time", format!("{} / {}", bytes(compile_memory), seconds(compile_time))),
    ];
    all.extend(http_limits(&http));
    all.extend([
        // Of the wire format (CSI, "Size Limits"), and proved by the checks' own tests.
        ("names of clients and ids of yours", "128 bytes; node ids 256 bytes".to_owned()),
        ("a volume's context, all keys and values", "4 KiB".to_owned()),
    ]);
    all
}

/// What no operator changes of the state.
fn commit_limits() -> String {
    let (key, value) = (count(MAX_KEY_BYTES), mib(MAX_VALUE_BYTES));
    let (commit, changes) = (mib(MAX_COMMIT_BYTES), count(MAX_COMMIT_CHANGES));
    format!("{key} bytes / {value} / {commit} and {changes} changes")
}

fn http_limits(limits: &HttpLimits) -> [(&'static str, String); 4] {
    let HttpLimits { connections, requests, request, response, connect_time, time } = *limits;
    let bytes = |bytes: u64| mib(usize::try_from(bytes).unwrap());
    [
        ("HTTP connections at the same time", count(connections)),
        ("HTTP requests of a call, refused ones included", grouped(requests)),
        ("HTTP: body of a request / of an answer", format!("{} / {}", bytes(request), bytes(response))),
        (
            "HTTP: time for a connection / for an answer's head, and between parts of its body",
            format!("{} / {}", seconds(connect_time), seconds(time)),
        ),
    ]
}

#[test]
fn vendors_read_the_limits_that_hold() {
    let written = table(&text("wit/README.md"), "\n## Limits\n");
    let written: Vec<_> = written.iter().map(|(name, default)| (name.as_str(), default.clone())).collect();
    assert_eq!(written, limits());
}

#[test]
fn numbers_are_written_as_the_pages_write_them() {
    assert_eq!([7, 128, 1_024, 1_000_000].map(grouped), ["7", "128", "1,024", "1,000,000"]);
}
