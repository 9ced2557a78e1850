//! Multipath devices: gathering the paths of one disk into one, growing it, taking it away.
//!
//! Owns the programs' arguments and what the kernel lists of a map. A map is known by its own name (`dm/uuid`), never by its
//! number alone. It must not end a map that something uses: the program refuses, and nothing here removes it in another way.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::super::system::busy::pause;
use super::super::super::system::programs::{self, Outcome, Rights};
use super::disks;
use crate::error::{ErrorCode, NodeError};

/// How the daemon's maps are called by the kernel.
const OURS: &str = "mpath-";
/// A map takes seconds: the daemon waits for what udev finds out of each path.
const GATHER_LIMIT: Duration = Duration::from_secs(30);
const LIMIT: Duration = Duration::from_secs(20);

/// A multipath device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Map {
    /// As below `/dev`.
    pub(super) device: String,
    /// As the programs call it.
    pub(super) name: String,
    /// Its own name.
    pub(super) uuid: String,
}

/// The map that stands on a disk.
pub(super) fn on(disk: &str) -> Option<Map> {
    disks::holders(disk).into_iter().find_map(|device| read(&device))
}

/// The map with this name of its own.
pub(super) fn named(uuid: &str) -> Option<Map> {
    let devices = fs::read_dir("/sys/block").ok()?.flatten();
    let names = devices.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.starts_with("dm-"));
    names.filter_map(|device| read(&device)).find(|map| map.uuid == uuid)
}

fn read(device: &str) -> Option<Map> {
    let word = |name: &str| {
        let text = fs::read_to_string(format!("/sys/block/{device}/dm/{name}")).ok()?;
        Some(text.trim().to_owned())
    };
    let uuid = word("uuid").filter(|uuid| uuid.starts_with(OURS))?;
    Some(Map { device: device.to_owned(), name: word("name")?, uuid })
}

/// The disks that a map stands on.
pub(super) fn slaves(map: &Map) -> Vec<String> {
    let entries = fs::read_dir(format!("/sys/block/{}/slaves", map.device)).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Has the daemon make one device of the disks, or add them to it.
pub(super) fn gather(paths: &[String]) -> Result<Map, NodeError> {
    expect_daemon()?;
    for disk in paths.iter().filter(|disk| on(disk).is_none()) {
        // Where it is told to take only disks that it knows, it is to know this one.
        run("multipath", &["-a", &format!("/dev/{disk}")])?.expect_success(&[0])?;
        // It may have taken the path by itself meanwhile, so what counts is the map.
        drop(run("multipathd", &["add", "path", disk])?);
    }
    let deadline = Instant::now() + GATHER_LIMIT;
    loop {
        let maps: Vec<Option<Map>> = paths.iter().map(|disk| on(disk)).collect();
        let first = maps.iter().flatten().next();
        if let Some(map) = first.filter(|map| Path::new("/dev").join(&map.device).exists()) {
            if maps.iter().all(|other| other.as_ref() == Some(map)) {
                return Ok(map.clone());
            }
            if maps.iter().flatten().any(|other| other != map) {
                let message = format!("{} belong to several multipath devices", paths.join(", "));
                return Err(NodeError::new(ErrorCode::Failed, message));
            }
        }
        if Instant::now() > deadline {
            let message = format!(
                "multipathd does not make one device of {}: see what `multipath -v3` says, and whether \
                 /etc/multipath.conf excludes them",
                paths.join(", ")
            );
            return Err(NodeError::new(ErrorCode::Failed, message));
        }
        pause();
    }
}

fn expect_daemon() -> Result<(), NodeError> {
    if runs(&run("multipathd", &["show", "daemon"])?) {
        return Ok(());
    }
    let message = "multipathd does not run on this node, and the disk has several portals: systemctl start multipathd";
    Err(NodeError::new(ErrorCode::Unsupported, message))
}

/// Versions differ in how they end where it does not run, and agree in what they say where it does.
fn runs(answer: &Outcome) -> bool {
    answer.says("pid ")
}

/// Takes up the new size that all paths show already.
pub(super) fn grow(map: &Map) -> Result<(), NodeError> {
    run("multipathd", &["resize", "map", &map.name])?.expect_success(&[0])
}

/// Takes a map away that nothing uses, and has the daemon forget its disks.
pub(super) fn remove(map: &Map) -> Result<(), NodeError> {
    let paths = slaves(map);
    let ended = run("multipath", &["-f", &map.name])?;
    let deadline = Instant::now() + LIMIT;
    while read(&map.device).is_some_and(|it| it.uuid == map.uuid) {
        ended.expect_success(&[0])?;
        if Instant::now() > deadline {
            let message = format!("the multipath device {} was removed and does not go", map.name);
            return Err(NodeError::new(ErrorCode::Busy, message));
        }
        pause();
    }
    for disk in paths.iter().filter(|disk| PathBuf::from(format!("/dev/{disk}")).exists()) {
        drop(run("multipath", &["-w", &format!("/dev/{disk}")])?);
    }
    Ok(())
}

fn run(program: &str, arguments: &[&str]) -> Result<Outcome, NodeError> {
    programs::run_within(program, arguments, LIMIT, Rights::Ours).map_err(|error| match error.code {
        ErrorCode::Unsupported => {
            let message = format!(
                "{error}, and the disk has several portals; it is in the package multipath-tools (Debian, Ubuntu) or \
                 device-mapper-multipath (others)"
            );
            NodeError::new(error.code, message)
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded::{MULTIPATH, ended};

    #[test]
    fn the_daemon_runs_where_it_tells_its_number() {
        assert!(runs(&ended(MULTIPATH, "multipathd runs")));
        assert!(!runs(&ended(MULTIPATH, "multipathd does not run")));
    }

    #[test]
    fn only_success_ends_with_0() {
        let good = ["a path is known", "the size is the same", "a map that nothing uses", "a disk is forgotten"];
        for case in good {
            assert_eq!(ended(MULTIPATH, case).expect_success(&[0]), Ok(()), "{case}");
        }
        for case in ["a map in use", "no such map"] {
            assert_eq!(ended(MULTIPATH, case).expect_success(&[0]).unwrap_err().code, ErrorCode::Failed, "{case}");
        }
    }
}
