//! Instructions that ask for the host's work on files and on the node.
//!
//! It owns what the words mean, and passes everything on as it was said: which paths and grants there
//! are is the test's to know.

use std::fs::File;

use drivebay_sdk::files::{self, Job, JobState};
use drivebay_sdk::mounts::{self, Access};
use drivebay_sdk::{Error, Result};

const IMAGE_BYTES: u64 = 4 << 20;

/// `IMAGE WAIT_MS`: makes an ext4 in an image, as a job; an answer while it is under way is a refusal.
pub(crate) fn format(rest: &str) -> Result<()> {
    let (image, wait) = pair(rest)?;
    if !std::fs::exists(image).unwrap_or(false) {
        let made = File::create_new(image).and_then(|file| file.set_len(IMAGE_BYTES));
        made.map_err(|error| Error::unavailable(format!("{image}: {error}")))?;
    }
    match files::run_job(&format!("format {image}"), &Job::format(image, "ext4"), wait.parse().unwrap_or(0))? {
        JobState::Done(_) => Ok(()),
        JobState::Running(_) => Err(Error::unavailable("the job is under way")),
        JobState::Failed(error) => Err(error.into()),
    }
}

/// `SOURCE TARGET`: shows a directory at a path of the call. Whatever goes wrong, this backend claims that
/// nothing was done, as those do that know no better.
pub(crate) fn bind(volume: &str, rest: &str) -> Result<()> {
    let (source, target) = pair(rest)?;
    let bound = mounts::bind_granted(volume, source, target, Access::ReadWrite);
    bound.map_err(|error| Error::internal(error.message))
}

/// `TARGET`: undoes it.
pub(crate) fn unmount(volume: &str, target: &str) -> Result<()> {
    Ok(mounts::unmount(volume, target)?)
}

fn pair(rest: &str) -> Result<(&str, &str)> {
    rest.split_once(' ').ok_or_else(|| Error::invalid_argument(format!("not two words: {rest}")))
}
