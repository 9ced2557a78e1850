//! A launcher that is asked for what no host asks for.

use std::path::PathBuf;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::*;
use crate::error::NodeError;

fn nothing(_name: &str, text: &str) -> Result<Vec<Visible>, String> {
    text.is_empty().then(Vec::new).ok_or_else(|| "nothing is configured here".to_owned())
}

/// What a host that was broken into may say: the requests with more, less or other bytes, what helpers are asked, and noise.
fn invented() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        "SHOW",
        "Show",
        "show ",
        " show",
        "show\0",
        "show\n",
        "show/",
        "show /etc",
        "show:/",
        "sho",
        "showshow",
        "START",
        "Start",
        "start ",
        "start\0",
        "start /bin/sh",
        "startstart",
        "star",
        "stop",
        "exec",
        "exec /bin/sh",
        "mount /",
        "/",
        "umount",
        "bind",
        "{}",
        "null",
        "0",
        "mandate",
        "{\"mandate\":{}}",
        "{\"visible\":[{\"path\":\"/\",\"how\":\"write\"}]}",
        "\"recover\"",
        "--help",
        "node-helper",
        "node-launcher",
        "\u{1}",
        "\0",
    ]
    .into_iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    all.extend([vec![0xff; 4], vec![0xff; 16], vec![b'x'; 17], [SHOW, &[b' '; 4096]].concat(), vec![b'a'; 30_000]]);
    all
}

#[test]
fn what_is_invented_gets_no_process_and_no_namespace() {
    let (host, launcher) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let state = tempfile::tempdir().unwrap();
    let path = PathBuf::from(state.path());
    let serving = thread::spawn(move || {
        let sealed = sealed::seal(&Mandate { state_dir: path.clone(), ..Mandate::default() })?;
        serve(&launcher, &sealed, &LiveView::new(path, None, Vec::new(), nothing))
    });
    let ask = |request: &[u8], along: &[BorrowedFd<'_>]| {
        frames::send_with(&host, request, along).unwrap();
        let mut answer = [0; LONGEST_LAUNCH_ANSWER];
        let (length, descriptors) = frames::receive_with(&host, &mut answer).unwrap();
        (String::from_utf8_lossy(&answer[..length]).into_owned(), descriptors.len())
    };
    let file = std::fs::File::open("/dev/null").unwrap();
    let (one, two) = ([file.as_fd()], [file.as_fd(), file.as_fd()]);
    let invented = invented();
    assert!(invented.len() >= 40);
    for request in &invented {
        for along in [[].as_slice(), &one, &two] {
            assert_eq!(ask(request, along), ("this is no request".to_owned(), 0), "{}", request.escape_ascii());
        }
    }
    // A helper needs a socket and a place for its log, and gets what was said at the start.
    for along in [[].as_slice(), &one] {
        assert_eq!(ask(START_HELPER, along), ("cannot start it: no descriptors".to_owned(), 0));
    }
    drop(host);
    let ended: Result<(), NodeError> = serving.join().unwrap();
    ended.unwrap();
}
