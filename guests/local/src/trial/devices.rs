//! Loop devices and mounts as a list, with the host's rules: what is done already is success, what
//! differs is refused, what a call did not finish is undone when the process dies.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use drivebay_sdk::files::{Error, ErrorCode};
use drivebay_sdk::mounts::{Access, BindRequest, BindSource, EntryKind, LedgerEntry, MountRequest, Usage, UsageUnit};
use local_pool::host::{Answer, Mounts};

use super::World;
use super::jobs::{header, refused, write_header};

#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) volume: String,
    pub(crate) kind: EntryKind,
    pub(crate) path: String,
    pub(crate) access: Access,
    acknowledged: bool,
}

/// What the host's ledger holds.
#[derive(Default)]
pub(crate) struct Devices {
    pub(crate) standing: RefCell<Vec<Standing>>,
    pub(crate) frozen: RefCell<BTreeSet<String>>,
    /// Every freeze and thaw in order.
    pub(crate) history: RefCell<Vec<String>>,
    /// Freezes end by themselves before they are ended.
    pub(crate) thaws_early: Cell<bool>,
    /// Sizes that file systems were grown to.
    pub(crate) grown: RefCell<Vec<String>>,
    /// Mounting fails.
    pub(crate) refuses_mounts: Cell<bool>,
    pub(crate) groups: RefCell<Vec<(String, u32)>>,
}

impl Devices {
    pub(crate) fn acknowledge(&self) {
        self.standing.borrow_mut().iter_mut().for_each(|entry| entry.acknowledged = true);
    }

    pub(super) fn drop_unacknowledged(&self) {
        self.standing.borrow_mut().retain(|entry| entry.acknowledged);
        self.frozen.borrow_mut().clear();
    }

    /// The machine was started anew: nothing is mounted any more.
    pub(crate) fn reboot(&self) {
        self.standing.borrow_mut().clear();
    }

    pub(crate) fn find(&self, volume: &str, kind: EntryKind) -> Option<Standing> {
        self.standing.borrow().iter().find(|entry| entry.volume == volume && entry.kind == kind).cloned()
    }

    pub(crate) fn at(&self, path: &str) -> Option<Standing> {
        self.standing.borrow().iter().find(|entry| entry.path == path).cloned()
    }

    fn add(&self, volume: &str, kind: EntryKind, path: &str, access: Access) -> Answer<()> {
        match self.at(path) {
            Some(entry) if entry.volume == volume && entry.access == access => Ok(()),
            Some(_) => Err(refused(ErrorCode::AlreadyExists, path)),
            None => {
                let entry =
                    Standing { volume: volume.to_owned(), kind, path: path.to_owned(), access, acknowledged: false };
                self.standing.borrow_mut().push(entry);
                Ok(())
            }
        }
    }

    fn device(&self, volume: &str) -> Answer<Standing> {
        self.find(volume, EntryKind::Device).ok_or_else(|| refused(ErrorCode::NotFound, "no device"))
    }
}

impl Mounts for World {
    fn attach_image(&self, volume: &str, image: &str, access: Access) -> Answer<()> {
        self.host_step()?;
        if !std::fs::exists(image).unwrap() {
            return Err(refused(ErrorCode::NotFound, image));
        }
        self.devices.add(volume, EntryKind::Device, image, access)
    }

    fn detach_image(&self, volume: &str) -> Answer<()> {
        self.host_step()?;
        let mut standing = self.devices.standing.borrow_mut();
        if standing.iter().any(|entry| entry.volume == volume && entry.kind != EntryKind::Device) {
            return Err(refused(ErrorCode::Busy, "still mounted"));
        }
        standing.retain(|entry| entry.volume != volume);
        Ok(())
    }

    fn renew_uuid(&self, volume: &str, file_system: &str) -> Answer<()> {
        self.host_step()?;
        let device = self.devices.device(volume)?;
        if device.access == Access::ReadOnly || self.devices.find(volume, EntryKind::Mount).is_some() {
            return Err(refused(ErrorCode::Busy, "mounted or read-only"));
        }
        let drawn = self.pool.drawn.get() + 1;
        self.pool.drawn.set(drawn);
        write_header(&device.path, file_system, &format!("uuid-{drawn}"));
        Ok(())
    }

    fn mount_device(&self, request: &MountRequest) -> Answer<()> {
        self.host_step()?;
        if self.devices.refuses_mounts.get() {
            return Err(refused(ErrorCode::Failed, "wrong fs type, bad option, bad superblock"));
        }
        let (held, uuid) = header(&self.devices.device(&request.volume)?.path);
        if held != request.file_system {
            return Err(refused(ErrorCode::Failed, "another file system"));
        }
        let twin = self.devices.standing.borrow().iter().any(|entry| {
            entry.kind == EntryKind::Device && entry.volume != request.volume && header(&entry.path).1 == uuid
        });
        if twin {
            return Err(refused(ErrorCode::Failed, "a file system with this UUID is mounted"));
        }
        self.devices.add(&request.volume, EntryKind::Mount, &request.target, request.access)
    }

    fn bind(&self, request: &BindRequest) -> Answer<()> {
        self.host_step()?;
        let there = match &request.source {
            BindSource::Mounted(path) => self.devices.at(path).is_some_and(|entry| entry.volume == request.volume),
            BindSource::Granted(path) => std::fs::exists(path).unwrap(),
        };
        if !there {
            return Err(refused(ErrorCode::NotFound, "nothing to bind"));
        }
        self.devices.add(&request.volume, EntryKind::Bind, &request.target, request.access)
    }

    fn publish_device(&self, volume: &str, target: &str, access: Access) -> Answer<()> {
        self.host_step()?;
        self.devices.device(volume)?;
        self.devices.add(volume, EntryKind::Block, target, access)
    }

    fn unmount(&self, volume: &str, target: &str) -> Answer<()> {
        self.host_step()?;
        self.devices.standing.borrow_mut().retain(|entry| entry.volume != volume || entry.path != target);
        Ok(())
    }

    fn grow(&self, volume: &str) -> Answer<u64> {
        self.host_step()?;
        let length = std::fs::metadata(self.devices.device(volume)?.path).unwrap().len();
        self.devices.grown.borrow_mut().push(format!("{volume} {length}"));
        Ok(length)
    }

    fn trim(&self, volume: &str) -> Answer<u64> {
        self.host_step()?;
        if self.devices.find(volume, EntryKind::Mount).is_none() {
            return Err(refused(ErrorCode::NotFound, "not mounted"));
        }
        self.devices.history.borrow_mut().push(format!("trim {volume}"));
        Ok(0)
    }

    fn freeze(&self, volume: &str) -> Answer<()> {
        self.host_step()?;
        if self.devices.find(volume, EntryKind::Block).is_some() {
            return Err(refused(ErrorCode::Unsupported, "a raw device"));
        }
        self.devices.history.borrow_mut().push(format!("freeze {volume}"));
        if self.devices.find(volume, EntryKind::Mount).is_some() && !self.devices.thaws_early.get() {
            self.devices.frozen.borrow_mut().insert(volume.to_owned());
        }
        Ok(())
    }

    fn thaw(&self, volume: &str) -> Answer<()> {
        self.host_step()?;
        self.devices.history.borrow_mut().push(format!("thaw {volume}"));
        if self.devices.frozen.borrow_mut().remove(volume) {
            return Ok(());
        }
        Err(refused(ErrorCode::NotFound, "not frozen any more"))
    }

    fn usage(&self, volume: &str, path: &str) -> Answer<Vec<Usage>> {
        match self.devices.at(path) {
            Some(entry) if entry.volume == volume => {
                Ok(vec![Usage { available: 6, total: 10, used: 4, unit: UsageUnit::Bytes }])
            }
            _ => Err(refused(ErrorCode::NotFound, path)),
        }
    }

    fn set_group(&self, _: &str, target: &str, group: u32) -> Answer<()> {
        self.host_step()?;
        self.devices.groups.borrow_mut().push((target.to_owned(), group));
        Ok(())
    }

    fn entries(&self, volume: &str) -> Result<Vec<LedgerEntry>, Error> {
        let standing = self.devices.standing.borrow();
        let of_volume = standing.iter().filter(|entry| entry.volume == volume);
        Ok(of_volume
            .map(|entry| LedgerEntry {
                volume: entry.volume.clone(),
                kind: entry.kind,
                path: entry.path.clone(),
                access: entry.access,
            })
            .collect())
    }
}
