//! Where the package of a backend lies: a directory for each that was fetched, made whole before the link `current` shows
//! it. Owns its files and the record of what was resolved. The host reads the link's target as it reads any component.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use drivebay_policy::package::Reference;
use drivebay_signature as signature;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::artifact::{Descriptor, checked, sha256};
use crate::store::SignatureText;

const CURRENT: &str = "current";
const COMPONENT: &str = "component.wasm";
const RECORD: &str = "package.json";

/// What a reference was resolved to, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// As it is configured.
    pub(crate) reference: String,
    /// The manifest's digest.
    pub(crate) digest: String,
    /// The component's.
    pub(crate) component: String,
    /// As RFC 3339 has it.
    pub(crate) resolved: String,
}

/// What was fetched, beside the component's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub(crate) manifest: Vec<u8>,
    pub(crate) vouching: SignatureText,
}

/// The packages of one backend.
#[derive(Debug)]
pub(crate) struct Place {
    directory: PathBuf,
}

/// A directory that is not shown yet. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Stage {
    directory: PathBuf,
    is_shown: bool,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.is_shown {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

impl Stage {
    /// Where the component is to be.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn component(&self) -> Result<File> {
        let path = self.directory.join(COMPONENT);
        File::create(&path).with_context(|| path.display().to_string())
    }
}

impl Place {
    /// That of a backend's packages.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn open(directory: PathBuf) -> Result<Self> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.with_context(|| directory.display().to_string())?;
        Ok(Self { directory })
    }

    /// What is shown, if its files are what its record says.
    pub(crate) fn current(&self) -> Option<(Record, Fetched)> {
        let directory = self.directory.join(CURRENT);
        let record: Record = serde_json::from_slice(&fs::read(directory.join(RECORD)).ok()?).ok()?;
        let component = directory.join(COMPONENT);
        let manifest = fs::read(signature::manifest_beside(&component)).ok()?;
        let layer = checked(&manifest, Some(&record.digest)).ok()?;
        if layer.sha256().ok()? != record.component || digest_of(&component).ok()? != record.component {
            return None;
        }
        let own = fs::read_to_string(signature::beside(&component)).ok();
        let bundles = fs::read_to_string(signature::bundle_beside(&component)).unwrap_or_default();
        let bundles = bundles.lines().map(str::to_owned).collect();
        Some((record, Fetched { manifest, vouching: SignatureText { own, bundles } }))
    }

    /// A new directory.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn stage(&self) -> Result<Stage> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let directory = self.directory.join(format!("{}-{}", now.as_nanos(), std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&directory).with_context(|| directory.display().to_string())?;
        Ok(Stage { directory, is_shown: false })
    }

    /// Takes the component that is shown into a new directory.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn take_over(&self, stage: &Stage) -> Result<()> {
        let (from, to) = (self.directory.join(CURRENT).join(COMPONENT), stage.directory.join(COMPONENT));
        fs::copy(&from, &to).with_context(|| to.display().to_string()).map(drop)
    }

    /// Checks what was fetched, writes what belongs to it and shows it instead of what was shown.
    ///
    /// # Errors
    /// When it is not what the reference names, or cannot be written: what was shown stays.
    pub(crate) fn show(&self, mut stage: Stage, reference: &Reference, fetched: &Fetched) -> Result<Record> {
        let layer = checked(&fetched.manifest, reference.digest.as_deref())?;
        let record = Record {
            reference: reference.to_string(),
            digest: sha256(&fetched.manifest),
            component: layer.sha256()?,
            resolved: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        };
        let component = stage.directory.join(COMPONENT);
        arrived(&component, &layer)?;
        write(&signature::manifest_beside(&component), &fetched.manifest)?;
        if let Some(own) = &fetched.vouching.own {
            write(&signature::beside(&component), own.as_bytes())?;
        }
        if !fetched.vouching.bundles.is_empty() {
            write(&signature::bundle_beside(&component), lines(&fetched.vouching.bundles).as_bytes())?;
        }
        write(&stage.directory.join(RECORD), &serde_json::to_vec_pretty(&record)?)?;
        let before = fs::read_link(self.directory.join(CURRENT)).ok();
        self.link(&stage.directory)?;
        stage.is_shown = true;
        self.clear(before.as_deref(), &stage.directory);
        Ok(record)
    }

    /// Shows nothing any more: what was shown is not what is configured.
    pub(crate) fn hide(&self) {
        // It may not be there.
        let _ = fs::remove_file(self.directory.join(CURRENT));
    }

    fn link(&self, to: &Path) -> Result<()> {
        let (link, next) = (self.directory.join(CURRENT), self.directory.join("next"));
        let _ = fs::remove_file(&next);
        let made = symlink(to.file_name().unwrap_or_default(), &next).and_then(|()| fs::rename(&next, &link));
        made.with_context(|| link.display().to_string())?;
        // The name, after what it names.
        let synced = File::open(&self.directory).and_then(|directory| directory.sync_all());
        synced.with_context(|| self.directory.display().to_string())
    }

    /// Removes what is neither shown nor was shown just now, which a host may be reading.
    fn clear(&self, before: Option<&Path>, now: &Path) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            let is_kept = path == now || before.is_some_and(|before| path.file_name() == before.file_name());
            if !is_kept && path.is_dir() && !path.is_symlink() {
                let _ = fs::remove_dir_all(path);
            }
        }
    }
}

/// Whether a record is what a reference names now: by digest, or by the very words.
pub(crate) fn answers(record: &Record, reference: &Reference) -> bool {
    match &reference.digest {
        Some(digest) => record.digest == *digest,
        None => record.reference == reference.to_string(),
    }
}

fn arrived(path: &Path, layer: &Descriptor) -> Result<()> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    file.sync_all().with_context(|| path.display().to_string())?;
    let size = file.metadata()?.len();
    if size != layer.size {
        bail!("the component has {size} of {} bytes", layer.size);
    }
    let found = digest_of(path)?;
    if found != layer.sha256()? {
        bail!("the component is sha256:{found}, not {}", layer.digest);
    }
    Ok(())
}

fn digest_of(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| path.display().to_string())?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        let length = file.read(&mut buffer)?;
        match buffer.get(..length).filter(|part| !part.is_empty()) {
            Some(part) => hash.update(part),
            None => return Ok(hex::encode(hash.finalize())),
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.with_context(|| path.display().to_string())
}

/// One bundle a line: as JSON has it, a line break stands between its parts only.
fn lines(bundles: &[String]) -> String {
    let line = |bundle: &String| bundle.replace(['\n', '\r'], " ");
    bundles.iter().flat_map(|bundle| [line(bundle), "\n".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::artifact::{CompleteManifest, ComponentInfo, package};

    fn fetched(whole: &CompleteManifest) -> Fetched {
        let bundles = vec!["{\n}".to_owned()];
        Fetched { manifest: whole.manifest.clone(), vouching: SignatureText { own: Some("own".to_owned()), bundles } }
    }

    fn shown(place: &Place, whole: &CompleteManifest, component: &[u8], reference: &Reference) -> Result<Record> {
        let stage = place.stage()?;
        stage.component()?.write_all(component)?;
        place.show(stage, reference, &fetched(whole))
    }

    #[test]
    fn a_package_is_shown_whole_and_what_was_shown_stays_until_then() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::open(root.path().join("packages/b")).unwrap();
        assert_eq!(fs::metadata(&place.directory).unwrap().permissions().mode() & 0o777, 0o700);
        let [one, two] = [&b"one"[..], b"two"].map(|bytes| package(bytes.to_vec(), &ComponentInfo::default()).unwrap());
        let tag: Reference = "oci://r.example/a:1".parse().unwrap();
        assert_eq!(place.current(), None);
        let record = shown(&place, &one, b"one", &tag).unwrap();
        assert!(
            answers(&record, &tag)
                && answers(&record, &tag.at(&one.digest()))
                && !answers(&record, &tag.at(&two.digest()))
        );
        let (again, files) = place.current().unwrap();
        assert_eq!((again, files.vouching.bundles), (record, vec!["{ }".to_owned()]));
        let component = place.directory.join("current/component.wasm");
        // A damaged or short component, another manifest than the pinned one, and a place that is full change nothing.
        for (bytes, reference) in [(&b"twx"[..], &tag), (b"tw", &tag), (b"two", &tag.at(&one.digest()))] {
            assert!(shown(&place, &two, bytes, reference).is_err());
            assert_eq!(fs::read(&component).unwrap(), b"one");
        }
        shown(&place, &two, b"two", &tag).unwrap();
        assert_eq!(fs::read(&component).unwrap(), b"two");
        assert_eq!(fs::read_dir(&place.directory).unwrap().count(), 3, "two packages and the link");
        fs::write(&component, "changed").unwrap();
        assert_eq!(place.current(), None, "what is not as it was fetched counts for nothing");
        place.hide();
        assert!(!component.exists());
    }
}
