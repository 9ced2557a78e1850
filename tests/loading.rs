//! What is no backend is refused in words: the program ends with 1 and never panics. A configuration
//! with mistakes ends with 2 and names all of them.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::support::{Guest, Log, Options, PATIENCE, TestHost, run_to_end, wasm};

/// Serves a file and expects that it is refused with these words.
async fn refuses(bytes: &[u8], words: &str) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backend.wasm");
    std::fs::write(&file, bytes).unwrap();
    let text = fails(&file, dir.path()).await;
    assert!(text.contains(words), "\"{words}\" is not in: {text}");
}

/// The words with which a file is refused.
pub async fn fails(file: &Path, dir: &Path) -> String {
    let socket = format!("unix://{}", dir.join("csi.sock").display());
    let (code, text) = run_to_end(&["serve", "--csi", &socket, "--state"], &[&dir.join("state"), file]).await;
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("backend \"backend\" cannot be loaded: "), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    assert!(!dir.join("csi.sock").exists(), "no socket for what cannot be served");
    text
}

fn bytes_of(name: &'static str) -> Vec<u8> {
    std::fs::read(Guest(name).path()).unwrap()
}

/// The same length, so that the component stays well-formed.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut out = bytes.to_vec();
    let mut count = 0;
    for at in 0..out.len().saturating_sub(from.len()) {
        if out[at..].starts_with(from.as_bytes()) {
            out[at..at + to.len()].copy_from_slice(to.as_bytes());
            count += 1;
        }
    }
    assert!(count > 0, "{from} is not there");
    out
}

#[tokio::test]
async fn what_is_no_webassembly() {
    refuses(b"#!/bin/sh\n", "does not begin as a WebAssembly file does").await;
    refuses(b"", "does not begin as a WebAssembly file does").await;
    refuses(b"\0asm", "does not begin as a WebAssembly file does").await;
    let dir = tempfile::tempdir().unwrap();
    let text = fails(&dir.path().join("absent.wasm"), dir.path()).await;
    assert!(text.contains("absent.wasm"), "{text}");
}

#[tokio::test]
async fn what_is_cut_off() {
    let whole = bytes_of("minimal-rust");
    for length in [8 + 1, whole.len() / 4, whole.len() / 2, whole.len() - 1] {
        refuses(&whole[..length], "not a valid WebAssembly component").await;
    }
}

#[tokio::test]
async fn what_is_damaged() {
    let whole = bytes_of("minimal-rust");
    for quarter in 1..4 {
        let mut damaged = whole.clone();
        let from = whole.len() * quarter / 4;
        damaged[from..from + 64].fill(0xff);
        refuses(&damaged, "not a valid WebAssembly component").await;
    }
}

/// Reading a pipe would wait for ever, and a device would never end.
#[tokio::test]
async fn what_is_no_file() {
    let dir = tempfile::tempdir().unwrap();
    crate::support::run("mkfifo", &[dir.path().join("backend.wasm").to_str().unwrap()]);
    let text = fails(&dir.path().join("backend.wasm"), dir.path()).await;
    assert!(text.contains("not a regular file"), "{text}");
    std::fs::remove_file(dir.path().join("backend.wasm")).unwrap();
    std::fs::create_dir(dir.path().join("backend.wasm")).unwrap();
    let text = fails(&dir.path().join("backend.wasm"), dir.path()).await;
    assert!(text.contains("backend.wasm"), "{text}");
}

#[tokio::test]
async fn a_core_module() {
    refuses(b"\0asm\x01\0\0\0", "core module").await;
}

#[tokio::test]
async fn a_component_that_is_no_backend() {
    refuses(b"\0asm\x0d\0\x01\0", "does not export drivebay:backend/identity@0.1.0").await;
}

#[tokio::test]
async fn another_version_of_the_contract() {
    let bytes = bytes_of("minimal-rust");
    let imports = replaced(&bytes, "/state@0.1.0", "/state@0.2.0");
    refuses(&imports, "built for drivebay:host@0.2.0; this host knows 0.1.0").await;
    // One that it cannot do without, and one that it could.
    for interface in ["identity", "volumes"] {
        let exports = replaced(&bytes, &format!("/{interface}@0.1.0"), &format!("/{interface}@0.2.0"));
        refuses(&exports, "built for drivebay:backend@0.2.0; this host knows 0.1.0").await;
    }
}

#[tokio::test]
async fn an_interface_with_other_types() {
    for (from, to) in [("vendor-version", "seller-version"), ("capacity-bytes", "capacity-bites")] {
        let bytes = replaced(&bytes_of("minimal-rust"), from, to);
        refuses(&bytes, "an interface that it exports is not the contract's").await;
        // Who only looks at it hears the same.
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("backend.wasm");
        std::fs::write(&file, &bytes).unwrap();
        let checked = Command::new(env!("CARGO_BIN_EXE_drivebay")).arg("check").arg(&file).output().unwrap();
        let text = String::from_utf8_lossy(&checked.stdout);
        assert_eq!(checked.status.code(), Some(1), "{checked:?}");
        assert!(text.contains("an interface that it exports is not the contract's"), "{text}");
    }
}

#[tokio::test]
async fn grants_that_are_not_given_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let text = fails(&Guest("first").path(), dir.path()).await;
    assert!(text.contains("directory /data, writable") && text.contains("node work"), "{text}");
}

#[tokio::test]
async fn another_file_than_the_one_pinned() {
    let pinned = format!("digest = \"sha256:{}\"", "0".repeat(64));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("host.toml");
    std::fs::write(&file, Options::default().backend(&pinned).file(Guest("minimal-rust"), dir.path())).unwrap();
    let (code, text) = run_to_end(&["serve", "--config"], &[&file]).await;
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("the configuration allows only sha256:0000"), "{text}");
}

#[tokio::test]
async fn compiled_code_is_neither_a_component_nor_trusted_when_damaged() {
    let mut host = TestHost::start(Guest("minimal-rust"), Options::default()).await;
    host.create(&["a"]).await;
    host.stop().await;
    let files = std::fs::read_dir(host.state().join("code")).unwrap().map(|entry| entry.unwrap().path());
    let compiled: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "cwasm")).collect();
    assert_eq!(compiled.len(), 1, "{compiled:?}");
    let mut code = std::fs::read(&compiled[0]).unwrap();
    refuses(&code, "this is compiled code, not a component").await;

    host.start_again().await;
    assert_eq!(host.log.with("compiling anew").len(), 0, "whole code is used");
    host.stop().await;
    let middle = code.len() / 2;
    code[middle] ^= 1;
    std::fs::write(&compiled[0], &code).unwrap();
    host.start_again().await;
    assert_eq!(host.log.with("cached code is not usable, compiling anew").len(), 1);
    host.create(&["a"]).await;
    host.stop().await;
    assert!(std::fs::read(&compiled[0]).unwrap() != code, "it was replaced");
}

#[tokio::test]
async fn a_configuration_with_mistakes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("host.toml");
    let text = "[host]\nstaet = \"/tmp\"\n[[backend]]\nname = \"a b\"\ncomponent = \"x.wasm\"\ncsi = \"tcp://x\"\n\
                [backend.limits]\nmemory = \"lots\"\nspeed = 3\n[[backend]]\nname = \"b\"\ncomponent = \"local\"\n";
    std::fs::write(&file, text).unwrap();
    let (code, said) = run_to_end(&["serve", "--config"], &[&file]).await;
    assert_eq!(code, 2, "{said}");
    for mistake in ["host.staet", "a b", "tcp://x", "limits.memory", "limits.speed", "backend \"b\": no socket"] {
        assert!(said.contains(mistake), "\"{mistake}\" is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

#[tokio::test]
async fn a_command_line_with_mistakes() {
    let wrong = ["serve", "local", "--csi", "csi.sock", "--socket-mode", "999", "--set", "x", "--directory", "/a"];
    let (code, said) = run_to_end(&wrong, &[]).await;
    assert_eq!(code, 2, "{said}");
    for mistake in ["--csi: ", "--socket-mode: ", "--set: ", "--directory: "] {
        assert!(said.contains(mistake), "\"{mistake}\" is not in: {said}");
    }
    let (code, said) = run_to_end(&["serve"], &[]).await;
    assert_eq!(code, 2, "{said}");
    let (code, said) = run_to_end(&["serve", "--config"], &[Path::new("/nowhere/host.toml")]).await;
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("/nowhere/host.toml"), "{said}");
}

/// A compile that nobody needs any more is given up, and its waiters are told.
#[tokio::test]
async fn a_host_that_compiles_says_so_and_ends_when_told() {
    let dir = tempfile::tempdir().unwrap();
    let slow = wasm::with_modules(&bytes_of("minimal-rust"), &[wasm::additions(400_000)]);
    std::fs::write(dir.path().join("backend.wasm"), slow).unwrap();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.args(["serve", "--csi"]).arg(format!("unix://{}", dir.path().join("csi.sock").display()));
    command.arg("--admin").arg(dir.path().join("admin.sock")).arg("--state").arg(dir.path().join("state"));
    command.arg(dir.path().join("backend.wasm")).stderr(std::process::Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let stderr = child.stderr.take().unwrap().into_owned_fd().unwrap();
    // The runtime made the pipe non-blocking; a thread reads it.
    rustix::io::ioctl_fionbio(&stderr, false).unwrap();
    let log = Log::of(stderr);
    log.wait("compiling backend ... ", 1).await;
    // Meanwhile operators are told what goes on.
    let (code, words) = run_to_end(&["status", "--admin"], &[&dir.path().join("admin.sock")]).await;
    assert_eq!(code, 1, "{words}");
    let told = Instant::now();
    let id = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap();
    let took = told.elapsed();
    assert!(status.success() && took < Duration::from_secs(5), "{status} after {took:?}: {}", log.tail());
    assert!(log.with("refused: ").is_empty() && log.with("generation serves").is_empty(), "it was not done by then");
    println!("ended {took:?} after the signal");
}
