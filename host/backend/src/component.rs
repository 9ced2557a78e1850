//! A component's bytes and who they are. Owns how a file is read and named by its digest; what the bytes mean is the
//! loader's. Read once and hashed once, on a thread for blocking work: a large file must not stop those that serve.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use super::refused::Refused;
use drivebay_policy::ComponentSource;

/// Bytes of the largest component: several times those of the largest toolchain.
pub const LARGEST: u64 = 256 << 20;

/// The bytes of a file that should be a component. A clone shares them.
#[derive(Debug, Clone)]
pub struct Component {
    /// The whole file.
    pub bytes: Bytes,
    /// Its SHA-256 in hexadecimal.
    pub digest: String,
}

impl Component {
    /// Reads what a configuration names; `local` is the backend that is built into the program.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn read(source: &ComponentSource, local: &'static [u8]) -> Result<Self, Refused> {
        let wanted = source.clone();
        let read = tokio::task::spawn_blocking(move || {
            let bytes = match &wanted {
                ComponentSource::Local => Bytes::from_static(local),
                ComponentSource::File(path) => {
                    let unreadable = |source| Refused::Unreadable { path: path.display().to_string(), source };
                    Bytes::from(read_file(path).map_err(unreadable)?)
                }
            };
            let digest = digest_of(&bytes);
            Ok(Self { bytes, digest })
        });
        read.await.unwrap_or(Err(Refused::Interrupted))
    }
}

/// SHA-256 in hexadecimal.
pub fn digest_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The bytes of a file.
///
/// # Errors
/// What the system says, and what is no regular file of a component's size: a pipe would be waited for, and a device may never end.
pub fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    if meta.len() > LARGEST {
        return Err(std::io::Error::other(format!("it has {} bytes; at most {LARGEST} are allowed", meta.len())));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
