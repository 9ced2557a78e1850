//! Work that the host does for a guest, asked for where it is not the guest's: jobs on files, loop devices, mounts.

use drivebay_sdk::files::{self, Job, JobState};
use drivebay_sdk::mounts::{self, Access, MountRequest};
use drivebay_sdk::{Error, Result, attach};

const MIB: u64 = 1 << 20;

/// More jobs at once than a backend may have, each on a large file; none is waited for.
pub(crate) fn jobs(count: u64) -> Result<()> {
    for n in 0..count {
        let job = Job::copy_all("/data/large", format!("/data/copy-{n}"));
        if let Err(error) = files::run_job(&format!("copy {n}"), &job, 0) {
            return Err(Error::resource_exhausted(format!("kept in: after {n} jobs: {}", error.message)));
        }
    }
    Err(Error::internal(format!("escaped: {count} jobs run")))
}

/// Jobs that fail at once, each with a word of megabytes: ended jobs are remembered, so that their failure can be told.
pub(crate) fn job_words(count: u64) -> Result<()> {
    let word = "x".repeat(3 << 20);
    for n in 0..count {
        if let Err(error) = files::run_job(&format!("word {n}"), &Job::format("/data/file", &word), 1_000) {
            return Err(Error::permission_denied(format!("kept in: after {n} jobs: {}", error.message)));
        }
    }
    Err(Error::internal(format!("escaped: {count} jobs are remembered")))
}

/// The two paths of the call, and what else the deed names.
pub(crate) struct Work<'a> {
    pub(crate) volume: &'a str,
    pub(crate) target: &'a str,
}

impl Work<'_> {
    /// Does node work as the deed says; false: it says nothing of node work.
    pub(crate) fn perform(&self, verb: &str, rest: &str) -> Result<bool> {
        match verb {
            "mount-at" => kept(rest, mounts::bind_granted(self.volume, "/data/plain", rest, Access::ReadWrite))?,
            "mount-from" => kept(rest, mounts::bind_granted(self.volume, rest, self.target, Access::ReadWrite))?,
            "device" => kept(rest, mounts::attach_image(self.volume, rest, Access::ReadWrite))?,
            "device-for" => {
                let (volume, image) = rest.split_once(' ').unwrap_or((rest, "/"));
                made(image)?;
                kept(rest, mounts::attach_image(volume, image, Access::ReadWrite))?;
            }
            "devices" => {
                made(rest)?;
                mounts::attach_image(self.volume, rest, Access::ReadWrite)?;
                kept(rest, mounts::publish_device(self.volume, self.target, Access::ReadOnly))?;
            }
            "renew" => {
                mounts::attach_image(self.volume, &format!("{rest}/{}.img", self.volume), Access::ReadWrite)?;
                mounts::renew_uuid(self.volume, "ext4")?;
            }
            "share" => {
                let (server, export) = rest.split_once(' ').unwrap_or((rest, "/"));
                kept(rest, attach::nfs(server, export).mount(self.volume, self.target, &[], Access::ReadOnly))?;
            }
            "unmount-of" => return self.unmount_of(rest).map(|()| true),
            "freeze" => self.freeze()?,
            "good" => mounts::bind_granted(self.volume, "/data/plain", self.target, Access::ReadWrite)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What another backend has mounted for its volume, by that volume's id and path.
    fn unmount_of(&self, rest: &str) -> Result<()> {
        let (volume, path) = rest.split_once(' ').unwrap_or((rest, "/"));
        let entries = mounts::list_entries(None)?;
        if entries.iter().any(|entry| entry.volume == volume) {
            return Err(Error::internal("escaped: another backend's mounts are told"));
        }
        // Success says that nothing of this backend's is there; whether it is still mounted, others see.
        let words = match mounts::unmount(volume, path) {
            Ok(()) => "nothing was there".to_owned(),
            Err(error) => error.message,
        };
        let _ = mounts::detach_image(volume);
        Err(Error::permission_denied(format!("kept in: {} of {}: {words}", path, self.volume)))
    }

    /// Mounts a file system of its own, and holds all writes to it for good.
    fn freeze(&self) -> Result<()> {
        let image = "/data/image";
        made(image)?;
        match files::run_job("format", &Job::format(image, "ext4"), 10_000)? {
            JobState::Done(_) => {}
            JobState::Running(_) => return Err(Error::unavailable("the file system is not made in time")),
            JobState::Failed(error) => return Err(error.into()),
        }
        mounts::attach_image(self.volume, image, Access::ReadWrite)?;
        mounts::mount_device(&MountRequest {
            volume: self.volume.to_owned(),
            target: self.target.to_owned(),
            file_system: "ext4".to_owned(),
            options: Vec::new(),
            access: Access::ReadWrite,
        })?;
        Ok(mounts::freeze(self.volume)?)
    }

    /// Undoes whatever a deed has left.
    pub(crate) fn undo(&self) -> Result<()> {
        mounts::unmount(self.volume, self.target)?;
        Ok(mounts::detach_image(self.volume)?)
    }
}

/// An image of its own, of 16 MiB.
fn made(image: &str) -> Result<()> {
    std::fs::File::create(image).and_then(|file| file.set_len(16 * MIB)).map_err(|error| failed(&error))
}

/// What was let in stays, so that others can see it: the host undoes what a failed call has left.
fn kept(what: &str, tried: std::result::Result<(), mounts::Error>) -> Result<()> {
    tried.map_err(|error| Error::permission_denied(format!("kept in: {what}: {}", error.message)))
}

fn failed(error: &std::io::Error) -> Error {
    Error::internal(error.to_string())
}
