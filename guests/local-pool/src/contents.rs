//! Contents of volumes and snapshots: created, copied, or cut from a volume in use.
//!
//! On a pool that can share blocks, a copy of an image shows one moment even while the source is written. On any other
//! pool copying takes time, so only idle volumes are copied. No record is written here: contents without a record do
//! not count.

mod uses;

use drivebay_sdk::files::{ErrorCode, Extent, Job, JobState};
use drivebay_sdk::{Error, Reason, Result};
use uses::hold;

use crate::disk::Type;
use crate::host::Host;
use crate::lifecycle::{copy_key, format_key};
use crate::record::{Content, VolumeRecord};
use crate::{DATA, IMAGE, Pool, Progress, Section, Sharing, refusal};
pub use uses::{Hold, USES, use_key};

/// Fills and copies the contents of objects during one call.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    pool: &'a Pool<'a>,
    host: &'a dyn Host,
}

/// Where contents stand or shall stand.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The kind of object.
    pub section: Section,
    /// Its id.
    pub id: &'a str,
}

impl<'a> Contents<'a> {
    /// Of this pool.
    pub fn new(pool: &'a Pool<'a>) -> Self {
        Self { pool, host: pool.host }
    }
}

impl Contents<'_> {
    /// Makes empty contents of this size. `UnderWay`: the file system is still being made.
    pub fn make_contents(&self, place: Place<'_>, content: &Content, bytes: u64) -> Result<Progress> {
        match content {
            Content::Directory => {
                let path = self.pool.file(place.section, place.id, DATA);
                self.pool.disk.make_directory(&path).map_err(|error| refusal::of_disk("make", &path, &error))?;
                Ok(Progress::Done)
            }
            Content::Block => self.make_image(place, bytes).map(|()| Progress::Done),
            Content::FileSystem(name) => self.make_file_system(place, name, bytes),
        }
    }

    /// Removes contents of the other kind, which an interrupted request of other wishes has left.
    pub fn clear_other_kind(&self, place: Place<'_>, content: &Content) -> Result<()> {
        let other = if *content == Content::Directory { (IMAGE, Type::File) } else { (DATA, Type::Directory) };
        let path = self.pool.file(place.section, place.id, other.0);
        if self.pool.has_file(&path)? && self.pool.remove_tree(&path, other.1)? == Progress::UnderWay {
            return Err(refusal::ask_again("clearing", place.id));
        }
        Ok(())
    }

    /// Copies the contents of a volume as they are now. A file system that this host has mounted is
    /// frozen meanwhile. `failed-precondition`: in use in a way that allows no copy.
    pub fn cut(&self, volume: &VolumeRecord, to: Place<'_>) -> Result<Progress> {
        let from = Place { section: Section::Volumes, id: &volume.id };
        let sharing = self.pool.sharing()?;
        self.cut_by(volume, sharing, || self.transfer(from, to, &volume.content, sharing))
    }

    /// As [`Self::cut`], by a transfer of the caller's own.
    pub fn cut_by(
        &self,
        volume: &VolumeRecord,
        sharing: Sharing,
        transfer: impl FnOnce() -> Result<Progress>,
    ) -> Result<Progress> {
        let at_one_moment = sharing == Sharing::Possible && volume.content != Content::Directory;
        match self.hold_of(volume)? {
            Hold::Here if at_one_moment => self.while_frozen(&[volume.id.as_str()], transfer),
            _ if at_one_moment => transfer(),
            Hold::Idle => {
                let progress = transfer()?;
                self.check_still_idle(volume)?;
                Ok(progress)
            }
            Hold::Directory(place) => Err(busy_directory(&volume.id, &place)),
            Hold::Elsewhere(place) | Hold::Raw(place) => Err(busy_image(&volume.id, &place)),
            Hold::Here => Err(busy_image(&volume.id, "this node")),
        }
    }

    /// How a volume is held by those who use it.
    pub fn hold_of(&self, volume: &VolumeRecord) -> Result<Hold> {
        let uses = self.uses(Section::Volumes, &volume.id)?;
        Ok(hold(&volume.content, &uses, &self.host.host_id()))
    }

    /// Copies contents that nobody changes meanwhile, or that can be copied at one moment.
    pub fn transfer(&self, from: Place<'_>, to: Place<'_>, content: &Content, sharing: Sharing) -> Result<Progress> {
        if *content == Content::Directory {
            let (from, to) = (self.pool.file(from.section, from.id, DATA), self.pool.file(to.section, to.id, DATA));
            return self.pool.copy_tree(&from, &to, sharing);
        }
        let (source, target) = (self.pool.file(from.section, from.id, IMAGE), self.pool.file(to.section, to.id, IMAGE));
        self.copy_image(source, target, &copy_key(to.id), sharing)
    }

    /// Makes an image the same as another, at one moment where blocks can be shared.
    pub fn copy_image(&self, source: String, target: String, key: &str, sharing: Sharing) -> Result<Progress> {
        match sharing {
            Sharing::Possible => {
                // What an interrupted call left is of another moment.
                self.pool.remove_file(&target)?;
                self.host.reflink(&source, &target).map_err(refusal::of_host)?;
                Ok(Progress::Done)
            }
            Sharing::Impossible => self.run(key, &Job::copy_all(source, target)),
        }
    }

    /// Runs `work` while the file systems of these volumes are frozen here, all at once.
    /// `unavailable`: one of them was thawed before `work` was done, so the cut is worth nothing.
    pub fn while_frozen<T>(&self, volumes: &[&str], work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut frozen = Vec::new();
        let mut outcome = Ok(());
        for volume in volumes {
            match self.host.freeze(volume) {
                Ok(()) => frozen.push(*volume),
                Err(error) => {
                    outcome = Err(refusal::of_host(error));
                    break;
                }
            }
        }
        let outcome = outcome.and_then(|()| work());
        let mut void = None;
        for volume in frozen {
            if let Err(error) = self.host.thaw(volume) {
                void.get_or_insert(Error::unavailable(format!(
                    "the cut is not to be trusted, volume {volume} did not stay frozen: {}",
                    error.message
                )));
            }
        }
        match (outcome, void) {
            (Ok(_), Some(void)) => Err(void),
            (outcome, _) => outcome,
        }
    }

    /// Makes an image as long as its volume is; it never becomes shorter.
    pub fn lengthen(&self, place: Place<'_>, bytes: u64) -> Result<()> {
        let image = self.pool.file(place.section, place.id, IMAGE);
        let status = self.pool.disk.status(&image).map_err(|error| refusal::of_disk("find", &image, &error))?;
        match status {
            None => Err(Error::failed_precondition(format!(
                "the image of {} {} is missing",
                place.section.noun(),
                place.id
            ))),
            Some(status) if status.length >= bytes => Ok(()),
            Some(_) => {
                self.pool
                    .disk
                    .set_length(&image, bytes)
                    .map_err(|error| refusal::of_disk("lengthen", &image, &error))?;
                self.pool.sync(&image)
            }
        }
    }

    /// Sets aside all blocks of an image. `resource-exhausted`: the pool has not that many.
    pub fn reserve_all(&self, place: Place<'_>, bytes: u64) -> Result<()> {
        let image = self.pool.file(place.section, place.id, IMAGE);
        self.host.reserve(&image, Extent { offset: 0, length: bytes }).map_err(refusal::of_host)?;
        self.pool.sync(&image)
    }

    fn make_image(&self, place: Place<'_>, bytes: u64) -> Result<()> {
        let image = self.pool.file(place.section, place.id, IMAGE);
        self.pool.remove_file(&image)?;
        self.pool.disk.make_file(&image, bytes).map_err(|error| refusal::of_disk("make", &image, &error))?;
        self.pool.sync(&image)
    }

    fn make_file_system(&self, place: Place<'_>, name: &str, bytes: u64) -> Result<Progress> {
        let image = self.pool.file(place.section, place.id, IMAGE);
        let job = Job::format(image.clone(), name);
        let present = self.pool.disk.status(&image).map_err(|error| refusal::of_disk("find", &image, &error))?;
        if present.is_none_or(|status| status.length != bytes) {
            self.make_image(place, bytes)?;
        }
        match self.pool.run_job(&format_key(place.id), &job) {
            // A host that died after the job remembers nothing of it: begin with a new image.
            Ok(JobState::Failed(error)) | Err(error) if error.code == ErrorCode::AlreadyExists => {
                self.make_image(place, bytes)?;
                self.run(&format_key(place.id), &job)
            }
            state => of_job(state),
        }
    }

    fn run(&self, key: &str, job: &Job) -> Result<Progress> {
        of_job(self.pool.run_job(key, job))
    }

    fn check_still_idle(&self, volume: &VolumeRecord) -> Result<()> {
        match self.hold_of(volume)? {
            Hold::Idle => Ok(()),
            _ => Err(Error::aborted(format!("volume {} was put to use while it was copied", volume.id))
                .with_reason(Reason::Busy)),
        }
    }

    /// Refuses what cannot be cut together now; otherwise the volumes that must be frozen.
    pub fn check_together(&self, volumes: &[VolumeRecord], sharing: Sharing) -> Result<Vec<String>> {
        let mut frozen = Vec::new();
        for volume in volumes {
            let id = &volume.id;
            match self.hold_of(volume)? {
                Hold::Idle => {}
                Hold::Raw(place) => {
                    let message = format!("volume {id} is published as a raw device on {place} and cannot be frozen");
                    return Err(refusal::in_use(message));
                }
                Hold::Elsewhere(place) => {
                    let message = format!("volume {id} is staged on {place}, which alone could freeze it");
                    return Err(refusal::in_use(message));
                }
                Hold::Directory(place) => return Err(busy_directory(id, &place)),
                Hold::Here if sharing == Sharing::Impossible => {
                    let message = format!("volume {id} is in use, and this pool cannot share blocks");
                    return Err(refusal::in_use(message));
                }
                Hold::Here => frozen.push(id.clone()),
            }
        }
        Ok(frozen)
    }
}

/// Why a directory in use cannot be copied.
fn busy_directory(id: &str, place: &str) -> Error {
    refusal::in_use(format!(
        "directory volume {id} is published for writing on {place}: copied file by file it would mix moments"
    ))
}

fn busy_image(id: &str, place: &str) -> Error {
    refusal::in_use(format!(
        "volume {id} is in use on {place}, and this pool cannot share blocks: a copy would mix moments"
    ))
}

fn of_job(state: std::result::Result<JobState, drivebay_sdk::files::Error>) -> Result<Progress> {
    match state {
        Ok(JobState::Done(_)) => Ok(Progress::Done),
        Ok(JobState::Running(_)) => Ok(Progress::UnderWay),
        Ok(JobState::Failed(error)) | Err(error) => Err(refusal::of_host(error)),
    }
}
