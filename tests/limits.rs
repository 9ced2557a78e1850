//! Every limit of a backend and a guest that runs into it: the call ends in words with the code of an
//! unknown outcome, and the host and its other calls go on.

use std::path::Path;
use std::time::{Duration, Instant};

use drivebay_policy::InstancePolicy;
use drivebay_policy::limits::Limits;
use drivebay_proto::pb::csi::v1::ListVolumesRequest;
use tokio::task::JoinSet;
use tonic::Code;

use crate::ids::has_test;
use crate::loading;
use crate::support::{Guest, Options, PATIENCE, TestHost, expect, refused, requests, run_to_end, wasm};

/// Every limit by the name of its field, and the guest that runs into it as file and function.
const PROOFS: [(&str, &str, &str); 32] = [
    ("memory", "tests/limits.rs", "memory"),
    ("memory_total", "tests/limits.rs", "memory_of_all_calls"),
    ("cpu", "tests/limits.rs", "computing_without_end"),
    ("read", "tests/limits.rs", "reading_without_end"),
    ("change", "tests/limits.rs", "waiting_without_end"),
    ("probe", "tests/limits.rs", "a_probe_without_end"),
    ("step", "tests/background.rs", "a_step_without_end_is_ended_and_frees_its_objects"),
    ("recovery", "tests/recovery.rs", "recovery_that_crashes_or_hangs_is_tried_again"),
    ("load", "tests/limits.rs", "loading_without_end"),
    ("calls", "tests/calls.rs", "identity_answers_while_every_place_is_taken"),
    ("crossing", "tests/limits.rs", "bytes_of_one_crossing"),
    ("crossing_total", "tests/limits.rs", "bytes_in_host_calls"),
    ("log_rate", "tests/limits.rs", "log"),
    ("log_burst", "tests/limits.rs", "log"),
    ("state", "tests/limits.rs", "state"),
    ("state_waiting", "host/state/src/tests/turns.rs", "who_lets_too_much_wait_is_refused_and_nobody_else"),
    ("handles", "tests/limits.rs", "handles"),
    ("open_files", "host/files/src/descriptors/tests.rs", "descriptors_are_counted_and_given_back"),
    ("node_devices", "host/node/src/tests/devices.rs", "a_backend_has_so_many_devices_and_no_more"),
    ("table_elements", "tests/limits.rs", "table_elements"),
    ("jobs", "tests/jobs.rs", "no_more_jobs_run_at_once_than_allowed"),
    ("failures", "tests/breaker.rs", "a_series_of_traps_opens_it_and_one_success_closes_it"),
    ("compile_memory", "tests/limits.rs", "memory_of_the_compiler"),
    ("compile_time", "tests/limits.rs", "time_of_the_compiler"),
    ("connections", "host/egress/src/tests/exchange.rs", "connections_are_so_many"),
    ("requests", "host/egress/src/tests/exchange.rs", "a_call_has_so_many_bytes_and_requests"),
    ("request", "host/egress/src/tests/exchange.rs", "bodies_are_bounded"),
    ("response", "host/egress/src/tests/exchange.rs", "bodies_are_bounded"),
    ("connect_time", "host/egress/src/tests/exchange.rs", "a_connection_takes_no_longer_than_allowed"),
    ("time", "host/egress/src/tests/exchange.rs", "nobody_is_waited_for_longer_than_allowed"),
    ("reuse.calls", "tests/limits.rs", "calls_of_a_reused_instance"),
    ("reuse.idle", "tests/limits.rs", "idleness_of_a_reused_instance"),
];

/// The fields that hold a value, as the derived description of a record names them.
fn fields(described: &str) -> Vec<String> {
    let words: Vec<_> = described.split_whitespace().collect();
    let pairs =
        words.windows(2).filter(|pair| pair[0].ends_with(':') && pair[1].starts_with(|c: char| c.is_ascii_digit()));
    pairs.map(|pair| pair[0].trim_end_matches(':').to_owned()).collect()
}

#[test]
fn every_limit_has_a_guest_that_runs_into_it() {
    let reuse = InstancePolicy::Reuse { calls: 1, idle: Duration::from_secs(1) };
    let of_reuse = fields(&format!("{reuse:?}")).into_iter().map(|name| format!("reuse.{name}"));
    let limits: Vec<_> = fields(&format!("{:?}", Limits::default())).into_iter().chain(of_reuse).collect();
    let proved: Vec<_> = PROOFS.iter().map(|(limit, ..)| (*limit).to_owned()).collect();
    assert_eq!(limits, proved);
    for (limit, file, name) in PROOFS {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        assert!(has_test(&text, name), "{limit}: {file} has no test {name}");
    }
}

#[test]
fn fields_are_found_also_within_one_another() {
    assert_eq!(fields("A { a: 1, b: B { c: 2.5s, d: 3 }, e: \"x\" }"), ["a", "c", "d"]);
}

/// An answer that must not take as long as it would without the limit.
async fn soon<T>(answer: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, answer).await.expect("the limit did not end the call")
}

/// A host with one limit, and a guest that is told to run into it. Everybody else is served after.
async fn runs_into(options: Options, word: &str, code: Code, words: &str) -> TestHost {
    let host = TestHost::start(Guest::TESTER, options).await;
    host.instruct("create-volume", "greedy", word).await;
    let mut client = host.controller().await;
    let status = refused(soon(client.create_volume(requests::create("greedy"))).await);
    expect(&status, code, words);
    host.create(&["modest"]).await;
    host
}

/// What a process has computed in all its life; unlike the time that has passed, no other process adds to it.
fn computed(process: u32) -> Duration {
    /// Of a second, to programs, whatever the kernel counts in.
    const TICKS: u32 = 100;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name before it may hold anything. After it: the state, ten more, and the times of the program and the system.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let times = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u32>().unwrap());
    Duration::from_secs(1) * times.sum::<u32>() / TICKS
}

#[tokio::test]
async fn computing_without_end() {
    let options = Options::default().limit("cpu", "200ms");
    let host = runs_into(options, "loop", Code::DeadlineExceeded, "used up its CPU time").await;
    // The default is 10 s; what the limit says must have ended it.
    let computed = computed(host.process());
    assert!(computed < Duration::from_secs(4), "{computed:?}");
}

/// Those that compute for long take turns, so that a processor is always left to who does not. Each ends with its CPU time.
#[tokio::test]
async fn computing_leaves_a_processor_to_others() {
    let processors = std::thread::available_parallelism().unwrap().get();
    if processors == 1 {
        eprintln!("skipped: one processor cannot be left to others");
        return;
    }
    let host = TestHost::start(Guest::TESTER, Options::default().limit("cpu", "1s")).await;
    let names: Vec<_> = (0..processors + 2).map(|n| format!("greedy-{n}")).collect();
    for name in &names {
        host.instruct("create-volume", name, "loop").await;
    }
    let (before, begin) = (computed(host.process()), Instant::now());
    let mut calls = JoinSet::new();
    for name in names {
        let mut client = host.controller().await;
        calls.spawn(async move { client.create_volume(requests::create(&name)).await });
    }
    while let Some(ended) = soon(calls.join_next()).await {
        expect(&refused(ended.unwrap()), Code::DeadlineExceeded, "used up its CPU time");
    }
    let (computed, passed) = (computed(host.process()).saturating_sub(before), begin.elapsed());
    assert!(computed >= Duration::from_secs(1), "they compute: {computed:?}");
    let used = computed.as_secs_f64() / passed.as_secs_f64();
    let most = f64::from(u32::try_from(processors).unwrap()) - 0.5;
    assert!(used < most, "{used:.2} of {processors} processors");
}

/// A guest that sleeps and looks again costs no CPU time, however often it looks.
#[tokio::test]
async fn waiting_is_not_computing() {
    let host = TestHost::start(Guest::TESTER, Options::default().limit("cpu", "300ms")).await;
    // Each look lies in a tick of its own: charged by the tick, sixty of them are 600 ms.
    host.instruct("create-volume", "patient", "nap 60").await;
    host.create(&["patient"]).await;
}

#[tokio::test]
async fn waiting_without_end() {
    let options = Options::default().limit("change-time", "500ms");
    runs_into(options, "hold gate-that-never-opens", Code::DeadlineExceeded, "took longer than a call may take").await;
}

#[tokio::test]
async fn reading_without_end() {
    let host = TestHost::start(Guest::TESTER, Options::default().limit("read-time", "300ms")).await;
    host.instruct("list-volumes", "all", "times 1 hold gate-that-never-opens").await;
    let mut client = host.controller().await;
    let status = refused(soon(client.list_volumes(ListVolumesRequest::default())).await);
    expect(&status, Code::DeadlineExceeded, "took longer than a call may take");
    client.list_volumes(ListVolumesRequest::default()).await.unwrap();
}

#[tokio::test]
async fn a_probe_without_end() {
    let host = TestHost::start(Guest::TESTER, Options::default().limit("probe-time", "300ms")).await;
    host.instruct("probe", "host", "times 1 hold gate-that-never-opens").await;
    // A crash makes the host look at once instead of after its usual pause.
    host.instruct("create-volume", "crash", "trap").await;
    refused(host.controller().await.create_volume(requests::create("crash")).await);
    let line = host.log.wait("to=Unhealthy", 1).await;
    assert!(line.text.contains("took longer than a call may take"), "{}", line.text);
    host.create(&["modest"]).await;
    host.log.wait("to=Ready", 2).await;
}

#[tokio::test]
async fn loading_without_end() {
    let mut host = TestHost::start(Guest::TESTER, Options::default().limit("load-time", "300ms")).await;
    host.instruct("get-node", "host", "hold gate-that-never-opens").await;
    host.stop().await;
    let said = host.start_in_vain().await;
    assert!(said.contains("get-node: the backend took longer than a call may take"), "{said}");
}

#[tokio::test]
async fn memory() {
    let options = Options::default().limit("memory", "16MiB");
    runs_into(options, "allocate 64", Code::Unavailable, "wanted more memory").await;
}

#[tokio::test]
async fn memory_of_all_calls() {
    // Room for two calls that hold 20 MiB each, and not for a third.
    let host = TestHost::start(Guest::TESTER, Options::default().limit("memory-total", "56MiB")).await;
    let mut held = JoinSet::new();
    for name in ["a", "b"] {
        host.instruct("create-volume", name, &format!("allocate 20 then hold {name}")).await;
        let mut client = host.controller().await;
        held.spawn(async move { client.create_volume(requests::create(name)).await });
        host.log.wait(&format!("holding {name}"), 1).await;
    }
    host.instruct("create-volume", "c", "allocate 20").await;
    let mut client = host.controller().await;
    let status = refused(soon(client.create_volume(requests::create("c"))).await);
    expect(&status, Code::Unavailable, "calls together want more memory");
    host.create(&["small"]).await;
    host.open("a").await;
    host.open("b").await;
    while let Some(ended) = held.join_next().await {
        ended.unwrap().expect("it stayed within the limit");
    }
    host.create(&["c"]).await;
}

#[tokio::test]
async fn stack() {
    runs_into(Options::default(), "recurse 10000000", Code::Unavailable, "recursed too deep").await;
}

#[tokio::test]
async fn bytes_in_host_calls() {
    let options = Options::default().limit("crossing-total", "8MiB");
    runs_into(options, "cross 32", Code::Unavailable, "moved more data").await;
}

#[tokio::test]
async fn bytes_of_one_crossing() {
    let options = Options::default().limit("crossing", "256KiB");
    runs_into(options, "cross 1", Code::Unavailable, "moved more data").await;
}

#[tokio::test]
async fn state() {
    let options = Options::default().limit("state", "2MiB");
    let host = runs_into(options, "fill 8", Code::ResourceExhausted, "quota").await;
    // What was written before the quota was reached is the guest's to remove.
    host.control(&[("unset:fill/0", ""), ("unset:act/create-volume/greedy", "")]).await;
    host.create(&["greedy"]).await;
}

#[tokio::test]
async fn handles() {
    let pool = tempfile::tempdir().unwrap();
    std::fs::write(pool.path().join("file"), b"data").unwrap();
    let grant = format!("directories = [{{ host = \"{}\", guest = \"/pool\" }}]", pool.path().display());
    let options = Options::default().limit("handles", "64").grant(&grant);
    runs_into(options, "open 1000 /pool/file", Code::Unavailable, "more handles").await;
}

/// No source in Rust can make a table larger, so the guest is made by hand. What counts is the sum: each of the
/// tables alone stays below the limit.
#[tokio::test]
async fn table_elements() {
    let tester = std::fs::read(Guest::TESTER.path()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("greedy.wasm");
    for (elements, fits) in [(vec![5_000, 5_000], true), (vec![12_000, 12_000], false), (vec![30_000], false)] {
        let modules: Vec<_> = elements.into_iter().map(wasm::growing_table).collect();
        std::fs::write(&file, wasm::with_modules(&tester, &modules)).unwrap();
        if fits {
            assert_eq!(run_to_end(&["check"], &[&file]).await.0, 0, "it is well-formed");
        } else {
            let said = loading::fails(&file, dir.path()).await;
            assert!(said.contains("wanted larger tables than it is allowed"), "{said}");
        }
    }
}

/// How often the instances were used that the host's calls ran in, call by call.
fn uses(host: &TestHost) -> Vec<u32> {
    let number = |text: &str| text.split("use ").nth(1)?.split('.').next()?.parse().ok();
    host.log.with("context=\"uses\"").iter().map(|line| number(&line.text).unwrap()).collect()
}

/// A guest that keeps something from call to call is not kept for more of them than allowed.
#[tokio::test]
async fn calls_of_a_reused_instance() {
    let reuse = "instances = { reuse = { calls = 5, idle = \"60s\" } }";
    let options = Options::default().backend(reuse).log("debug,tester=debug");
    let host = TestHost::start(Guest::TESTER, options).await;
    for n in 0..40 {
        host.create(&[&format!("v{n}")]).await;
    }
    let uses = uses(&host);
    assert!(uses.len() >= 40 && uses.iter().all(|uses| *uses <= 5), "{uses:?}");
    assert!(uses.contains(&5), "they are reused as often as allowed: {uses:?}");
}

/// What crashed may be in any state: it is not used again, however many calls it had left.
#[tokio::test]
async fn a_reused_instance_ends_with_its_first_fault() {
    let reuse = "instances = { reuse = { calls = 1000, idle = \"60s\" } }";
    let host = TestHost::start(Guest::TESTER, Options::default().backend(reuse).log("debug")).await;
    host.instruct("create-volume", "crash", "trap").await;
    for n in 0..10 {
        host.create(&[&format!("a{n}")]).await;
    }
    let before = *uses(&host).last().unwrap();
    assert!(before > 5, "it is reused: {:?}", uses(&host));
    for n in 0..10 {
        refused(host.controller().await.create_volume(requests::create("crash")).await);
        host.create(&[&format!("b{n}")]).await;
    }
    // The host looks after every crash, and may be the first to use an instance that is left of it.
    assert_eq!(host.log.with("to=Unhealthy").len(), 0, "what crashed was used again");
}

/// An instance that has waited too long for its next call is not used for it.
#[tokio::test]
async fn idleness_of_a_reused_instance() {
    let reuse = "instances = { reuse = { calls = 1000, idle = \"20ms\" } }";
    let host = TestHost::start(Guest::TESTER, Options::default().backend(reuse).log("debug")).await;
    for n in 0..10 {
        // Longer than it may wait: that time has passed is all that this is about.
        tokio::time::sleep(Duration::from_millis(25)).await;
        host.create(&[&format!("v{n}")]).await;
    }
    // The host asks for background work at most ten times a second, which can bridge a wait or two. Without the limit,
    // the last one would be the tenth.
    let uses = uses(&host);
    assert!(uses.len() >= 10 && uses.iter().all(|uses| *uses <= 5), "{uses:?}");
}

#[tokio::test]
async fn ending_itself() {
    runs_into(Options::default(), "exit", Code::Unavailable, "ended itself").await;
}

/// A flood of log lines is dropped and counted; the call itself is none the wiser.
#[tokio::test]
async fn log() {
    let host =
        TestHost::start(Guest::TESTER, Options::default().limit("log-rate", "1KiB").limit("log-burst", "64KiB")).await;
    host.instruct("create-volume", "loud", "flood 5000").await;
    host.create(&["loud"]).await;
    let lines = host.log.with("context=\"flood\"").len();
    assert!((10..80).contains(&lines), "{lines} lines of 1 KB in 64 KiB");
    // Nothing more is said by this guest; that lines are missing is told all the same, each of them once.
    for said in 1.. {
        host.log.wait("log lines of the backend were dropped", said).await;
        let told: usize = host.log.with("were dropped").iter().map(|line| dropped(&line.text)).sum();
        if host.log.with("context=\"flood\"").len() + told >= 5_000 {
            break;
        }
    }
}

/// Lines without words cost what is written around them, and so does saying that some are missing.
#[tokio::test]
async fn empty_log_lines() {
    let options = Options::default().limit("log-rate", "1KiB").limit("log-burst", "16KiB");
    let host = TestHost::start(Guest::TESTER, options).await;
    host.instruct("create-volume", "blank", "blank 10000").await;
    let begin = Instant::now();
    host.create(&["blank"]).await;
    let missing = host.log.with("were dropped");
    let bytes: usize = host.log.with("context=\"blank\"").iter().chain(&missing).map(|line| line.text.len()).sum();
    let most = (16 << 10) + (usize::try_from(begin.elapsed().as_secs()).unwrap() + 1) * 1024;
    assert!((1_000..=most).contains(&bytes), "{bytes} of {most} bytes");
}

/// How many lines a line of the log says were dropped.
fn dropped(line: &str) -> usize {
    let number = line.split("lines=").nth(1).unwrap_or_else(|| panic!("no number in: {line}"));
    number.split_whitespace().next().unwrap().parse().unwrap()
}

/// A component that is never compiled within a limit: the host says which, and does not start.
async fn cannot_compile(limit: &str, value: &str, words: &str) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("host.toml");
    let text = Options::default().limit(limit, value).file(Guest::TESTER, dir.path());
    std::fs::write(&file, text).unwrap();
    let (code, said) = run_to_end(&["serve", "--config"], &[&file]).await;
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("takes more than this backend is allowed") && said.contains(words), "{said}");
}

#[tokio::test]
async fn memory_of_the_compiler() {
    cannot_compile("compile-memory", "12MiB", "12 MiB of memory").await;
}

#[tokio::test]
async fn time_of_the_compiler() {
    cannot_compile("compile-time", "1ms", "not done after 1ms").await;
}
