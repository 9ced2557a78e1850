//! Beginning a connection with an NVMe subsystem: the words that the kernel takes, and what its answer means.
//!
//! The words go to the kernel itself (`/dev/nvme-fabrics`), and not through the distribution's program: that takes secrets as arguments, which
//! every process can read, or from files whose form differs from version to version, and ends with 1 whatever happened. The kernel's
//! words and answers are the same everywhere. They are written by a process of its own, because a portal that does not answer holds the writer
//! for minutes, and with it whoever else connects on this machine: it is killed when its time is over.

use std::fs::OpenOptions;
use std::io::{Read, Write, stdin};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::io::Errno;

use super::super::super::log_budget::say;
use super::super::super::system::blocks::errno_of;
use super::super::super::system::programs;
use super::super::super::system::told::Told;
use super::controllers::{self, Controller};
use super::host::{Host, host};
use crate::error::{ErrorCode, NodeError};
use crate::process::FABRICS_SUBCOMMAND;
use crate::protocol::{DhChap, Secret};

const DEVICE: &str = "/dev/nvme-fabrics";
/// How long a portal may take.
const LIMIT: Duration = Duration::from_secs(15);
/// More than the longest words.
const MOST_WORDS: u64 = 4096;

/// Begins a connection through a portal, unless there is one.
pub(super) fn begin(nqn: &str, portal: SocketAddr, secrets: Option<&DhChap>) -> Result<Controller, NodeError> {
    if let Some(controller) = controllers::through(nqn, portal) {
        return Ok(controller);
    }
    let host = host()?;
    let words = Told::new(&Secret::new(words(nqn, portal, &host, secrets)))?;
    let ended = programs::run_ourselves(FABRICS_SUBCOMMAND, words, LIMIT).map_err(|error| match error.code {
        ErrorCode::Limit => NodeError::new(error.code, format!("NVMe/TCP at {portal}: the portal does not answer")),
        _ => error,
    })?;
    expect_there(ended.status(), portal, &host, controllers::is_spoken())?;
    let controller = controllers::through(nqn, portal).ok_or_else(|| {
        let message = format!("the kernel says that it is connected to {portal}, and does not show it");
        NodeError::new(ErrorCode::Failed, message)
    })?;
    if secrets.is_some() && !controller.proves_itself() {
        let message = "this kernel has no authentication for NVMe (NVME_HOST_AUTH), so the secrets would not be used; connect \
                       without them, or run another kernel";
        return Err(NodeError::new(ErrorCode::Unsupported, message));
    }
    Ok(controller)
}

/// A controller that is lost is looked for every 2 s, for ever: the kernel would take its device away otherwise, and give its name to
/// another one. What waits for it goes another way, or fails after 120 s where there is none.
fn words(nqn: &str, portal: SocketAddr, host: &Host, secrets: Option<&DhChap>) -> String {
    let (address, port, Host { nqn: host_nqn, id }) = (portal.ip(), portal.port(), host);
    let connection = format!(
        "transport=tcp,traddr={address},trsvcid={port},nqn={nqn},hostnqn={host_nqn},hostid={id},keep_alive_tmo=5,\
         reconnect_delay=2,ctrl_loss_tmo=-1,fast_io_fail_tmo=120"
    );
    let Some(DhChap { host, controller }) = secrets else { return connection };
    let controller = controller.as_ref().map(|secret| format!("dhchap_ctrl_secret={}", secret.words()));
    let mut words = vec![connection, format!("dhchap_secret={}", host.words())];
    words.extend(controller);
    words.join(",")
}

/// A connection that somebody has begun meanwhile is as good as one of our own.
fn expect_there(status: Option<i32>, portal: SocketAddr, host: &Host, spoken: bool) -> Result<(), NodeError> {
    match status {
        Some(0) => Ok(()),
        Some(number) => match Errno::from_raw_os_error(number) {
            Errno::ALREADY => Ok(()),
            errno => Err(explain(errno, portal, host, spoken)),
        },
        None => Err(NodeError::new(ErrorCode::Failed, format!("connecting to {portal} was ended by a signal"))),
    }
}

/// What the kernel's error means for whoever asked. `spoken`: it has the part for TCP.
fn explain(errno: Errno, portal: SocketAddr, host: &Host, spoken: bool) -> NodeError {
    let refused;
    let (code, meaning) = match errno {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => {
            (ErrorCode::Unsupported, "this kernel cannot do it: modprobe nvme_tcp")
        }
        Errno::INVAL if !spoken => (ErrorCode::Unsupported, "this kernel cannot do it: modprobe nvme_tcp"),
        Errno::INVAL => {
            let meaning = "the kernel refuses it, and dmesg says why: another connection may use this node's host name with \
                           another host identifier";
            (ErrorCode::Failed, meaning)
        }
        Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::NETDOWN => {
            (ErrorCode::Limit, "the portal does not answer")
        }
        Errno::CONNREFUSED | Errno::CONNRESET => (ErrorCode::Limit, "nobody listens there"),
        Errno::IO | Errno::KEYREJECTED | Errno::NOKEY | Errno::ACCESS | Errno::CONNABORTED => {
            refused = format!(
                "the subsystem refuses this node, or is not there: look at the array's list of hosts for {}, and at the \
                 secrets; dmesg says which",
                host.nqn
            );
            (ErrorCode::Failed, refused.as_str())
        }
        _ => return NodeError::system(format!("connecting to {portal}"), errno),
    };
    say(&format!("NVMe/TCP at {portal}: the kernel says: {errno}"));
    NodeError::new(code, format!("NVMe/TCP at {portal}: {meaning}"))
}

/// Hands the words of standard input to the kernel. The status is 0, or the number of the kernel's error.
pub fn fabrics_main() -> ExitCode {
    match connect() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let errno = errno_of(&error).raw_os_error();
            ExitCode::from(u8::try_from(errno).unwrap_or(u8::MAX))
        }
    }
}

fn connect() -> std::io::Result<()> {
    let mut words = Vec::new();
    stdin().take(MOST_WORDS).read_to_end(&mut words)?;
    let mut device = OpenOptions::new().read(true).write(true).open(Path::new(DEVICE))?;
    // In one piece: it is one connection.
    device.write(&words).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 4420);

    fn host() -> Host {
        Host { nqn: "nqn.2026-11.example:worker-1".to_owned(), id: "11111111-2222-3333-4444-555555555555".to_owned() }
    }

    #[test]
    fn what_the_kernel_answers_becomes_what_to_do() {
        for there in [0, Errno::ALREADY.raw_os_error()] {
            assert_eq!(expect_there(Some(there), PORTAL, &host(), true), Ok(()));
        }
        assert!(
            expect_there(None, PORTAL, &host(), true).is_err()
                && expect_there(Some(255), PORTAL, &host(), true).is_err()
        );
        // As Linux 6.1 answered: an address without a way, a port without a server, a name that is unknown or a host that is not in
        // the list, an option or a transport that it does not know, no such device.
        let cases = [
            (Errno::NETUNREACH, true, ErrorCode::Limit, "does not answer"),
            (Errno::CONNREFUSED, true, ErrorCode::Limit, "nobody listens"),
            (Errno::IO, true, ErrorCode::Failed, "nqn.2026-11.example:worker-1"),
            (Errno::INVAL, true, ErrorCode::Failed, "dmesg"),
            (Errno::INVAL, false, ErrorCode::Unsupported, "modprobe nvme_tcp"),
            (Errno::NOENT, false, ErrorCode::Unsupported, "modprobe nvme_tcp"),
        ];
        for (errno, spoken, code, expected) in cases {
            let error = expect_there(Some(errno.raw_os_error()), PORTAL, &host(), spoken).unwrap_err();
            assert!(error.code == code && error.message.contains(expected), "{errno}: {error:?}");
            assert!(error.message.contains("10.0.0.1:4420"), "{errno}: {error:?}");
        }
    }

    #[test]
    fn a_connection_has_the_secrets_of_its_session_and_is_kept_for_ever() {
        let plain = words("nqn.x", PORTAL, &host(), None);
        assert!(
            plain.starts_with(
                "transport=tcp,traddr=10.0.0.1,trsvcid=4420,nqn=nqn.x,hostnqn=nqn.2026-11.example:worker-1,"
            )
        );
        assert!(plain.contains("ctrl_loss_tmo=-1") && !plain.contains("dhchap"), "{plain}");
        let secret = |words: &str| Secret::new(words.to_owned());
        let mut both = DhChap { host: secret("DHHC-1:00:a:"), controller: Some(secret("DHHC-1:00:b:")) };
        let mutual = words("nqn.x", PORTAL, &host(), Some(&both));
        assert!(mutual.ends_with(",dhchap_secret=DHHC-1:00:a:,dhchap_ctrl_secret=DHHC-1:00:b:"), "{mutual}");
        both.controller = None;
        assert!(!words("nqn.x", PORTAL, &host(), Some(&both)).contains("ctrl_secret"));
        let six = words("nqn.x", "[fd00::1]:4420".parse().unwrap(), &host(), None);
        assert!(six.contains("traddr=fd00::1,"), "no brackets: {six}");
    }
}
