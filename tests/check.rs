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
    std::fs::create_dir(place.path().join("pool")).unwrap();
    let good = config(&granted(&format!("{root}/pool")));
    assert_eq!(good["ok"], true, "{good:#}");
    assert_eq!(good["backends"][0]["grants"][0]["given"], true);
    assert!(!place.path().join("state").exists(), "a check makes nothing");

    let lacking = config(&file(""));
    assert_eq!(lacking["ok"], false);
    assert!(words(&lacking["backends"][0]["problems"]).contains("grants that it does not have"), "{lacking:#}");

    let around = config(&granted(&root.to_string()));
    assert_eq!(around["ok"], false, "a grant that holds the state directory: {around:#}");

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

/// A configuration that cannot be served, by what is wrong with it.
struct Broken {
    name: &'static str,
    /// Lines of `[host]`, of `[[backend]]` and of `[backend.grants]`; `ROOT` is a directory of the case's own.
    lines: [&'static str; 3],
    /// What both say.
    words: &'static str,
}

const fn broken(name: &'static str, lines: [&'static str; 3], words: &'static str) -> Broken {
    Broken { name, lines, words }
}

const BROKEN: [Broken; 14] = [
    broken("unknown key", ["stat = \"/x\"", "", ""], "line 3: unknown key `host.stat`: did you mean `state`?"),
    broken("unknown limit", ["", "limits = { memry = \"1MiB\" }", ""], "did you mean `memory`?"),
    broken("wrong digest", ["", "digest = \"sha256:ZEROS\"", ""], "the configuration allows only sha256:"),
    broken("no signer", ["", "signers = [\"ROOT/absent.pub\"]", ""], "ROOT/absent.pub: No such file"),
    broken("a signature that is none", ["", "signers = [\"ROOT/file\"]", ""], "there is no `drivebay-signature`"),
    broken(
        "no signature",
        ["", "component = \"ROOT/other.wasm\"\nsigners = [\"ROOT/file\"]", ""],
        "there is no ROOT/other.wasm.sig",
    ),
    broken("no component", ["", "component = \"ROOT/absent.wasm\"", ""], "ROOT/absent.wasm: No such file"),
    broken("no component at all", ["", "component = \"ROOT/file\"", ""], "does not begin as a WebAssembly file"),
    broken(
        "absent folder",
        ["", "", "directories = [{ host = \"ROOT/absent\", guest = \"/pool\" }]"],
        "ROOT/absent: No such file or directory (os error 2); make the directory",
    ),
    broken(
        "a file as folder",
        ["", "", "directories = [{ host = \"ROOT/file\", guest = \"/pool\" }]"],
        "ROOT/file: this is no directory",
    ),
    broken(
        "absent authority",
        ["", "", "http = [{ origin = \"https://a.example\", ca = \"/nowhere/ca.pem\" }]"],
        "HTTP is granted with what cannot be used: /nowhere/ca.pem",
    ),
    broken(
        "foreign address",
        ["http = \"192.0.2.1:9911\"", "", ""],
        "http = 192.0.2.1:9911: Cannot assign requested address",
    ),
    broken("a file as socket", ["admin = \"ROOT/file\"", "", ""], "ROOT/file: there is a file that is no socket"),
    broken(
        "a file as state",
        ["state = \"ROOT/file/state\"", "", ""],
        "the state directory ROOT/file/state cannot be made",
    ),
];

impl Broken {
    /// Writes the case's files and gives its configuration.
    fn write(&self, root: &Path) -> std::path::PathBuf {
        std::fs::write(root.join("file"), "a file").unwrap();
        let component = std::fs::read(crate::support::Guest("minimal-rust").path()).unwrap();
        for name in ["backend.wasm", "other.wasm"] {
            std::fs::write(root.join(name), &component).unwrap();
        }
        std::fs::write(root.join("backend.wasm.sig"), "nothing").unwrap();
        let [host, backend, grants] = self.lines;
        let or = |lines: &str, key: &str, line: &str| if lines.contains(key) { String::new() } else { line.to_owned() };
        let state = or(host, "state = ", "state = \"ROOT/state\"");
        let component = or(backend, "component = ", "component = \"ROOT/backend.wasm\"");
        let text = format!(
            "[host]\n{state}\n{host}\n[[backend]]\nname = \"a\"\ncsi = \"unix://ROOT/csi.sock\"\n{component}\n{backend}\n\
             [backend.grants]\n{grants}\n"
        );
        let file = root.join("host.toml");
        std::fs::write(&file, named(&text, root)).unwrap();
        file
    }
}

/// The text with the names of this run.
fn named(text: &str, root: &Path) -> String {
    text.replace("ROOT", root.to_str().unwrap()).replace("ZEROS", &"0".repeat(64))
}

/// `check` says what `serve` would say, in the same words.
#[tokio::test]
async fn what_serving_refuses_checking_finds() {
    let check = async |case: &Broken| {
        let root = tempfile::tempdir().unwrap();
        let file = case.write(root.path());
        let words = named(case.words, root.path());
        for (command, codes) in [(&["check"][..], [1, 1]), (&["serve", "--config"], [1, 2])] {
            let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_drivebay"))
                .args(command)
                .arg(&file)
                .env_remove("CSI_ENDPOINT")
                .output()
                .await
                .unwrap();
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(&words), "{}: {command:?} does not say \"{words}\":\n{said}", case.name);
            assert!(codes.map(Some).contains(&output.status.code()), "{}: {command:?} {}", case.name, output.status);
        }
    };
    for case in &BROKEN {
        check(case).await;
    }
}

/// An operator edits the file of a host that runs, and checks it before it is taken over.
#[tokio::test]
async fn a_socket_in_use_is_no_mistake() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("csi.sock");
    let _live = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let component = crate::support::Guest("minimal-rust").path();
    let found = config(&format!(
        "[host]\nstate = \"{}/state\"\n[[backend]]\nname = \"a\"\ncomponent = \"{}\"\ncsi = \"unix://{}\"\n",
        place.path().display(),
        component.display(),
        socket.display()
    ));
    assert_eq!(found["ok"], true, "{found:#}");
    assert!(words(&found["backends"][0]["warnings"]).contains("another process is listening there"), "{found:#}");
}

#[test]
fn the_commented_configuration_is_printed() {
    let output = Command::new(env!("CARGO_BIN_EXE_drivebay")).arg("config").output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), drivebay_policy::example());
}
