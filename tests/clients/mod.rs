//! Clients that are not ours: Python's gRPC, which makes an authority of the socket's path that the
//! transport would refuse (T9). They must get from every method what our own client gets. Needs the
//! environment that `.ci/clients` makes.

mod beside;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use prost_reflect::MethodDescriptor;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::bad_input::{Maker, requests_of_facts};
use crate::support::{Guest, Options, TestHost, wire};

/// Python with its gRPC. Its absence is said aloud, and is a failure where everything must be there.
fn python() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_drivebay"));
    let target = program.ancestors().nth(2).expect("the program lies in a profile's folder");
    let python = target.join("clients/python/bin/python3");
    if python.is_file() {
        return Some(python);
    }
    let words = format!("{} is not there; .ci/clients makes it", python.display());
    assert!(std::env::var("CI").is_err(), "{words}, and with CI=true it must be");
    let _ = writeln!(std::io::stderr(), "skipped: {words}");
    None
}

/// The test backend with all that requests name.
async fn site() -> TestHost {
    let options = Options::default().setting("features", "snapshot-replication");
    let host = TestHost::start(Guest::TESTER, options).await;
    host.create(&["v"]).await;
    let cut = format!("vol-v{0}4096{0}1{0}", '\u{1f}');
    host.control(&[("set:snapshot/snap-s", &cut), ("set:volume-group/vg-g", "[]\u{1f}vol-v")]).await;
    host
}

/// Every method of every service, with a request that is well-formed.
fn calls() -> Vec<(String, MethodDescriptor, Vec<u8>)> {
    let known = [
        ("volume_id", "vol-v"),
        ("source_volume_id", "vol-v"),
        ("volume_ids", "vol-v"),
        ("volume_group_id", "vg-g"),
        ("snapshot_id", "snap-s"),
        ("volume_snapshot_id", "snap-s"),
        ("base_snapshot_id", "snap-s"),
        ("target_snapshot_id", "snap-s"),
        ("group_snapshot_id", "group-a"),
        ("cidr", "192.0.2.0/24"),
        ("volume_path", "/nowhere/target"),
        ("target_path", "/nowhere/target"),
        ("staging_target_path", "/nowhere/staging"),
    ];
    let known: BTreeMap<_, _> = known.map(|(field, value)| (field, value.to_owned())).into();
    let maker = Maker { facts: requests_of_facts(), known };
    let services: Vec<_> = wire::contracts().services().collect();
    let mut methods: Vec<_> = services.iter().flat_map(|service| service.methods().collect::<Vec<_>>()).collect();
    // What is deleted is not there for the others.
    methods.sort_by_key(|method| ["Delete", "Disable"].iter().any(|word| method.name().starts_with(word)));
    methods
        .into_iter()
        .map(|method| {
            let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
            let request = prost::Message::encode_to_vec(&maker.valid(&method.input()));
            (path, method, request)
        })
        .collect()
}

/// What our own client gets.
async fn ours() -> BTreeMap<String, String> {
    let host = site().await;
    let channel = host.connect().await;
    let mut codes = BTreeMap::new();
    for (path, method, request) in calls() {
        let request = prost_reflect::DynamicMessage::decode(method.input(), request.as_slice()).unwrap();
        let code = match wire::call(channel.clone(), &method, &request).await {
            Ok(_) => "Ok".to_owned(),
            Err(status) => format!("{:?}", status.code()),
        };
        codes.insert(path, code);
    }
    codes
}

/// What Python's gets.
async fn theirs(python: &Path, authority: impl FnOnce(&TestHost) -> Option<String>) -> BTreeMap<String, String> {
    let host = site().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/every_call.py");
    let mut command = Command::new(python);
    command.arg(script).arg(host.socket()).args(authority(&host));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let line = |(path, method, request): (String, MethodDescriptor, Vec<u8>)| {
        let kind = if method.is_server_streaming() { "stream" } else { "unary" };
        let bytes: String = request.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{path} {kind} {bytes}\n")
    };
    let lines: String = calls().into_iter().map(line).collect();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).await.unwrap();
    let said = child.wait_with_output().await.unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let codes = said.lines().map(|line| line.split_once(' ').expect(line));
    codes.map(|(path, code)| (path.to_owned(), code.replace('_', "").to_lowercase())).collect()
}

#[tokio::test]
async fn t9_python_makes_every_call() {
    let Some(python) = python() else { return };
    let ours: BTreeMap<_, _> = ours().await.into_iter().map(|(path, code)| (path, code.to_lowercase())).collect();
    assert_eq!(ours.len(), 58);
    let good = ours.values().filter(|code| *code == "ok").count();
    assert!(good > 50, "{ours:#?}");
    assert_eq!(theirs(&python, |_| None).await, ours, "as it comes");
    let bare = |host: &TestHost| Some(host.socket().display().to_string());
    assert_eq!(theirs(&python, bare).await, ours, "with the bare path");
    assert_eq!(theirs(&python, |_| Some("localhost".to_owned())).await, ours, "with a sound authority");
}
