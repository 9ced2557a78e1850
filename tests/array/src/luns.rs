//! Volumes as disks of an iSCSI target: the kernel's own (LIO), through its file tree, on loop devices.
//!
//! It owns that tree and remembers nothing: what is presented is read from the tree each time and made what the
//! catalogue says. Needs root and the modules `loop`, `target_core_iblock` and `iscsi_target_mod`. The kernel reads
//! the files by itself, so their blocks are not encrypted.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::model::{Host, Volume};
use crate::refusal::{Refusal, Result};

const CORE: &str = "/sys/kernel/config/target/core/iblock_0";
const TARGETS: &str = "/sys/kernel/config/target/iscsi";
/// The beginning of every identity: the registered name of this kind of target.
const REGISTERED: &str = "naa.6001405";
/// Digits of what follows.
const SERIAL_DIGITS: usize = 25;

/// Where and to whom volumes are presented.
#[derive(Debug)]
pub(crate) struct Luns {
    pub(crate) iqn: String,
    pub(crate) portals: Vec<SocketAddr>,
    /// User and secret of every initiator.
    pub(crate) chap: (String, String),
    /// The initiator of each host.
    pub(crate) initiators: BTreeMap<String, String>,
    /// One at a time works on the tree.
    pub(crate) turn: Mutex<()>,
}

/// What one initiator sees at one number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct View {
    initiator: String,
    lun: u32,
    volume: String,
    readonly: bool,
}

/// A volume's name for itself, which no other one ever has.
pub(crate) fn identity(id: &str) -> String {
    format!("{REGISTERED}{}", serial(id))
}

fn serial(id: &str) -> String {
    let digits: String = id.chars().skip_while(|letter| *letter != '-').filter(char::is_ascii_hexdigit).collect();
    format!("{digits:0>SERIAL_DIGITS$}")
}

impl Luns {
    /// Makes the tree what the catalogue says.
    pub(crate) fn present(&self, volumes: &[Volume], hosts: &[Host], blocks: impl Fn(&str) -> PathBuf) -> Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |host: &str| hosts.iter().any(|known| known.id == host);
        let mut wanted = Vec::new();
        for volume in volumes {
            for export in volume.exports.iter().filter(|export| open(&export.host)) {
                if let Some(initiator) = self.initiators.get(&export.host) {
                    let (initiator, volume) = (initiator.clone(), volume.id.clone());
                    wanted.push(View { initiator, lun: export.lun, volume, readonly: export.readonly });
                }
            }
        }
        let group = self.group()?;
        for view in self.views(&group)?.into_iter().filter(|view| !wanted.contains(view)) {
            let place = mapped(&group, &view);
            fs::remove_file(place.join("volume"))?;
            fs::remove_dir(place)?;
        }
        for volume in volumes.iter().map(|volume| &volume.id) {
            if !wanted.iter().any(|view| view.volume == *volume) {
                withdraw(&group, volume)?;
            }
        }
        for view in &wanted {
            let unit = unit(&group, &view.volume, &blocks(&view.volume))?;
            let place = mapped(&group, view);
            if !place.exists() {
                fs::create_dir_all(place.parent().unwrap_or(&place))?;
                fs::create_dir(&place)?;
                symlink(unit, place.join("volume"))?;
                fs::write(place.join("write_protect"), if view.readonly { "1" } else { "0" })?;
            }
        }
        Ok(())
    }

    /// Shows the present size of a volume.
    pub(crate) fn grew(&self, id: &str) -> Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        device(id).map_or(Ok(()), |device| run("losetup", &["--set-capacity", &device]).map(drop))
    }

    /// The target's only group of portals.
    fn group(&self) -> Result<PathBuf> {
        let group = Path::new(TARGETS).join(&self.iqn).join("tpgt_1");
        fs::create_dir_all(&group)?;
        for portal in &self.portals {
            let place = group.join("np").join(portal.to_string());
            if !place.exists() {
                fs::create_dir(place)?;
            }
        }
        for initiator in self.initiators.values() {
            let list = group.join("acls").join(initiator);
            fs::create_dir_all(&list)?;
            fs::write(list.join("auth/userid"), &self.chap.0)?;
            fs::write(list.join("auth/password"), &self.chap.1)?;
        }
        fs::write(group.join("attrib/authentication"), "1")?;
        fs::write(group.join("enable"), "1")?;
        Ok(group)
    }

    /// What initiators see now.
    fn views(&self, group: &Path) -> Result<Vec<View>> {
        let mut views = Vec::new();
        for initiator in self.initiators.values() {
            for place in named(&group.join("acls").join(initiator), "lun_")? {
                let unit = fs::canonicalize(place.join("volume"))?;
                let Some(lun) = number(&place) else { continue };
                let readonly = fs::read_to_string(place.join("write_protect"))?.trim() == "1";
                views.push(View { initiator: initiator.clone(), lun, volume: volume_of(&unit)?, readonly });
            }
        }
        Ok(views)
    }
}

fn mapped(group: &Path, view: &View) -> PathBuf {
    group.join("acls").join(&view.initiator).join(format!("lun_{}", view.lun))
}

/// The volume of a unit of the group.
fn volume_of(unit: &Path) -> Result<String> {
    let disk = fs::canonicalize(unit.join("disk"))?;
    Ok(disk.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// The unit of a volume in the group; it is made if it is not there.
fn unit(group: &Path, volume: &str, file: &Path) -> Result<PathBuf> {
    let units = named(&group.join("lun"), "lun_")?;
    for unit in &units {
        if volume_of(unit)? == volume {
            return Ok(unit.clone());
        }
    }
    let disk = Path::new(CORE).join(volume);
    if !disk.exists() {
        let file = file.to_string_lossy();
        let device = run("losetup", &["--find", "--show", &file])?;
        fs::create_dir_all(&disk)?;
        fs::write(disk.join("control"), format!("udev_path={},readonly=0", device.trim()))?;
        fs::write(disk.join("enable"), "1")?;
        fs::write(disk.join("udev_path"), device.trim())?;
        fs::write(disk.join("wwn/vpd_unit_serial"), serial(volume))?;
    }
    let taken: Vec<u32> = units.iter().filter_map(|unit| number(unit)).collect();
    let free = (0..=u32::MAX).find(|number| !taken.contains(number)).unwrap_or_default();
    let unit = group.join("lun").join(format!("lun_{free}"));
    fs::create_dir(&unit)?;
    symlink(disk, unit.join("disk"))?;
    Ok(unit)
}

/// Takes a volume's unit, disk and device away, if they are there.
fn withdraw(group: &Path, volume: &str) -> Result<()> {
    for unit in named(&group.join("lun"), "lun_")? {
        if volume_of(&unit)? == volume {
            fs::remove_file(unit.join("disk"))?;
            fs::remove_dir(unit)?;
        }
    }
    let device = device(volume);
    let disk = Path::new(CORE).join(volume);
    if disk.exists() {
        fs::remove_dir(disk)?;
    }
    device.map_or(Ok(()), |device| run("losetup", &["--detach", &device]).map(drop))
}

/// The loop device of a volume that is presented.
fn device(volume: &str) -> Option<String> {
    let path = fs::read_to_string(Path::new(CORE).join(volume).join("udev_path")).ok()?;
    Some(path.trim().to_owned()).filter(|path| !path.is_empty())
}

fn named(folder: &Path, beginning: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let is = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning));
    Ok(entries.into_iter().map(|entry| entry.path()).filter(is).collect())
}

fn number(place: &Path) -> Option<u32> {
    place.file_name()?.to_str()?.strip_prefix("lun_")?.parse().ok()
}

fn run(program: &str, arguments: &[&str]) -> Result<String> {
    let done = Command::new(program).args(arguments).output()?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(Refusal::internal(program, String::from_utf8_lossy(&done.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_whole_and_differ() {
        let (a, b) = (identity("vol-0123456789abcdef0123"), identity("vol-0123456789abcdef0124"));
        assert_eq!(a, "naa.6001405000000123456789abcdef0123");
        assert!(a != b && a.len() == 36);
    }
}
