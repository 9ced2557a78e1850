//! Tests of what `check` finds, on the backend that is built in and on files that are none.

use std::path::Path;

use serde_json::{Value, json};

use super::report::{ComponentReport, Report};
use super::scratch::Scratch;
use super::{bare, configuration, places};
use crate::files::Programs;

async fn component(file: &Path) -> Value {
    let report = Report::Component(Box::new(bare(file, &Scratch::new().unwrap()).await.unwrap()));
    serde_json::from_str(&report.json()).unwrap()
}

async fn config(text: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("host.toml");
    std::fs::write(&file, text).unwrap();
    let report = Report::Configuration(configuration(&file, &Scratch::new().unwrap()).await.unwrap());
    serde_json::from_str(&report.json()).unwrap()
}

fn has(list: &Value, name: &str) -> bool {
    list.as_array().unwrap().iter().any(|entry| entry == name)
}

fn words(list: &Value) -> String {
    list.as_array().unwrap().iter().map(|entry| entry.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_built_in_backend_is_well_and_lists_what_it_needs() {
    let found = component(Path::new("local")).await;
    assert_eq!(found["ok"], true, "{found:#}");
    assert_eq!(found["digest"].as_str().unwrap().len(), "sha256:".len() + 64);
    assert!(has(&found["interfaces"], "drivebay:backend/volumes@0.1.0"));
    assert!(has(&found["capabilities"]["controller"], "CREATE_DELETE_VOLUME"));
    assert!(has(&found["capabilities"]["plugin"], "volume_expansion.ONLINE"));
    let pool = &found["grants"][0];
    assert_eq!((&pool["required"], &pool["given"]), (&json!(true), &json!(false)));
    assert!(pool["what"].as_str().unwrap().contains("/pool"), "{pool}");
}

#[tokio::test]
async fn files_that_are_no_component_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("backend.wasm");
    for (bytes, expected) in [
        (&b"hello"[..], "does not begin as a WebAssembly file"),
        (b"\0asm\x01\0\0\0", "core module"),
        (b"\0asm\x0d\0\x01\0", "does not export drivebay:backend/identity@0.1.0"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let found = component(&file).await;
        assert_eq!(found["ok"], false);
        assert_eq!(found["size"], bytes.len());
        assert!(words(&found["problems"]).contains(expected), "{found:#}");
    }
    let absent = bare(&directory.path().join("absent"), &Scratch::new().unwrap()).await;
    assert!(absent.unwrap_err().to_string().contains("absent"));
}

#[tokio::test]
async fn a_configuration_is_judged_with_its_grants() {
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
    let good = config(&granted(&root.to_string())).await;
    assert_eq!(good["ok"], true, "{good:#}");
    assert_eq!(good["backends"][0]["grants"][0]["given"], true);
    assert!(!place.path().join("state").exists(), "a check makes nothing");

    let lacking = config(&file("")).await;
    assert_eq!(lacking["ok"], false);
    assert!(words(&lacking["backends"][0]["problems"]).contains("grants that it does not have"), "{lacking:#}");

    let absent = config(&granted(&format!("{root}/absent"))).await;
    assert!(words(&absent["backends"][0]["problems"]).contains("make the directory"), "{absent:#}");

    let pinned = config(&file(&format!("digest = \"sha256:{}\"\n", "0".repeat(64)))).await;
    assert!(words(&pinned["backends"][0]["problems"]).contains("allows only"), "{pinned:#}");
}

/// One directory with some of the programs in it, as on a machine where not everything is installed.
#[test]
fn programs_that_are_not_installed_are_named_with_what_to_install() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let install = |names: &[&str]| {
        for name in names {
            std::fs::write(place.path().join(name), "").unwrap();
            std::fs::set_permissions(place.path().join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
    };
    let programs = Programs::new(vec![place.path().to_owned()]);
    let imports = |name: &str| ["wasi:io/error@0.2.6".to_owned(), name.to_owned()];
    let lacking = |import: &str| places::programs(&imports(import), &programs);
    install(&["mkfs.ext4", "e2fsck", "resize2fs", "tune2fs", "mkfs.btrfs", "btrfs"]);
    for import in ["drivebay:host/files@0.1.0", "drivebay:host/mounts@0.1.0"] {
        let found = lacking(import);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("mkfs.xfs, xfs_db, xfs_growfs are not installed"), "{found:?}");
        assert!(found[0].ends_with("install xfsprogs"), "{found:?}");
        assert!(found[1].starts_with("btrfstune is not installed") && found[1].ends_with("btrfs-progs"), "{found:?}");
    }
    assert_eq!(lacking("drivebay:host/state@0.1.0"), [""; 0], "it does not work on files");
    install(&["mkfs.xfs", "xfs_db", "xfs_growfs", "btrfstune"]);
    assert_eq!(lacking("drivebay:host/files@0.1.0"), [""; 0]);
}

#[tokio::test]
async fn all_mistakes_of_a_file_are_reported() {
    let found = config("nonsense = 1\n[[backend]]\nname = \"a b\"\ncomponent = \"local\"\n").await;
    assert_eq!(found["ok"], false);
    let words = words(&found["problems"]);
    for expected in ["nonsense", "a name has letters", "no socket"] {
        assert!(words.contains(expected), "{words}");
    }
}

#[tokio::test]
async fn a_file_where_a_socket_or_directory_shall_be_is_a_problem() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    let found = config(&format!(
        "[host]\nstate = \"{0}/state\"\n[[backend]]\nname = \"a\"\ncomponent = \"local\"\ncsi = \"unix://{0}\"\n",
        file.display()
    ))
    .await;
    assert!(words(&found["problems"]).contains("this is no directory"), "{found:#}");
    assert!(words(&found["backends"][0]["problems"]).contains("is no socket"), "{found:#}");
}

#[test]
fn the_table_names_what_json_names() {
    let report = Report::Component(Box::new(ComponentReport {
        interfaces: vec!["drivebay:backend/volumes@0.1.0".to_owned(), "drivebay:backend/volumes@0.2.0".to_owned()],
        imports: vec!["wasi:io/error@0.2.6".to_owned(), "wasi:io/poll@0.2.6".to_owned()],
        problems: vec!["first\nsecond".to_owned()],
        ..ComponentReport::of("x.wasm".to_owned())
    }));
    let text = report.text();
    assert!(text.contains("interfaces        volumes drivebay:backend/volumes@0.2.0\n"), "{text}");
    assert!(text.contains("imports           wasi:io\n"), "{text}");
    assert!(text.contains("PROBLEM           first\n                  second\n"), "{text}");
    assert!(text.ends_with("\nThis would be rejected.\n"), "{text}");
}
