//! A component that an operator sends, because the host does not see the operator's files. Owns its way to a file in the
//! state directory, from which it is loaded like any other; judges nothing but its size.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use tonic::{Status, Streaming};

use drivebay_backend::LARGEST;
use drivebay_error::status;
use drivebay_proto::admin::ReloadRequest;
use drivebay_signature as signature;

/// Bytes of the largest signature: several times those of one.
const LARGEST_SIGNATURE: usize = 64 << 10;

/// A component on its way in.
#[derive(Debug)]
pub(super) struct Upload {
    bytes: Vec<u8>,
    signature: Vec<u8>,
}

impl Upload {
    /// All that is asked: the first message, and what was sent with it; none: nothing was.
    ///
    /// # Errors
    /// When there is no message, or more than a component has.
    pub(super) async fn receive(mut from: Streaming<ReloadRequest>) -> Result<(ReloadRequest, Option<Self>), Status> {
        let first = from.message().await?;
        let mut first = first.ok_or_else(|| status::malformed("there is no message; the first says what is asked"))?;
        let mut sent =
            Self { bytes: std::mem::take(&mut first.piece), signature: std::mem::take(&mut first.signature) };
        if sent.signature.len() > LARGEST_SIGNATURE {
            return Err(status::malformed("the signature is larger than any"));
        }
        while let Some(next) = from.message().await? {
            sent.bytes.extend_from_slice(&next.piece);
            if u64::try_from(sent.bytes.len()).unwrap_or(u64::MAX) > LARGEST {
                return Err(status::malformed("the component is larger than any: at most 256 MiB are allowed"));
            }
        }
        let sent = (!sent.bytes.is_empty()).then_some(sent);
        Ok((first, sent))
    }

    /// Whether this host sees the same at this path. Blocks.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        drivebay_backend::read_file(path).is_ok_and(|bytes| bytes == self.bytes)
    }

    /// Writes it to the place for what is sent for a backend. Blocks.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn keep(&self, directory: &Path, backend: &str) -> io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(format!("{backend}.wasm"));
        let (own, bundle) = (signature::beside(&path), signature::bundle_beside(&path));
        // Never those of another component.
        for beside in [&own, &bundle] {
            match fs::remove_file(beside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        replace(&path, &self.bytes)?;
        match self.signature.first() {
            None => {}
            // A bundle is JSON; our own format is not.
            Some(b'{') => replace(&bundle, &self.signature)?,
            Some(_) => replace(&own, &self.signature)?,
        }
        Ok(path)
    }
}

/// A watcher of the file sees it whole, or the previous one.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, bytes)?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_replaces_what_was_and_its_signature() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("sent");
        let signed = Upload { bytes: vec![1, 2], signature: vec![3] };
        let path = signed.keep(&directory, "local").unwrap();
        assert_eq!(fs::read(&path).unwrap(), [1, 2]);
        assert_eq!(fs::read(signature::beside(&path)).unwrap(), [3]);
        let unsigned = Upload { bytes: vec![4], signature: Vec::new() };
        assert_eq!(unsigned.keep(&directory, "local").unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), [4]);
        assert!(unsigned.is_at(&path) && !signed.is_at(&path) && !unsigned.is_at(&directory));
        assert!(!signature::beside(&path).exists(), "it was another component's");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing else is left");
    }
}
