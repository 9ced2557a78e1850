//! The gate: for each refusal a real component, the refusal's id in log and history, and the old generation
//! serving on.

use drivebay_backend::gate::RefusalId;
use serde_json::json;

use super::*;
use crate::support::{run_to_end, wasm};

/// What no component brings about: a decision of the lifecycle alone, which its own tests show, and the host's end.
const ELSEWHERE: [&str; 2] = ["busy", "host-failed"];

#[test]
fn every_refusal_is_shown() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/swaps");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let texts: Vec<_> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    for id in RefusalId::ALL {
        let quoted = [format!("\"{}\"", id.word()), format!("\"{}\\\"", id.word())];
        let is_shown = texts.iter().any(|text| quoted.iter().any(|word| text.contains(word)));
        assert!(is_shown || ELSEWHERE.contains(&id.word()), "{} is shown by no test", id.word());
    }
    assert!(ELSEWHERE.iter().all(|word| RefusalId::ALL.iter().any(|id| id.word() == *word)));
}

/// Puts a candidate in the place of version 1 and expects its refusal, while version 1 serves on.
async fn refuses(candidates: &[(&str, Vec<u8>)]) {
    let (shelf, host) = host(Options::default()).await;
    for (n, (id, bytes)) in candidates.iter().enumerate() {
        shelf.replace(bytes);
        host.log.wait("refused: ", n + 1).await;
        let history = host.history().await;
        assert_eq!(history[0]["refusal"], *id, "{history:#?}");
        assert_eq!((&history[0]["state"], &history[n + 1]["state"]), (&json!("rejected"), &json!("active")));
        assert_eq!(serving(&host, &format!("after-{id}-{n}")).await, version(1), "{id}");
    }
    let status = host.status().await;
    assert_eq!(status["last_refusal"]["id"], candidates.last().unwrap().0);
    assert_eq!((&status["state"], &status["generation"]), (&json!("active"), &json!(1)));
}

/// One function of a million additions takes more than a gigabyte.
#[tokio::test]
async fn what_takes_too_much_to_compile() {
    let (shelf, host) = host(Options::default().limit("compile-memory", "200MiB")).await;
    shelf.replace(&wasm::with_modules(&tester(2, "good"), &[wasm::additions(1_000_000)]));
    host.log.wait("refused: ", 1).await;
    let history = host.history().await;
    assert_eq!(history[0]["refusal"], "too-costly-to-compile", "{history:#?}");
    assert_eq!(serving(&host, "after").await, version(1));
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut out = bytes.to_vec();
    let places: Vec<_> = (0..out.len() - from.len()).filter(|at| out[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{from} is not there");
    for at in places {
        out[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    out
}

#[tokio::test]
async fn what_is_no_backend_of_this_contract() {
    let good = tester(2, "good");
    // 2,000 pages, far above the memory that an instance may have.
    let memory = b"\0asm\x01\0\0\0\x05\x04\x01\0\xd0\x0f";
    refuses(&[
        ("broken-component", good[..good.len() / 2].to_vec()),
        ("too-large", wasm::with_modules(&good, &[memory.to_vec()])),
        ("foreign-component", b"\0asm\x01\0\0\0".to_vec()),
        ("foreign-component", b"\0asm\x0d\0\x01\0".to_vec()),
        ("wrong-contract", replaced(&good, "/state@0.1.0", "/state@0.2.0")),
        ("wrong-contract", replaced(&good, "/identity@0.1.0", "/identity@0.2.0")),
        ("wrong-contract", replaced(&good, "vendor-version", "seller-version")),
        ("broken-component", b"#!/bin/sh\n".to_vec()),
    ])
    .await;
}

#[tokio::test]
async fn what_is_not_well() {
    refuses(&[
        ("describe-failed", tester(2, "desc")),
        ("describe-failed", tester(2, "trap")),
        ("probe-failed", tester(2, "prob")),
        ("self-test-failed", tester(2, "self")),
    ])
    .await;
}

#[tokio::test]
async fn what_is_another_driver_or_can_do_less_or_wants_more() {
    let other = stamped(Guest::TESTER, &[("version", &version(2)), ("name", "tester.drivebay.dex")]);
    refuses(&[
        ("other-plugin", other),
        ("fewer-abilities", tester(2, "less")),
        ("missing-grants", tester(2, "want")),
        ("lower-version", tester(0, "good")),
    ])
    .await;
}

#[tokio::test]
async fn force_helps_against_mistakes_and_not_against_dangers() {
    let (shelf, host) = host(Options::default()).await;
    shelf.replace(&tester(0, "less"));
    host.log.wait("refused: ", 1).await;
    host.refused(&["reload", "under-test", "--wait"], "fewer-abilities").await;
    host.told(&["reload", "under-test", "--wait", "--force"]).await;
    assert_eq!(serving(&host, "a").await, version(0));
    shelf.replace(&tester(3, "prob"));
    host.log.wait("refused: ", 3).await;
    host.refused(&["reload", "under-test", "--wait", "--force"], "probe-failed").await;
    assert_eq!(serving(&host, "b").await, version(0));
}

#[tokio::test]
async fn a_file_that_is_gone_and_settings_that_cannot_be() {
    let (shelf, host) = host(Options::default()).await;
    std::fs::remove_file(shelf.file()).unwrap();
    host.refused(&["reload", "under-test", "--wait"], "unreadable").await;
    shelf.replace(&tester(1, "good"));
    host.told(&["reload", "under-test", "--wait"]).await;
    let grants = "[backend.grants]\ndirectories = [{ host = \"/nowhere/at/all\", guest = \"/pool\" }]";
    let text = std::fs::read_to_string(host.file()).unwrap().replace("[backend.grants]", grants);
    std::fs::write(host.file(), text).unwrap();
    host.log.wait("refusal=\"surroundings\"", 1).await;
    assert_eq!(serving(&host, "a").await, version(1));
}

#[tokio::test]
async fn a_digest_that_is_pinned_in_the_configuration() {
    let first = tester(1, "good");
    let digest = drivebay_backend::digest_of(&first);
    let (shelf, host) = host(Options::default().backend(&format!("digest = \"sha256:{digest}\""))).await;
    shelf.replace(&tester(2, "good"));
    host.log.wait("refusal=\"wrong-digest\"", 1).await;
    assert_eq!(serving(&host, "a").await, version(1));
}

#[tokio::test]
async fn signatures_are_demanded_where_signers_are_named() {
    let keys = tempfile::tempdir().unwrap();
    let (vendor, stranger) = (keys.path().join("vendor"), keys.path().join("stranger"));
    for name in [&vendor, &stranger] {
        let (code, words) = run_to_end(&["keygen"], &[name]).await;
        assert_eq!(code, 0, "{words}");
    }
    let shelf = Shelf::with(&tester(1, "good"));
    let sign = async |file: &std::path::Path, key: &std::path::Path| {
        let (code, words) = run_to_end(&["sign", "--key"], &[&key.with_extension("key"), file]).await;
        assert_eq!(code, 0, "{words}");
    };
    sign(&shelf.file(), &vendor).await;
    let signers = format!("signers = [\"{}\"]", vendor.with_extension("pub").display());
    let host = TestHost::start(Guest::TESTER, Options::default().component(&shelf.file()).backend(&signers)).await;
    let signature = shelf.beside("backend.wasm.sig");

    let other = std::fs::read(&signature).unwrap();
    shelf.replace(&tester(2, "good"));
    host.log.wait("refusal=\"wrong-signature\"", 1).await;
    std::fs::remove_file(&signature).unwrap();
    host.refused(&["reload", "under-test", "--wait"], "unsigned").await;
    sign(&shelf.file(), &stranger).await;
    host.refused(&["reload", "under-test", "--wait"], "wrong-signature").await;
    std::fs::write(&signature, other).unwrap();
    host.refused(&["reload", "under-test", "--wait"], "wrong-signature").await;
    assert_eq!(serving(&host, "a").await, version(1));
    // The signature alone brings it: nobody has to reload.
    sign(&shelf.file(), &vendor).await;
    swapped(&host, 2).await;
    assert_eq!(serving(&host, "b").await, version(2));
}
