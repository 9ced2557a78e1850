//! An OCI image layout: a directory with what registries hold, for machines without a network. Owns its files and how a
//! reference is found there. Checks no digest of what it reads: whoever asks does.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use drivebay_policy::package::Reference;

use crate::artifact::{CompleteManifest, Descriptor, INDEX, Index, LARGEST_MANIFEST, MANIFEST, Manifest, referrer};

/// Under which name tools look for a manifest: the tag (oras), or the whole name.
const NAME: &str = "org.opencontainers.image.ref.name";
/// The whole name, where the other is the tag alone.
const IMAGE: &str = "io.containerd.image.name";

/// A layout.
pub(crate) struct Layout {
    directory: PathBuf,
}

impl Layout {
    /// That in a directory, which is read when something is looked for.
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The manifest of a reference: by digest where it has one, else by the registry's name and tag, else by the tag where
    /// only one manifest has it.
    ///
    /// # Errors
    /// When it is not there.
    pub(crate) fn manifest(&self, reference: &Reference) -> Result<Vec<u8>> {
        if let Some(digest) = &reference.digest {
            return self.bytes(digest, LARGEST_MANIFEST);
        }
        let index = self.index()?;
        let tag = reference.tag.as_deref().unwrap_or_default();
        let whole = format!("{}/{}:{tag}", reference.registry, reference.repository);
        let named = |name: &str| {
            let is = |manifest: &&Descriptor| {
                [NAME, IMAGE].iter().any(|key| manifest.annotations.get(*key).is_some_and(|is| is == name))
            };
            let found: Vec<_> = index.manifests.iter().filter(is).collect();
            found
        };
        let found = match (named(&whole).as_slice(), named(tag).as_slice()) {
            ([one, ..], _) | ([], [one]) => one.sha256()?,
            ([], []) => bail!("{}: there is no {whole} in this layout", self.directory.display()),
            ([], _) => bail!("{}: several manifests have the tag {tag}; give a digest", self.directory.display()),
        };
        self.bytes(&found, LARGEST_MANIFEST)
    }

    /// Hands a blob over part by part.
    ///
    /// # Errors
    /// When it is not there, or has another size, or `take` refuses a part.
    pub(crate) fn blob(&self, blob: &Descriptor, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let path = self.path(&blob.sha256()?);
        let mut file =
            fs::File::open(&path).with_context(|| path.display().to_string())?.take(blob.size.saturating_add(1));
        let (mut buffer, mut had) = (vec![0; 1 << 16], 0_u64);
        loop {
            let length = file.read(&mut buffer).with_context(|| path.display().to_string())?;
            let Some(part) = buffer.get(..length).filter(|part| !part.is_empty()) else { break };
            had += u64::try_from(length)?;
            take(part)?;
        }
        if had != blob.size {
            bail!("{}: it does not have {} bytes", path.display(), blob.size);
        }
        Ok(())
    }

    /// What refers to a manifest.
    ///
    /// # Errors
    /// When the layout cannot be read.
    pub(crate) fn referrers(&self, digest: &str) -> Result<Vec<Descriptor>> {
        let subject = format!("sha256:{digest}");
        let mut found = Vec::new();
        for manifest in self.index()?.manifests {
            let Ok(bytes) = self.bytes(&manifest.sha256()?, LARGEST_MANIFEST) else { continue };
            let Ok(read) = Manifest::read(&bytes) else { continue };
            if read.subject.is_some_and(|of| of.digest == subject) {
                found.push(Descriptor { artifact_type: read.artifact_type, ..manifest });
            }
        }
        Ok(found)
    }

    /// Writes a package, under the reference's names.
    ///
    /// # Errors
    /// When the directory cannot be written, or is something else.
    pub(crate) fn push(&self, whole: &CompleteManifest, reference: Option<&Reference>) -> Result<()> {
        let mut descriptor = Descriptor::of(MANIFEST, &whole.manifest);
        if let Some((reference, tag)) = reference.and_then(|reference| Some((reference, reference.tag.as_ref()?))) {
            let name = format!("{}/{}:{tag}", reference.registry, reference.repository);
            descriptor.annotations.extend([(NAME.to_owned(), tag.clone()), (IMAGE.to_owned(), name)]);
        }
        self.put(whole, descriptor)
    }

    /// Writes what refers to another manifest.
    ///
    /// # Errors
    /// As `push`.
    pub(crate) fn attach(&self, whole: &CompleteManifest) -> Result<()> {
        self.put(whole, referrer(whole)?)
    }

    fn put(&self, whole: &CompleteManifest, descriptor: Descriptor) -> Result<()> {
        self.begin()?;
        for (blob, bytes) in &whole.blobs {
            self.write(&self.path(&blob.sha256()?), bytes)?;
        }
        self.write(&self.path(&whole.digest()), &whole.manifest)?;
        let mut index = self.index()?;
        // A tag belongs to one manifest.
        let same = |there: &Descriptor| {
            there.digest == descriptor.digest
                || descriptor.annotations.get(IMAGE).is_some_and(|name| there.annotations.get(IMAGE) == Some(name))
        };
        index.manifests.retain(|there| !same(there));
        index.manifests.push(descriptor);
        self.write(&self.directory.join("index.json"), &serde_json::to_vec_pretty(&index)?)
    }

    fn begin(&self) -> Result<()> {
        let mark = self.directory.join("oci-layout");
        if mark.exists() {
            return Ok(());
        }
        let blobs = self.directory.join("blobs/sha256");
        fs::create_dir_all(&blobs).with_context(|| blobs.display().to_string())?;
        let empty = serde_json::to_vec(&Index::new())?;
        self.write(&self.directory.join("index.json"), &empty)?;
        self.write(&mark, br#"{"imageLayoutVersion":"1.0.0"}"#)
    }

    fn index(&self) -> Result<Index> {
        let path = self.directory.join("index.json");
        let bytes = fs::read(&path).with_context(|| format!("{}: this is no OCI image layout", path.display()))?;
        Index::read(&bytes).with_context(|| format!("{} ({INDEX})", path.display()))
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.directory.join("blobs/sha256").join(digest)
    }

    fn bytes(&self, digest: &str, most: u64) -> Result<Vec<u8>> {
        let path = self.path(digest);
        let file = fs::File::open(&path).with_context(|| path.display().to_string())?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).with_context(|| path.display().to_string())?;
        Ok(bytes)
    }

    /// Whole, or not at all.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let part = self.directory.join(format!(".part-{}", std::process::id()));
        let written = fs::File::create(&part).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&part, path)
        });
        written.inspect_err(|_| drop(fs::remove_file(&part))).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{ComponentInfo, attached, package};

    fn reference(text: &str) -> Reference {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_written_is_found_by_name_tag_and_digest() {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::new(&directory.path().join("new"));
        assert!(
            layout.manifest(&reference("oci://r.example/a:1")).unwrap_err().to_string().contains("no OCI image layout")
        );
        let [one, two] = [b"one", b"two"].map(|bytes| package(bytes.to_vec(), &ComponentInfo::default()).unwrap());
        layout.push(&one, Some(&reference("oci://r.example/a:1"))).unwrap();
        layout.push(&two, Some(&reference("oci://r.example/b:2"))).unwrap();
        assert_eq!(layout.manifest(&reference("oci://r.example/a:1")).unwrap(), one.manifest);
        assert_eq!(layout.manifest(&reference("oci://mirror.example/x/b:2")).unwrap(), two.manifest);
        let pinned = format!("oci://r.example/a:9@sha256:{}", two.digest());
        assert_eq!(layout.manifest(&reference(&pinned)).unwrap(), two.manifest);
        assert!(layout.manifest(&reference("oci://r.example/a:3")).is_err());
        // The tag moves.
        layout.push(&two, Some(&reference("oci://r.example/a:1"))).unwrap();
        assert_eq!(layout.manifest(&reference("oci://r.example/a:1")).unwrap(), two.manifest);
    }

    #[test]
    fn what_refers_to_a_manifest_is_found_and_sizes_are_checked() {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::new(directory.path());
        let one = package(b"one".to_vec(), &ComponentInfo::default()).unwrap();
        layout.push(&one, Some(&reference("oci://r.example/a:1"))).unwrap();
        let subject = Descriptor::of(MANIFEST, &one.manifest);
        let bill = attached(subject, "text/x", b"bill".to_vec(), std::collections::BTreeMap::new()).unwrap();
        layout.attach(&bill).unwrap();
        let found = layout.referrers(&one.digest()).unwrap();
        assert_eq!((found.len(), found[0].artifact_type.as_deref()), (1, Some("text/x")));
        let (component, _) = &one.blobs[1];
        let mut had = Vec::new();
        layout
            .blob(component, |part| {
                had.extend_from_slice(part);
                Ok(())
            })
            .unwrap();
        assert_eq!(had, b"one");
        let short = Descriptor { size: 2, ..component.clone() };
        assert!(layout.blob(&short, |_| Ok(())).is_err());
    }
}
