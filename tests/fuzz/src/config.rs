//! The text of a configuration: problems in words that forge no line, or a configuration that keeps its own rules, whatever
//! way it was written.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use drivebay_policy::grants::http::grant::Origin;
use drivebay_policy::{BackendConfig, Config};

use crate::planted;

/// The longest path of a Unix socket (`sun_path` has 108 bytes with its end).
const SOCKET: usize = 107;

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parsed = Config::parse("x.toml", text);
    let again = Config::parse("x.toml", &format!("{text}\n# nothing\n"));
    match (&parsed, &again) {
        (Ok(one), Ok(other)) => assert_eq!(one, other, "a comment changes nothing"),
        // An open text takes the comment in.
        (Err(_), Err(_)) | (Err(_), Ok(_)) => {}
        (Ok(_), Err(error)) => panic!("a comment makes it wrong: {error}"),
    }
    match parsed {
        Ok(config) => kept(&config),
        Err(error) => {
            let words = error.to_string();
            assert!(!error.problems.is_empty(), "{words}");
            let forged = words.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t');
            assert_eq!(forged, None, "{words:?}");
        }
    }
}

fn kept(config: &Config) {
    assert!(!config.backends.is_empty() && config.host.state.is_absolute());
    let mut sockets = BTreeSet::new();
    let mut names = BTreeSet::new();
    for backend in &config.backends {
        assert!(names.insert(&backend.name), "{} stands there twice", backend.name);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(!backend.name.is_empty() && backend.name.chars().all(is_name), "{:?}", backend.name);
        let all = [&backend.sockets.csi, &backend.sockets.controller, &backend.sockets.node, &backend.sockets.addons];
        for socket in all.into_iter().flatten() {
            assert!(is_socket(socket), "{}", socket.display());
            assert!(sockets.insert(socket), "{} is served twice", socket.display());
        }
        assert!(backend.sockets.mode <= 0o777 && backend.background.budget > 0);
        given(backend);
        granted(backend);
    }
}

fn is_socket(path: &Path) -> bool {
    path.is_absolute() && path.as_os_str().as_bytes().len() <= SOCKET
}

/// What a generation is given is written down with it, and read again after a restart.
fn given(backend: &BackendConfig) {
    let mut given = backend.given();
    assert_eq!(backend.giving(given.clone()), *backend);
    let text = serde_json::to_string(&given).expect("it can be written");
    if planted() {
        given = serde_json::from_str(&text.replace("\"alpha\":false", "\"alpha\":true")).expect("it can be read");
    } else {
        given = serde_json::from_str(&text).expect("it can be read");
    }
    assert_eq!(backend.giving(given), *backend, "written down: {text}");
}

fn granted(backend: &BackendConfig) {
    for directory in &backend.grants.directories {
        assert!(directory.host.is_absolute() && directory.guest.starts_with('/'));
    }
    for grant in &backend.grants.http.origins {
        let spelt = grant.origin.to_string();
        assert_eq!(spelt.parse::<Origin>().as_ref(), Ok(&grant.origin), "{spelt}");
        assert!(grant.addresses.iter().all(|range| range.is_grantable()), "{spelt}");
        assert!(grant.login.iter().all(|path| path.starts_with('/')), "{spelt}: {:?}", grant.login);
        let files = grant.ca.iter().chain(grant.identity.iter().flat_map(|both| [&both.certificate, &both.key]));
        assert!(files.into_iter().all(|path| path.is_absolute()), "{spelt}");
    }
}
