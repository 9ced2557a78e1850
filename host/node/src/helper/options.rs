//! Mount options: the ones that are let through, and what they become.
//!
//! An allow-list, because an option may make a node panic, show another user's files or run
//! programs of an image. It must not put an option's text into an error: options can hold secrets.
//! Devices and set-user-id programs of an image are its backend's, so they are forbidden unless the client asks for
//! them and the operator lets it. What an ext4 does when it finds an error is never left to the image, which may say
//! `panic`.

use rustix::mount::MountAttrFlags;

use crate::error::{ErrorCode, NodeError};
use crate::permissions::MountOption;
use crate::protocol::Access;

/// The file systems that are mounted from images.
pub(crate) const FILE_SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];

/// What may follow an option's name.
#[derive(Debug, Clone, Copy)]
enum Value {
    None,
    Number,
    OneOf(&'static [&'static str]),
    /// With or without one of these.
    Maybe(&'static [&'static str]),
    /// A label of `SELinux`, perhaps in quotes.
    Label,
}

use Value::{Label, Maybe, None as Plain, Number, OneOf};

/// The label that files shall have, which clients of nodes with `SELinux` ask for.
const CONTEXT: &str = "context";
/// Longer than any label, in bytes.
const LONGEST_LABEL: usize = 1024;

/// Of every mount.
const EVERY: &[(&str, Value)] = &[(CONTEXT, Label), ("sync", Plain)];

/// Of every file system on a device.
const COMMON: &[(&str, Value)] = &[
    ("dirsync", Plain),
    ("lazytime", Plain),
    ("barrier", Maybe(&["0", "1"])),
    ("nobarrier", Plain),
    ("nodiscard", Plain),
];

const EXT4: &[(&str, Value)] = &[
    ("acl", Plain),
    ("auto_da_alloc", Plain),
    ("commit", Number),
    ("data", OneOf(&["journal", "ordered", "writeback"])),
    ("delalloc", Plain),
    ("discard", Plain),
    ("errors", OneOf(&["continue", "remount-ro"])),
    ("init_itable", Number),
    ("inode_readahead_blks", Number),
    ("journal_checksum", Plain),
    ("max_batch_time", Number),
    ("min_batch_time", Number),
    ("noacl", Plain),
    ("noauto_da_alloc", Plain),
    ("nodelalloc", Plain),
    ("noinit_itable", Plain),
    ("noload", Plain),
    ("norecovery", Plain),
    ("stripe", Number),
    ("user_xattr", Plain),
];

const XFS: &[(&str, Value)] = &[
    ("allocsize", Number),
    ("discard", Plain),
    ("inode32", Plain),
    ("inode64", Plain),
    ("largeio", Plain),
    ("logbsize", Number),
    ("logbufs", Number),
    ("noalign", Plain),
    ("nolargeio", Plain),
    ("norecovery", Plain),
    ("nouuid", Plain),
    ("sunit", Number),
    ("swalloc", Plain),
    ("swidth", Number),
    ("wsync", Plain),
];

const COMPRESSION: &[&str] = &["zlib", "lzo", "zstd", "no", "none"];

const BTRFS: &[(&str, Value)] = &[
    ("acl", Plain),
    ("autodefrag", Plain),
    ("commit", Number),
    ("compress", Maybe(COMPRESSION)),
    ("compress-force", Maybe(COMPRESSION)),
    ("datacow", Plain),
    ("datasum", Plain),
    ("discard", Maybe(&["sync", "async"])),
    ("flushoncommit", Plain),
    ("max_inline", Number),
    ("noacl", Plain),
    ("noautodefrag", Plain),
    ("nodatacow", Plain),
    ("nodatasum", Plain),
    ("noflushoncommit", Plain),
    ("nospace_cache", Plain),
    ("nossd", Plain),
    ("space_cache", Maybe(&["v1", "v2"])),
    ("ssd", Plain),
    ("ssd_spread", Plain),
    ("thread_pool", Number),
];

/// What may be asked of a share. Not among them: ports and addresses, which are the grant's, and `bg`, which mounts
/// when nobody looks any more.
const NFS: &[(&str, Value)] = &[
    ("ac", Plain),
    ("acdirmax", Number),
    ("acdirmin", Number),
    ("acregmax", Number),
    ("acregmin", Number),
    ("actimeo", Number),
    ("cto", Plain),
    ("hard", Plain),
    ("intr", Plain),
    ("local_lock", OneOf(&["all", "flock", "posix", "none"])),
    ("lock", Plain),
    ("lookupcache", OneOf(&["all", "none", "pos", "positive"])),
    ("max_connect", Number),
    ("nconnect", Number),
    ("nfsvers", OneOf(NFS_VERSIONS)),
    ("noac", Plain),
    ("noacl", Plain),
    ("nocto", Plain),
    ("nolock", Plain),
    ("noresvport", Plain),
    ("nosharecache", Plain),
    ("proto", OneOf(&["tcp", "tcp6", "rdma", "rdma6"])),
    ("rdirplus", Plain),
    ("resvport", Plain),
    ("retrans", Number),
    ("rsize", Number),
    ("sec", OneOf(&["sys", "krb5", "krb5i", "krb5p"])),
    ("sharecache", Plain),
    ("soft", Plain),
    ("softerr", Plain),
    ("softreval", Plain),
    ("tcp", Plain),
    ("timeo", Number),
    ("vers", OneOf(NFS_VERSIONS)),
    ("wsize", Number),
];
const NFS_VERSIONS: &[&str] = &["3", "4", "4.0", "4.1", "4.2"];

/// Options, sorted by who is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountPlan {
    /// Of this mount alone.
    pub(crate) attributes: MountAttrFlags,
    /// Of the file system: name and value.
    pub(crate) parameters: Vec<(String, Option<String>)>,
    /// After `ro` among the options was taken into account.
    pub(crate) access: Access,
}

/// What a mount forbids unless it is asked for and allowed.
pub(crate) const FORBIDDEN: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

/// Checks and sorts the options, some of which the operator must have `allowed`.
pub(crate) fn plan(
    file_system: &str,
    options: &[String],
    access: Access,
    allowed: &[MountOption],
) -> Result<MountPlan, NodeError> {
    let specific = match file_system {
        "ext4" => EXT4,
        "xfs" => XFS,
        "btrfs" => BTRFS,
        _ => {
            let message = format!("only {} can be mounted", FILE_SYSTEMS.join(", "));
            return Err(NodeError::new(ErrorCode::Unsupported, message));
        }
    };
    let mut plan = MountPlan::new(access);
    plan.take_all(file_system, &[COMMON, specific], options, allowed)?;
    if file_system == "ext4" && plan.parameters.iter().all(|(name, _)| name != "errors") {
        plan.parameters.push(("errors".to_owned(), Some("remount-ro".to_owned())));
    }
    plan.finish();
    Ok(plan)
}

/// As [`plan`], for a share of an NFS server.
pub(crate) fn plan_share(options: &[String], access: Access, allowed: &[MountOption]) -> Result<MountPlan, NodeError> {
    let mut plan = MountPlan::new(access);
    plan.take_all("nfs", &[NFS], options, allowed)?;
    plan.finish();
    Ok(plan)
}

/// One string may hold several options, as on the command line; a comma in quotes belongs to a value.
fn split(options: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    options.split(move |letter| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    })
}

/// Which option it was stays unsaid: it may be a secret in the wrong place.
fn refused(file_system: &str) -> NodeError {
    let message = format!("one of the mount options is not among those allowed for {file_system}");
    NodeError::new(ErrorCode::Invalid, message)
}

impl MountPlan {
    const fn new(access: Access) -> Self {
        Self { attributes: FORBIDDEN, parameters: Vec::new(), access }
    }

    /// Takes the options that these tables know.
    fn take_all(
        &mut self,
        file_system: &str,
        tables: &[&[(&str, Value)]],
        options: &[String],
        allowed: &[MountOption],
    ) -> Result<(), NodeError> {
        for option in options.iter().flat_map(|options| split(options)) {
            if self.take_forbidden(option, allowed)? || self.take_attribute(option) {
                continue;
            }
            let (name, value) = option.split_once('=').map_or((option, None), |(n, v)| (n, Some(v)));
            let mut known = tables.iter().copied().flatten().chain(EVERY);
            if !known.any(|(known, form)| *known == name && form.admits(value)) {
                return Err(refused(file_system));
            }
            let value = value.map(|value| value.trim_matches('"').to_owned());
            self.parameters.push((name.to_owned(), value));
        }
        Ok(())
    }

    fn finish(&mut self) {
        if self.access == Access::ReadOnly {
            self.attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY;
            self.parameters.push(("ro".to_owned(), None));
        }
    }

    /// Takes an option that lets go what is forbidden otherwise, or forbids it again.
    fn take_forbidden(&mut self, option: &str, allowed: &[MountOption]) -> Result<bool, NodeError> {
        let (flag, what) = match option {
            "suid" | "nosuid" => (MountAttrFlags::MOUNT_ATTR_NOSUID, MountOption::Suid),
            "dev" | "nodev" => (MountAttrFlags::MOUNT_ATTR_NODEV, MountOption::Dev),
            _ => return Ok(false),
        };
        if option.starts_with("no") {
            self.attributes |= flag;
        } else if allowed.contains(&what) {
            self.attributes.remove(flag);
        } else {
            let message = format!(
                "the mount option {option} is not allowed for this backend; to allow it, grant mount-options = [\"{option}\"]"
            );
            return Err(NodeError::new(ErrorCode::NotGranted, message));
        }
        Ok(true)
    }

    fn take_attribute(&mut self, option: &str) -> bool {
        let atime = MountAttrFlags::MOUNT_ATTR__ATIME;
        match option {
            // The kernel's defaults, or decided by the access.
            "" | "defaults" | "rw" | "exec" | "atime" | "diratime" => {}
            "ro" => self.access = Access::ReadOnly,
            "relatime" => self.attributes.remove(atime),
            "noatime" | "strictatime" => {
                self.attributes.remove(atime);
                self.attributes |= match option {
                    "noatime" => MountAttrFlags::MOUNT_ATTR_NOATIME,
                    _ => MountAttrFlags::MOUNT_ATTR_STRICTATIME,
                };
            }
            "nodiratime" => self.attributes |= MountAttrFlags::MOUNT_ATTR_NODIRATIME,
            "noexec" => self.attributes |= MountAttrFlags::MOUNT_ATTR_NOEXEC,
            _ => return false,
        }
        true
    }
}

impl Value {
    fn admits(self, value: Option<&str>) -> bool {
        match (self, value) {
            (Plain | Maybe(_), None) => true,
            (Number, Some(value)) => is_number(value),
            (Label, Some(value)) => is_label(value),
            (OneOf(values) | Maybe(values), Some(value)) => {
                // Compression levels: `zstd:3`.
                let (word, level) = value.split_once(':').unwrap_or((value, "0"));
                values.contains(&word) && is_number(level)
            }
            (Plain, Some(_)) | (Number | OneOf(_) | Label, None) => false,
        }
    }
}

/// A label of `SELinux`, whose categories have commas: with those it stands in quotes.
fn is_label(value: &str) -> bool {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:,".contains(&byte);
    (1..=LONGEST_LABEL).contains(&inner.len()) && inner.bytes().all(known)
}

/// Digits, with a suffix for sizes (`256k`).
fn is_number(value: &str) -> bool {
    let digits = value.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    value.len() - digits.len() <= 1
        && (1..=10).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}
