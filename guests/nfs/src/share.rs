//! The export as files: the volumes' directories, and what is kept of each.
//!
//! ```text
//! ID/                       a volume's files
//! archived-ID/              those of a deleted volume, where its class says so
//! .drivebay/volumes/ID      its record; while it is there, the volume is
//! .drivebay/names/NAME      the id of the volume with this name, from before the volume is made
//! .drivebay/removed/ID/     files that are being removed
//! ```
//!
//! Every step may be the last one of a call that is cut off; the order is such that its repetition goes on from there.
//! It must not follow names out of the export: an id is what was made here, or none.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use drivebay_sdk::{Error, Reason, Result, names, state};

use crate::record::{OnDelete, Record};

/// Where the operator grants the export.
pub(crate) const ROOT: &str = "/share";
/// As many hexadecimal digits as [`drivebay_sdk::new_id`] draws.
const ID_DIGITS: usize = 32;
/// In the state once a volume was seen in the export.
const USED: &str = "export-used";

/// The export.
#[derive(Debug)]
pub(crate) struct Share {
    root: PathBuf,
}

impl Share {
    /// The export that is granted. `failed-precondition`: none is. `unavailable`: volumes are known here, and what is
    /// granted has never had one, so it is the directory in which the export is to be mounted.
    pub(crate) fn open() -> Result<Self> {
        let share = Self::at(Path::new(ROOT))?;
        if !share.has_been_used()? && state::get(USED)?.is_some() {
            return Err(not_mounted());
        }
        Ok(share)
    }

    /// As [`Self::open`], for calls that change something: remembers that the export was seen.
    pub(crate) fn open_to_change() -> Result<Self> {
        let share = Self::open()?;
        share.remember()?;
        Ok(share)
    }

    /// Notes once that a volume was seen in the export.
    pub(crate) fn remember(&self) -> Result<()> {
        if self.has_been_used()? && state::get(USED)?.is_none() {
            state::Commit::new().put(USED, "").run()?;
        }
        Ok(())
    }

    /// Whether a volume was ever made in it: its records' folder is made with the first and never removed.
    pub(crate) fn has_been_used(&self) -> Result<bool> {
        self.kept("volumes").try_exists().map_err(|error| failed("looking for records", &error))
    }

    fn at(root: &Path) -> Result<Self> {
        if !root.is_dir() {
            let message = format!("the export is not granted here: mount it, and grant its directory as {ROOT}");
            return Err(Error::failed_precondition(message));
        }
        Ok(Self { root: root.to_owned() })
    }

    fn kept(&self, kind: &str) -> PathBuf {
        self.root.join(".drivebay").join(kind)
    }

    fn record_of(&self, id: &str) -> PathBuf {
        self.kept("volumes").join(id)
    }

    fn name_of(&self, name: &str) -> PathBuf {
        self.kept("names").join(names::encode(name))
    }

    /// The volume with this id; none: there is none.
    pub(crate) fn find(&self, id: &str) -> Result<Option<Record>> {
        if !is_id(id) {
            return Ok(None);
        }
        let Some(text) = read(&self.record_of(id))? else { return Ok(None) };
        let unreadable = || Error::unavailable(format!("the record of volume {id} in the export is damaged"));
        Record::read(&text).map(Some).ok_or_else(unreadable)
    }

    /// The volume with this name, or the id that was set aside for it.
    pub(crate) fn named(&self, name: &str) -> Result<Option<(String, Option<Record>)>> {
        let Some(id) = read(&self.name_of(name))?.filter(|id| is_id(id)) else { return Ok(None) };
        let record = self.find(&id)?;
        Ok(Some((id, record)))
    }

    /// Makes a volume that is not there yet, or goes on making it.
    pub(crate) fn make(&self, id: &str, record: &Record) -> Result<()> {
        write(&self.name_of(&record.name), id)?;
        match fs::create_dir(self.root.join(id)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(|error| failed("making the volume's directory", &error))?,
        }
        write(&self.record_of(id), &record.write())
    }

    /// `aborted`: deleting the volume has begun, and not ended.
    pub(crate) fn expect_whole(&self, id: &str) -> Result<()> {
        let there =
            self.root.join(id).try_exists().map_err(|error| failed("looking for the volume's directory", &error))?;
        if there { Ok(()) } else { Err(Error::aborted(format!("volume {id} of this name is being deleted"))) }
    }

    /// Changes what is kept of a volume.
    pub(crate) fn change(&self, id: &str, record: &Record) -> Result<()> {
        write(&self.record_of(id), &record.write())
    }

    /// Deletes a volume, or goes on deleting it.
    pub(crate) fn delete(&self, id: &str, record: &Record) -> Result<()> {
        let files = self.root.join(id);
        match record.on_delete {
            OnDelete::Archive => moved(&files, &self.root.join(format!("archived-{id}")))?,
            OnDelete::Remove => {
                let removed = self.kept("removed").join(id);
                moved(&files, &removed)?;
                gone(fs::remove_dir_all(&removed)).map_err(|error| failed("removing the volume's files", &error))?;
            }
        }
        // The name may belong to a later volume, if this is a repetition.
        let name = self.name_of(&record.name);
        if read(&name)?.as_deref() == Some(id) {
            gone(fs::remove_file(&name)).map_err(|error| failed("removing the volume's name", &error))?;
        }
        gone(fs::remove_file(self.record_of(id))).map_err(|error| failed("removing the volume's record", &error))
    }

    /// The ids of all volumes.
    pub(crate) fn ids(&self) -> Result<Vec<String>> {
        let failed = |error: io::Error| failed("listing volumes", &error);
        let entries = match fs::read_dir(self.kept("volumes")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string()));
        let names: Vec<_> = names.collect::<io::Result<_>>().map_err(failed)?;
        Ok(names.into_iter().flatten().filter(|name| is_id(name)).collect())
    }
}

/// What a call is told that may only be answered with the export at hand.
pub(crate) fn not_mounted() -> Error {
    Error::unavailable(format!(
        "no volume was ever made in {ROOT}: mount the export there, on the controller's machine"
    ))
}

/// Whether an id is one that was made here: no other leads anywhere.
pub(crate) fn is_id(id: &str) -> bool {
    id.len() == ID_DIGITS && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some).map_err(|error| failed("reading a record", &error)),
    }
}

/// All of the text, or what was there before.
fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error: io::Error| failed("writing a record", &error);
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(failed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.new"));
    let written = fs::File::create(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&new, path)).map_err(failed)
}

/// Moves a directory, unless that was done before.
fn moved(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    let moved = fs::create_dir_all(folder).and_then(|()| gone(fs::rename(from, to)));
    moved.map_err(|error| failed("moving the volume's files", &error))
}

/// What is not there any more needs no second removal.
fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn failed(attempt: &str, error: &io::Error) -> Error {
    let message = format!("{attempt}: {error}");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::resource_exhausted(message).with_reason(Reason::NoSpace)
        }
        io::ErrorKind::ReadOnlyFilesystem => Error::failed_precondition(message).with_reason(Reason::ReadOnly),
        _ => Error::unavailable(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    fn share(name: &str) -> Share {
        let root = std::env::temp_dir().join(format!("drivebay-nfs-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Share::at(&root).unwrap()
    }

    fn record(on_delete: OnDelete) -> Record {
        Record { name: "pvc-1".into(), bytes: 4_096, on_delete }
    }

    #[test]
    fn a_volume_is_made_found_and_removed_however_often_it_is_asked_for() {
        let (share, record) = (share("life"), record(OnDelete::Remove));
        assert_eq!(share.named("pvc-1").unwrap(), None);
        assert!(!share.has_been_used().unwrap());
        for _ in 0..2 {
            share.make(ID, &record).unwrap();
            assert!(share.has_been_used().unwrap());
            assert_eq!(share.named("pvc-1").unwrap(), Some((ID.to_owned(), Some(record.clone()))));
            assert_eq!(share.ids().unwrap(), [ID]);
        }
        fs::create_dir(share.root.join(ID).join("d")).unwrap();
        fs::write(share.root.join(ID).join("d/f"), "x").unwrap();
        for _ in 0..2 {
            share.delete(ID, &record).unwrap();
            assert!(share.find(ID).unwrap().is_none() && share.named("pvc-1").unwrap().is_none());
            assert!(!share.root.join(ID).exists() && share.ids().unwrap().is_empty());
            assert!(share.has_been_used().unwrap(), "an export that was emptied is not a missing one");
        }
        fs::remove_dir_all(&share.root).unwrap();
    }

    #[test]
    fn an_archived_volume_keeps_its_files() {
        let (share, record) = (share("archive"), record(OnDelete::Archive));
        share.make(ID, &record).unwrap();
        fs::write(share.root.join(ID).join("f"), "x").unwrap();
        share.delete(ID, &record).unwrap();
        share.delete(ID, &record).unwrap();
        assert_eq!(fs::read_to_string(share.root.join(format!("archived-{ID}/f"))).unwrap(), "x");
        fs::remove_dir_all(&share.root).unwrap();
    }

    #[test]
    fn a_cut_off_making_goes_on_with_its_id_and_a_cut_off_deletion_spares_the_next_volume() {
        let (share, record) = (share("cut"), record(OnDelete::Remove));
        write(&share.name_of("pvc-1"), ID).unwrap();
        assert_eq!(share.named("pvc-1").unwrap(), Some((ID.to_owned(), None)));
        share.make(ID, &record).unwrap();
        // The name was given to another volume after the deletion had come as far as that.
        share.make(OTHER, &record).unwrap();
        share.delete(ID, &record).unwrap();
        assert_eq!(share.named("pvc-1").unwrap(), Some((OTHER.to_owned(), Some(record))));
        fs::remove_dir_all(&share.root).unwrap();
    }

    #[test]
    fn no_id_leads_out_of_the_export() {
        let share = share("ids");
        for id in ["", "..", "../x", ".drivebay", "archived-x", &ID[1..], &ID.to_uppercase(), &format!("{ID}/x")] {
            assert_eq!(share.find(id).unwrap(), None, "{id}");
        }
        fs::create_dir_all(share.kept("volumes")).unwrap();
        fs::write(share.record_of(ID), "drivebay-nfs 1\nname a\n").unwrap();
        assert!(share.find(ID).is_err(), "a damaged record is no volume that never was");
        fs::remove_dir_all(&share.root).unwrap();
    }
}
