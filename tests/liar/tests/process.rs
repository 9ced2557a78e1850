//! The program as a process: it says when it serves, ends when it is told, and takes no wrong words.

#![allow(clippy::unwrap_used, reason = "what cannot be set up is a failure of the test")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

fn liar(arguments: &[&str]) -> Child {
    let mut liar = Command::new(env!("CARGO_BIN_EXE_liar"));
    liar.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn says_ready_serves_every_socket_and_ends_on_sigterm() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["csi", "addons", "n1", "n2"].map(|name| directory.path().join(name).to_str().unwrap().to_owned());
    let [csi, addons, one, two] = &paths;
    let uri = format!("unix://{csi}");
    // A socket that an earlier run has left behind is in nobody's way.
    drop(std::os::unix::net::UnixListener::bind(csi).unwrap());
    let mut child = liar(&["--layout", "split", "--csi", &uri, "--addons", addons, "--node", one, "--node", two]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    for path in &paths {
        UnixStream::connect(path).unwrap();
    }
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success() && child.wait().unwrap().success());
}

#[test]
fn refuses_to_break_what_it_does_not_know() {
    let mut child = liar(&["--csi", "unused.sock", "--break", "R-999"]);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!child.wait().unwrap().success() && said.contains("R-999"), "{said}");
}

#[test]
fn lists_what_it_can_break() {
    let listed = liar(&["--list"]).wait_with_output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let columns = text.lines().map(|line| line.split('\t').count());
    assert!(listed.status.success() && columns.clone().all(|count| count == 2) && columns.count() > 200, "{text}");
}
