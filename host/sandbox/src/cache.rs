//! The cache of compiled code in the state directory. Loading compiled code is running it, so a
//! file is used only when a key that only this host has vouches for it; anything else is compiled
//! anew. Owns the files; knows nothing of engines.
//!
//! A file is opened once: what is checked through that descriptor is what is mapped through it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The block of the hash, so that the key is used as it is.
const KEY_BYTES: usize = 64;

/// The cache directory of one host.
#[derive(Debug)]
pub struct CodeCache {
    directory: PathBuf,
    key: [u8; KEY_BYTES],
}

/// What a compiled file belongs to: any difference makes it another file.
#[derive(Debug, Clone, Copy)]
pub struct CodeId<'a> {
    /// SHA-256 of the component, in hexadecimal.
    pub digest: &'a str,
    /// The engine's own word on which code it can run: version, settings, processor.
    pub engine: &'a str,
}

/// A checked file of compiled code.
#[derive(Debug)]
pub struct Compiled(File);

impl Compiled {
    /// A path under which exactly the checked file can be mapped, while `self` lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

impl CodeCache {
    /// Opens the cache below `state`, making directory and key if needed.
    ///
    /// # Errors
    /// When the directory or the key cannot be made, or the key is not only ours.
    pub fn open(state: &Path) -> io::Result<Self> {
        let directory = state.join("code");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        fs::set_permissions(&directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        let key = key(&directory.join("key"))?;
        Ok(Self { directory, key })
    }

    /// The compiled code, if a file is there that this host wrote.
    pub fn find(&self, id: CodeId<'_>) -> Option<Compiled> {
        match self.check(id) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, digest = id.digest, "cached code is not usable, compiling anew");
                None
            }
        }
    }

    /// Keeps compiled code and gives it back checked.
    ///
    /// # Errors
    /// When it cannot be written, for example on a full disk. The caller goes on without a cache.
    pub fn keep(&self, id: CodeId<'_>, code: &[u8]) -> io::Result<Option<Compiled>> {
        self.replace(&self.path(id, "mac"), &self.mac(id, code).finalize().into_bytes())?;
        self.replace(&self.path(id, "cwasm"), code)?;
        self.check(id)
    }

    fn check(&self, id: CodeId<'_>) -> io::Result<Option<Compiled>> {
        let (mut code, mut mac) = match (own_file(&self.path(id, "cwasm")), own_file(&self.path(id, "mac"))) {
            (Ok(code), Ok(mac)) => (code, mac),
            (Err(e), _) | (_, Err(e)) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            (Err(e), _) | (_, Err(e)) => return Err(e),
        };
        let mut expected = Vec::new();
        (&mut mac).take(64).read_to_end(&mut expected)?;
        let mut sum = self.mac(id, &[]);
        let mut buffer = vec![0; 1 << 20];
        loop {
            let n = code.read(&mut buffer)?;
            match buffer.get(..n) {
                Some(part) if n > 0 => sum.update(part),
                _ => break,
            }
        }
        code.rewind()?;
        match sum.verify_slice(&expected) {
            Ok(()) => Ok(Some(Compiled(code))),
            Err(_) => Err(io::Error::other("the file was not written by this host, or is damaged")),
        }
    }

    fn mac(&self, id: CodeId<'_>, code: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.key.into());
        for part in [id.digest, id.engine] {
            mac.update(&part.len().to_le_bytes());
            mac.update(part.as_bytes());
        }
        mac.update(code);
        mac
    }

    fn path(&self, id: CodeId<'_>, ending: &str) -> PathBuf {
        self.directory.join(format!("{}-{}.{ending}", id.digest, id.engine))
    }

    /// Written whole or not at all, and on disk before it has its name.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let temporary = self.directory.join(format!(".{name}.{}", std::process::id()));
        let written = private(&temporary).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        let moved = written.and_then(|()| fs::rename(&temporary, path));
        if moved.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        moved
    }
}

/// Opens a file that belongs to us alone: a regular file, not a link, ours, closed to others.
fn own_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(NOFOLLOW).open(path)?;
    let meta = file.metadata()?;
    let ours = meta.uid() == rustix::process::geteuid().as_raw();
    if !meta.is_file() || !ours || meta.mode() & 0o077 != 0 || meta.nlink() != 1 {
        return Err(io::Error::other(format!("{} is not a private file of this user", path.display())));
    }
    Ok(file)
}

#[expect(clippy::cast_possible_wrap, reason = "a flag word of the kernel")]
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

fn private(path: &Path) -> io::Result<File> {
    let _ = fs::remove_file(path);
    OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(NOFOLLOW).open(path)
}

/// The key of this host, made at the first start.
fn key(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    match own_file(path) {
        Ok(mut file) => {
            let mut key = [0; KEY_BYTES];
            if file.read_exact(&mut key).is_ok() {
                return Ok(key);
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let mut file = private(path)?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const ID: CodeId<'_> = CodeId { digest: "aa", engine: "e1" };

    #[test]
    fn what_was_kept_is_found_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        CodeCache::open(dir.path()).unwrap().keep(ID, b"code").unwrap().unwrap();
        let found = CodeCache::open(dir.path()).unwrap().find(ID).unwrap();
        assert_eq!(fs::read(found.path()).unwrap(), b"code");
    }

    #[test]
    fn anything_else_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(dir.path()).unwrap();
        let path = dir.path().join("code/aa-e1.cwasm");
        let damage: [(&str, &dyn Fn()); 5] = [
            ("changed", &|| fs::write(&path, b"evil").unwrap()),
            ("open to others", &|| fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap()),
            ("a link", &|| {
                fs::rename(&path, dir.path().join("x")).unwrap();
                symlink(dir.path().join("x"), &path).unwrap();
            }),
            ("linked twice", &|| fs::hard_link(&path, dir.path().join("y")).unwrap()),
            ("another key", &|| fs::write(dir.path().join("code/key"), [7; KEY_BYTES]).unwrap()),
        ];
        for (what, break_it) in damage {
            let _ = fs::remove_file(&path);
            cache.keep(ID, b"code").unwrap().unwrap();
            break_it();
            let again = CodeCache::open(dir.path()).unwrap();
            assert!(again.find(ID).is_none(), "{what}");
        }
    }

    #[test]
    fn code_for_another_engine_is_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(dir.path()).unwrap();
        cache.keep(ID, b"code").unwrap();
        let other = CodeId { engine: "e2", ..ID };
        assert!(cache.find(other).is_none());
        let from = dir.path().join("code/aa-e1");
        for ending in ["cwasm", "mac"] {
            fs::copy(from.with_extension(ending), dir.path().join(format!("code/aa-e2.{ending}"))).unwrap();
        }
        assert!(cache.find(other).is_none(), "the name alone does not make it usable");
    }
}
