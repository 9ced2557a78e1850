//! NFS: what a share is called, whether it is granted, mounting it, and whether what was mounted is it.
//!
//! The last is not for granted: by version 4 a server lets a node that its list of clients does not name walk
//! through the directory *below* the export, so the mount succeeds and shows an empty directory of another file system.

mod options;
mod volumes;

use std::net::IpAddr;
use std::time::Duration;

use super::super::options::MountPlan;
use super::super::system::paths::is_normal;
use super::super::system::programs::{self, Rights};
use super::access::{Servers, addresses};
use super::outcome;
use super::private::{Private, seen, unmount};
use crate::error::{ErrorCode, NodeError};
use crate::permissions;
use crate::protocol::NfsShare;
use volumes::file_system_of;

const PROGRAM: &str = "mount.nfs";
/// Longer than a server takes that answers at all.
const MOUNT_LIMIT: Duration = Duration::from_secs(30);
/// The longest path of the protocol's older version, in bytes.
const LONGEST_PATH: usize = 1024;

/// Servers, and what of theirs may be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) servers: Servers,
    /// An exported path, or one that ends in `/*`.
    pub(crate) export: String,
}

impl Grant {
    /// Understands the operator's grant.
    pub(in crate::helper) fn read(grant: permissions::NfsGrant) -> Result<Self, NodeError> {
        Ok(Self { servers: Servers::read(&grant.servers)?, export: grant.export })
    }

    fn opens(&self, export: &str) -> bool {
        match self.export.strip_suffix('*') {
            Some(above) => export.strip_prefix(above).is_some_and(|name| !name.is_empty() && !name.contains('/')),
            None => export == self.export,
        }
    }
}

/// The share as the mount table shows it, with an address of the server that a grant names.
pub(in crate::helper) fn source(share: &NfsShare, grants: &[Grant]) -> Result<String, NodeError> {
    check(share)?;
    let opening: Vec<&Grant> = grants.iter().filter(|grant| grant.opens(&share.export)).collect();
    if opening.is_empty() {
        return Err(not_granted(&share.export));
    }
    let is_open = |address: &IpAddr| opening.iter().any(|grant| grant.servers.hold(*address));
    let address = addresses(&share.server)?.into_iter().find(is_open);
    let address = address.ok_or_else(|| not_granted(&format!("{} on {}", share.export, share.server)))?;
    Ok(written(address, &path(share)))
}

fn not_granted(what: &str) -> NodeError {
    let message = format!(
        "no grant opens {what}; to allow it, grant attach = [{{ protocol = \"nfs\", servers = [...], export = \"...\" }}]"
    );
    NodeError::new(ErrorCode::NotGranted, message)
}

fn written(address: IpAddr, path: &str) -> String {
    match address {
        IpAddr::V4(address) => format!("{address}:{path}"),
        IpAddr::V6(address) => format!("[{address}]:{path}"),
    }
}

/// The whole path on the server.
fn path(share: &NfsShare) -> String {
    match &share.subdirectory {
        None => share.export.clone(),
        Some(inner) => format!("{}/{inner}", share.export.trim_end_matches('/')),
    }
}

fn check(share: &NfsShare) -> Result<(), NodeError> {
    let normal = |relative: &str| is_normal(relative) && !relative.contains(char::is_control);
    let export = share.export.strip_prefix('/').is_some_and(|rest| rest.is_empty() || normal(rest));
    let inner = share.subdirectory.as_deref().is_none_or(normal);
    if export && inner && path(share).len() <= LONGEST_PATH {
        return Ok(());
    }
    let message = "an export is an absolute path and a subdirectory a relative one, both without `.`, `..` or empty \
                   parts, together at most 1024 bytes";
    Err(NodeError::new(ErrorCode::Invalid, message))
}

/// Mounts the share aside, and makes sure that it is the share.
pub(in crate::helper) fn mount(
    share: &NfsShare,
    source: &str,
    plan: &MountPlan,
    aside: &Private,
) -> Result<(), NodeError> {
    let place = aside.make_share()?;
    run(source, place, &options::words(plan))?;
    let line = seen(place)?.filter(|line| line.source == source && matches!(&*line.file_system, "nfs" | "nfs4"));
    let Some(line) = line else {
        let message = format!("{PROGRAM} says that it mounted {source}, and it is not there");
        return Err(NodeError::new(ErrorCode::Failed, message));
    };
    // By version 3 the server follows the links on the way, and anyone who writes to a share can make links.
    if line.file_system == "nfs" && share.subdirectory.is_some() {
        let message = "by NFS 3 a link in the export would lead to another directory of the server: mount the \
                       subdirectory by version 4 (nfsvers=4.2), or export it";
        return Err(NodeError::new(ErrorCode::Unsupported, message));
    }
    // By version 3 the server itself judges the export that is mounted.
    match share.export.rsplit_once('/') {
        Some((above, name)) if line.file_system == "nfs4" && !name.is_empty() => {
            let above = if above.is_empty() { "/" } else { above };
            expect_export(share, &line.device, above, source, plan, aside)
        }
        _ => Ok(()),
    }
}

/// Refuses what lies on the same file system as the directory above the export: then no export begins there for
/// this node.
fn expect_export(
    share: &NfsShare,
    device: &str,
    above: &str,
    source: &str,
    plan: &MountPlan,
    aside: &Private,
) -> Result<(), NodeError> {
    let place = aside.make_above()?;
    let server = source.split_once(":/").map_or(source, |(server, _)| server);
    let mut words = options::words(plan);
    words.push("ro".to_owned());
    run(&format!("{server}:{above}"), place, &words)?;
    let outer = seen(place)?.map(|line| line.device);
    let table = volumes::read()?;
    let found = (file_system_of(&table, device), outer.and_then(|outer| file_system_of(&table, &outer)));
    unmount(place)?;
    match found {
        (Some(inner), Some(outer)) if inner != outer => Ok(()),
        (Some(_), Some(_)) => {
            let export = &share.export;
            let message = format!(
                "{export} is no export for this node: the server shows the directory of that name in {above} instead. \
                 Add this node to the export's list of clients; if {export} is meant to be a directory of {above}, name \
                 {above} as the export and the rest as its subdirectory"
            );
            Err(NodeError::new(ErrorCode::Failed, message))
        }
        (None, _) | (_, None) => {
            let message = format!("mounting {source}: this kernel does not say which file system was mounted");
            Err(NodeError::new(ErrorCode::Unsupported, message))
        }
    }
}

fn run(source: &str, place: &str, words: &[String]) -> Result<(), NodeError> {
    let options = words.join(",");
    // Without the table of mounts in /etc, which is no longer used.
    let arguments = [source, place, "-n", "-o", &options];
    let ended = programs::run_within(PROGRAM, &arguments, MOUNT_LIMIT, Rights::Ours).map_err(|error| {
        let message = match error.code {
            ErrorCode::Unsupported => {
                format!("{error}; it is in the package nfs-common (Debian, Ubuntu) or nfs-utils (others)")
            }
            ErrorCode::Limit => format!("mounting {source}: the server does not answer"),
            _ => return error,
        };
        NodeError::new(error.code, message)
    })?;
    ended.expect_success(&[0]).map_err(|_| outcome::explain(source, ended.output()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(server: &str, export: &str, subdirectory: Option<&str>) -> NfsShare {
        NfsShare { server: server.to_owned(), export: export.to_owned(), subdirectory: subdirectory.map(str::to_owned) }
    }

    fn grant(servers: &str, export: &str) -> Grant {
        Grant { servers: Servers::read(&[servers.to_owned()]).unwrap(), export: export.to_owned() }
    }

    #[test]
    fn a_share_needs_a_grant_of_its_server_and_its_export() {
        let grants = [grant("10.20.0.0/16", "/exports/*"), grant("fd00::1", "/")];
        let cases = [
            ("10.20.0.5", "/exports/a", None, Ok("10.20.0.5:/exports/a")),
            ("10.20.0.5", "/exports/a", Some("v/1"), Ok("10.20.0.5:/exports/a/v/1")),
            ("10.20.0.5", "/exports/a/b", None, Err(ErrorCode::NotGranted)),
            ("fd00::1", "/", Some("v"), Ok("[fd00::1]:/v")),
            ("[fd00::1]", "/", None, Ok("[fd00::1]:/")),
            ("10.20.0.5", "/exports", None, Err(ErrorCode::NotGranted)),
            ("10.20.0.5", "/exportsx/a", None, Err(ErrorCode::NotGranted)),
            ("10.20.0.5", "/", Some("exports/a"), Err(ErrorCode::NotGranted)),
            ("10.21.0.5", "/exports/a", None, Err(ErrorCode::NotGranted)),
            ("fd00::1", "/exports/a", None, Err(ErrorCode::NotGranted)),
            ("10.20.0.5", "/exports/../etc", None, Err(ErrorCode::Invalid)),
            ("10.20.0.5", "/exports/a/", None, Err(ErrorCode::Invalid)),
            ("10.20.0.5", "exports/a", None, Err(ErrorCode::Invalid)),
            ("10.20.0.5", "/exports/a", Some("../b"), Err(ErrorCode::Invalid)),
            ("10.20.0.5", "/exports/a", Some("/b"), Err(ErrorCode::Invalid)),
            ("10.20.0.5", "/exports/a", Some(""), Err(ErrorCode::Invalid)),
            ("10.20.0.5", "/exports/a\n", None, Err(ErrorCode::Invalid)),
            ("-o", "/exports/a", None, Err(ErrorCode::Invalid)),
        ];
        for (server, export, inner, expected) in cases {
            let found = source(&share(server, export, inner), &grants).map_err(|error| error.code);
            assert_eq!(found.as_deref(), expected.as_ref().map(|it| *it), "{server} {export} {inner:?}");
        }
        assert_eq!(source(&share("10.20.0.5", "/a", None), &[]).unwrap_err().code, ErrorCode::NotGranted);
    }
}
