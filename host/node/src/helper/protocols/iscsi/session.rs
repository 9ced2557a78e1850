//! Sessions with iSCSI targets: beginning and ending them with the distribution's program, and which ones there are.
//!
//! Owns the program's arguments, the meaning of how it ends, and the node record that it reads. The record may hold
//! secrets, so it never lies in the program's database: it is written into a file system in memory that is mounted over
//! the database for this one program, and that ends with it. What the kernel and iscsid keep of a session, they show to
//! root alone.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::super::system::busy::pause;
use super::super::super::system::covered::Covered;
use super::super::super::system::programs::{self, Outcome, Rights};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Chap;

const PROGRAM: &str = "iscsiadm";
/// Where distributions keep node records.
const DATABASES: [&str; 2] = ["/etc/iscsi/nodes", "/var/lib/iscsi/nodes"];
/// Longer than the program needs for one attempt that nobody answers.
const LOGIN_LIMIT: Duration = Duration::from_secs(30);
const LOGOUT_LIMIT: Duration = Duration::from_secs(30);

/// The program's ways to end that mean success: done, there already; done, not there in the three ways that it says so.
const IS_THERE: [i32; 2] = [0, 15];
const IS_GONE: [i32; 4] = [0, 2, 21, 22];

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) number: u32,
    pub(super) host: u32,
    /// What the kernel lists of it.
    pub(super) directory: PathBuf,
}

impl Session {
    /// Whether it is logged in at this moment.
    pub(super) fn is_up(&self) -> bool {
        let path = format!("/sys/class/iscsi_session/session{}/state", self.number);
        fs::read_to_string(path).is_ok_and(|state| state.trim() == "LOGGED_IN")
    }
}

/// The session with a target through a portal.
pub(super) fn find(iqn: &str, portal: SocketAddr) -> Option<Session> {
    let mut sessions = fs::read_dir("/sys/class/iscsi_session").ok()?.flatten();
    sessions.find_map(|entry| read(&entry.path(), iqn, portal))
}

fn read(path: &Path, iqn: &str, portal: SocketAddr) -> Option<Session> {
    let number: u32 = path.file_name()?.to_str()?.strip_prefix("session")?.parse().ok()?;
    let word = |path: PathBuf| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let connection = PathBuf::from(format!("/sys/class/iscsi_connection/connection{number}:0"));
    let address: IpAddr = word(connection.join("persistent_address"))?.parse().ok()?;
    let port: u16 = word(connection.join("persistent_port"))?.parse().ok()?;
    if word(path.join("targetname"))? != iqn || SocketAddr::new(address, port) != portal {
        return None;
    }
    let directory = path.join("device").canonicalize().ok()?;
    let host = directory.parent()?.file_name()?.to_str()?.strip_prefix("host")?.parse().ok()?;
    Some(Session { number, host, directory })
}

/// Begins a session, unless there is one.
pub(super) fn begin(iqn: &str, portal: SocketAddr, chap: Option<&Chap>, alone: bool) -> Result<Session, NodeError> {
    if let Some(session) = find(iqn, portal) {
        return Ok(session);
    }
    let covered = Covered::new(&DATABASES)?;
    covered.write(&record_path(iqn, portal), &record(iqn, portal, chap, alone))?;
    let at = written(portal);
    let arguments = ["--mode", "node", "--targetname", iqn, "--portal", &at, "--login"];
    let ended =
        programs::run_covered(PROGRAM, &arguments, LOGIN_LIMIT, covered).map_err(|error| missing(error, portal))?;
    expect_there(&ended, portal)?;
    find(iqn, portal).ok_or_else(|| {
        let message = format!("{PROGRAM} says that it has a session at {portal}, and the kernel has none");
        NodeError::new(ErrorCode::Failed, message)
    })
}

/// Ends a session.
pub(super) fn end(session: &Session) -> Result<(), NodeError> {
    let number = session.number.to_string();
    let arguments = ["--mode", "session", "--sid", &number, "--logout"];
    let ended = programs::run_within(PROGRAM, &arguments, LOGOUT_LIMIT, Rights::Ours)?;
    ended.expect_success(&IS_GONE)?;
    let deadline = Instant::now() + LOGOUT_LIMIT;
    while Path::new(&format!("/sys/class/iscsi_session/session{number}")).exists() {
        if Instant::now() > deadline {
            let message = format!("the iSCSI session {number} was ended and does not go");
            return Err(NodeError::new(ErrorCode::Busy, message));
        }
        pause();
    }
    Ok(())
}

/// As the program wants an address: in brackets what has colons.
fn written(portal: SocketAddr) -> String {
    portal.to_string()
}

/// Where the program looks for the record of a portal whose group is not known, from its database on.
fn record_path(iqn: &str, portal: SocketAddr) -> PathBuf {
    Path::new(iqn).join(format!("{},{}", portal.ip(), portal.port()))
}

/// The record: what is not in it the program knows by itself. The disk is looked for by number alone, never all of them;
/// a lost portal is noticed within seconds, and what waits for it goes another way soon, or waits long where there
/// is none.
fn record(iqn: &str, portal: SocketAddr, chap: Option<&Chap>, alone: bool) -> String {
    let replacement = if alone { "120" } else { "5" };
    let (address, port) = (portal.ip().to_string(), portal.port().to_string());
    let mut lines = vec![
        ("node.name", iqn),
        ("node.tpgt", "-1"),
        ("node.startup", "manual"),
        ("node.leading_login", "No"),
        ("iface.iscsi_ifacename", "default"),
        ("iface.transport_name", "tcp"),
        ("node.conn[0].address", &address),
        ("node.conn[0].port", &port),
        ("node.conn[0].startup", "manual"),
        ("node.conn[0].timeo.login_timeout", "10"),
        ("node.conn[0].timeo.noop_out_interval", "3"),
        ("node.conn[0].timeo.noop_out_timeout", "3"),
        ("node.session.timeo.replacement_timeout", replacement),
        ("node.session.initial_login_retry_max", "1"),
        ("node.session.scan", "manual"),
    ];
    if let Some(Chap { node, target }) = chap {
        lines.push(("node.session.auth.authmethod", "CHAP"));
        lines.push(("node.session.auth.username", &node.user));
        lines.push(("node.session.auth.password", node.secret.words()));
        if let Some(target) = target {
            lines.push(("node.session.auth.username_in", &target.user));
            lines.push(("node.session.auth.password_in", target.secret.words()));
        }
    }
    let lines: Vec<String> = lines.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("# BEGIN RECORD 2.1\n{}\n# END RECORD\n", lines.join("\n"))
}

fn missing(error: NodeError, portal: SocketAddr) -> NodeError {
    let message = match error.code {
        ErrorCode::Unsupported => {
            format!("{error}; it is in the package open-iscsi (Debian, Ubuntu) or iscsi-initiator-utils (others)")
        }
        ErrorCode::Limit => format!("the portal {portal} does not answer"),
        _ => return error,
    };
    NodeError::new(error.code, message)
}

fn expect_there(ended: &Outcome, portal: SocketAddr) -> Result<(), NodeError> {
    let there = ended.status().is_some_and(|status| IS_THERE.contains(&status));
    if there { Ok(()) } else { Err(explain(ended, portal)) }
}

/// What the program's status means for whoever asked. Its words go to the log.
fn explain(ended: &Outcome, portal: SocketAddr) -> NodeError {
    let told = ended.expect_success(&[]);
    let (code, meaning) = match ended.status() {
        // By 8 it also says that the target's name is not known there: it has tried until its time was over.
        Some(8) => (ErrorCode::Limit, "the portal does not answer, or has no target of this name"),
        Some(4 | 11) => (ErrorCode::Limit, "the portal does not answer"),
        Some(5 | 19) => (ErrorCode::Failed, "the target refuses this node: look at its list of initiators"),
        Some(24) => {
            let meaning =
                "the target refuses the CHAP name or secret, or this initiator's name, or it could not prove itself";
            (ErrorCode::Failed, meaning)
        }
        Some(12 | 14) => (ErrorCode::Unsupported, "this kernel cannot do it: modprobe iscsi_tcp"),
        Some(18 | 20) => (ErrorCode::Unsupported, "iscsid does not run on this node: systemctl start iscsid"),
        Some(21) => {
            let meaning = "iscsiadm keeps node records elsewhere than in /etc/iscsi/nodes or /var/lib/iscsi/nodes, and did \
                           not find the one that was made for it";
            (ErrorCode::Unsupported, meaning)
        }
        Some(6) => (ErrorCode::Failed, "the node's record was not understood; the log has what iscsiadm said"),
        _ => return told.err().unwrap_or_else(|| NodeError::new(ErrorCode::Failed, "iscsiadm failed")),
    };
    NodeError::new(code, format!("iSCSI at {portal}: {meaning}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded::{ISCSIADM, ended};

    const PORTAL: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 3260);

    #[test]
    fn what_iscsiadm_ends_with_becomes_what_to_do() {
        for case in ["done", "there already"] {
            assert_eq!(expect_there(&ended(ISCSIADM, case), PORTAL), Ok(()), "{case}");
        }
        let refused = [
            ("no record", ErrorCode::Unsupported, "node records elsewhere"),
            ("iscsid does not run", ErrorCode::Unsupported, "systemctl start iscsid"),
            ("a wrong secret", ErrorCode::Failed, "CHAP"),
            ("nobody listens", ErrorCode::Limit, "does not answer"),
            ("no way to the address", ErrorCode::Limit, "does not answer"),
            ("no such target", ErrorCode::Limit, "no target of this name"),
        ];
        for (case, code, words) in refused {
            let error = expect_there(&ended(ISCSIADM, case), PORTAL).unwrap_err();
            assert!(error.code == code && error.message.contains(words), "{case}: {error:?}");
            assert!(error.message.contains("10.0.0.1:3260"), "{case}: {error:?}");
        }
    }

    #[test]
    fn a_session_that_went_by_itself_is_ended() {
        for case in ["logged out", "not there"] {
            assert_eq!(ended(ISCSIADM, case).expect_success(&IS_GONE), Ok(()), "{case}");
        }
        assert!(ended(ISCSIADM, "iscsid does not run").expect_success(&IS_GONE).is_err());
    }

    #[test]
    fn a_record_has_the_secrets_of_its_session_and_looks_for_no_disk() {
        let text = record("iqn.x", PORTAL, None, true);
        assert!(text.contains("node.session.scan = manual") && !text.contains("authmethod"), "{text}");
        assert!(text.contains("replacement_timeout = 120"), "the only way is waited for: {text}");
        assert!(record("iqn.x", PORTAL, None, false).contains("replacement_timeout = 5"));
    }
}
