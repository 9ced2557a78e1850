//! Looking for canaries: the forms in which one may stand, and programs that write down how they were
//! started. Makes no calls.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use tempfile::TempDir;

/// What every canary begins with, and nothing else in the world.
pub const STEM: &str = "c4n4ry~";

/// The stem as it stands in a text, also within something longer that was encoded as a whole.
fn forms() -> Vec<String> {
    let hexadecimal: String = STEM.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = STEM.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let mut forms = vec![STEM.to_owned(), hexadecimal.to_uppercase(), hexadecimal, percent.to_lowercase(), percent];
    for before in 0..3_usize {
        let padded = [vec![0; before], STEM.as_bytes().to_vec()].concat();
        // The digits that depend on the stem alone.
        let (from, to) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        forms.extend(
            [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)].map(|text| text[from..to].to_owned()),
        );
    }
    forms.push(STEM.bytes().map(|byte| format!("{byte}, ")).collect());
    forms
}

/// The first piece of a text that holds the stem.
pub fn found_in(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let at = forms().iter().find_map(|form| text.find(form.as_str()))?;
    Some(text.chars().skip(text[..at].chars().count().saturating_sub(80)).take(200).collect())
}

#[track_caller]
pub fn assert_clean(what: &str, bytes: &[u8]) {
    assert_eq!(found_in(bytes), None, "{what}");
}

/// Every program that makes or changes a file system, behind one that writes down how it was started
/// and by whom. It is on the `PATH` of the host and of its helper.
pub struct Programs {
    directory: TempDir,
    record: PathBuf,
}

impl Programs {
    const ALL: [&str; 12] = [
        "mkfs.ext4",
        "mkfs.xfs",
        "mkfs.btrfs",
        "e2fsck",
        "tune2fs",
        "resize2fs",
        "xfs_db",
        "xfs_repair",
        "xfs_growfs",
        "btrfstune",
        "btrfs",
        "mount",
    ];

    /// `place`: where those that the host starts may write, too.
    pub fn new(place: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let record = place.join("programs");
        std::fs::create_dir(directory.path().join("bin")).unwrap();
        let places = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(Path::new);
        for program in Self::ALL {
            let Some(real) = places.iter().map(|place| place.join(program)).find(|path| path.is_file()) else {
                continue;
            };
            let script = format!(
                "#!/bin/sh\n{{ echo \"started: $0 $*\"; cat /proc/$$/environ /proc/$$/cmdline /proc/$PPID/environ \
                 /proc/$PPID/cmdline; echo; }} >>{} 2>/dev/null\nexec {} \"$@\"\n",
                record.display(),
                real.display()
            );
            let path = directory.path().join("bin").join(program);
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        Self { directory, record }
    }

    pub fn path(&self) -> String {
        format!("{}:{}", self.directory.path().join("bin").display(), std::env::var("PATH").unwrap_or_default())
    }

    pub fn record(&self) -> Vec<u8> {
        std::fs::read(&self.record).unwrap()
    }
}

/// What is looked for is found in whatever form it stands.
#[test]
fn are_found_in_every_form() {
    let canary = format!("{STEM}7?>>?\u{ff}");
    for before in ["", "a", "ab", "abc"] {
        let whole = format!("{before}{canary}");
        assert!(found_in(STANDARD_NO_PAD.encode(&whole).as_bytes()).is_some(), "{before}");
        assert!(found_in(URL_SAFE_NO_PAD.encode(&whole).as_bytes()).is_some(), "{before}");
        let coded: String = whole.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(found_in(coded.as_bytes()).is_some() && found_in(coded.to_uppercase().as_bytes()).is_some());
        assert!(found_in(format!("{:?}", whole.as_bytes()).as_bytes()).is_some());
        let percent: String = whole.bytes().map(|byte| format!("%{byte:02X}")).collect();
        assert!(found_in(percent.as_bytes()).is_some() && found_in(format!("x {whole} y").as_bytes()).is_some());
    }
    assert_eq!(found_in(b"nothing of the kind: canary"), None);
}
