//! What `drivebay check` finds in components and configurations, as the JSON that it prints. The words for people are
//! the program's own unit tests.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn check(file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_drivebay")).args(["check", "--json"]).arg(file).output().unwrap()
}

/// What is printed, and that the exit status says the same.
fn component(file: &Path) -> Value {
    let output = check(file);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(output.status.code(), Some(i32::from(found["ok"] != true)), "{found:#}");
    found
}

fn config(text: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("host.toml");
    std::fs::write(&file, text).unwrap();
    component(&file)
}

fn has(list: &Value, name: &str) -> bool {
    list.as_array().unwrap().iter().any(|entry| entry == name)
}

fn words(list: &Value) -> String {
    list.as_array().unwrap().iter().map(|entry| entry.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_built_in_backend_is_well_and_lists_what_it_needs() {
    let found = component(Path::new("local"));
    assert_eq!(found["ok"], true, "{found:#}");
    assert_eq!(found["digest"].as_str().unwrap().len(), "sha256:".len() + 64);
    assert!(has(&found["interfaces"], "drivebay:backend/volumes@0.1.0"));
    assert!(has(&found["capabilities"]["controller"], "CREATE_DELETE_VOLUME"));
    assert!(has(&found["capabilities"]["plugin"], "volume_expansion.ONLINE"));
    let pool = &found["grants"][0];
    assert_eq!((&pool["required"], &pool["given"]), (&json!(true), &json!(false)));
    assert!(pool["what"].as_str().unwrap().contains("/pool"), "{pool}");
}

#[test]
fn files_that_are_no_component_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("backend.wasm");
    for (bytes, expected) in [
        (&b"hello"[..], "does not begin as a WebAssembly file"),
        (b"\0asm\x01\0\0\0", "core module"),
        (b"\0asm\x0d\0\x01\0", "does not export drivebay:backend/identity@0.1.0"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let found = component(&file);
        assert_eq!(found["ok"], false);
        assert_eq!(found["size"], bytes.len());
        assert!(words(&found["problems"]).contains(expected), "{found:#}");
    }
    let absent = check(&directory.path().join("absent"));
    assert_eq!(absent.status.code(), Some(2), "wrong usage");
    assert!(String::from_utf8_lossy(&absent.stderr).contains("absent"), "{absent:?}");
}

#[test]
fn a_configuration_is_judged_with_its_grants() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().display();
    let file = |grants: &str| {
        format!(
            "[host]\nstate = \"{root}/state\"\n[[backend]]\nname = \"a\"\ncomponent = \"local\"\n\
             csi = \"unix://{root}/csi.sock\"\nnode-id = \"n\"\n{grants}"
        )
    };
    let granted = |host: &str| {
        file(&format!("[backend.grants]\ndirectories = [{{ host = \"{host}\", guest = \"/pool\", write = true }}]\n"))
    };
    let good = config(&granted(&root.to_string()));
    assert_eq!(good["ok"], true, "{good:#}");
    assert_eq!(good["backends"][0]["grants"][0]["given"], true);
    assert!(!place.path().join("state").exists(), "a check makes nothing");

    let lacking = config(&file(""));
    assert_eq!(lacking["ok"], false);
    assert!(words(&lacking["backends"][0]["problems"]).contains("grants that it does not have"), "{lacking:#}");

    let absent = config(&granted(&format!("{root}/absent")));
    assert!(words(&absent["backends"][0]["problems"]).contains("make the directory"), "{absent:#}");

    let pinned = config(&file(&format!("digest = \"sha256:{}\"\n", "0".repeat(64))));
    assert!(words(&pinned["backends"][0]["problems"]).contains("allows only"), "{pinned:#}");
}

#[test]
fn all_mistakes_of_a_file_are_reported() {
    let found = config("nonsense = 1\n[[backend]]\nname = \"a b\"\ncomponent = \"local\"\n");
    assert_eq!(found["ok"], false);
    let words = words(&found["problems"]);
    for expected in ["nonsense", "a name has letters", "no socket"] {
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn a_file_where_a_socket_or_directory_shall_be_is_a_problem() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    let found = config(&format!(
        "[host]\nstate = \"{0}/state\"\n[[backend]]\nname = \"a\"\ncomponent = \"local\"\ncsi = \"unix://{0}\"\n",
        file.display()
    ));
    assert!(words(&found["problems"]).contains("this is no directory"), "{found:#}");
    assert!(words(&found["backends"][0]["problems"]).contains("is no socket"), "{found:#}");
}
