//! Work on files in granted directories that the sandbox's own file system lacks: sharing and
//! punching blocks, finding differences, making file systems, long copies.
//!
//! Needs a writable directory grant. Plain reading and writing goes through `std::fs`.
//!
//! ```no_run
//! use drivebay_sdk::{Result, files};
//!
//! /// Copies an image, at once where the file system can.
//! fn copy(source: &str, target: &str) -> Result<bool> {
//!     match files::reflink(source, target) {
//!         Err(error) if error.code == files::ErrorCode::Unsupported => {}
//!         answer => return answer.map(|()| true).map_err(Into::into),
//!     }
//!     let job = files::Job::copy_all(source, target);
//!     match files::run_job(&format!("copy {target}"), &job, 2_000)? {
//!         files::JobState::Running(_) => Ok(false),
//!         files::JobState::Done(_) => Ok(true),
//!         files::JobState::Failed(error) => Err(error.into()),
//!     }
//! }
//! ```

#[doc(inline)]
pub use crate::bindings::host::drivebay::host::files::*;
#[doc(inline)]
pub use crate::bindings::host::drivebay::host::types::{Error, ErrorCode, Extent};

impl Job {
    /// Copies a whole file to a new one.
    pub fn copy_all(source: impl Into<String>, target: impl Into<String>) -> Self {
        Self::Copy(CopyJob { source: source.into(), target: target.into(), ranges: Vec::new() })
    }

    /// Makes a file system without a label in an image.
    pub fn format(image: impl Into<String>, file_system: impl Into<String>) -> Self {
        Self::MakeFileSystem(FileSystemJob { image: image.into(), file_system: file_system.into(), label: None })
    }
}
