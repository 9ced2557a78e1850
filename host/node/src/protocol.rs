//! What the host and the helper say to each other, as typed frames, and the few words for the launcher.
//!
//! Owns the words only: no I/O and no decisions. Both ends are the same binary, so the frames need
//! no compatibility; they are JSON because a trace of them must be readable.

mod storage;

use serde::{Deserialize, Serialize};

use crate::error::NodeError;
use crate::permissions::{Mandate, Permissions};
use crate::visible::Visible;

pub use storage::{Chap, DhChap, Health, IscsiTarget, Login, NfsShare, NvmeTcpTarget, Secret, Share, Target};

/// How long a freeze holds unless it is thawed before, in milliseconds.
pub const FREEZE_HOLD_MS: u64 = 30_000;

/// A request to the launcher: start a helper with the two descriptors that come along.
pub(super) const START_HELPER: &[u8] = b"start";
/// Another one: show what is to be seen now. The first time the answer comes with the namespace in which it is shown.
pub(super) const SHOW: &[u8] = b"show";
/// The launcher's longest answer in bytes: a number, or words.
pub(super) const LONGEST_LAUNCH_ANSWER: usize = 1024;

/// What the launcher is told at its start, once.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Order {
    /// What its helpers may do.
    pub(super) mandate: Mandate,
    /// What the process that runs guests is to see.
    pub(super) visible: Vec<Visible>,
}

/// Whether something may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Reading and writing.
    ReadWrite,
    /// Reading only.
    ReadOnly,
}

/// What a line of the ledger is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// A block device: a loop device on an image, or a connected disk.
    Device,
    /// A mounted file system.
    Mount,
    /// A bind mount of a directory or file.
    Bind,
    /// A device node that a workload sees.
    Block,
    /// A frozen file system.
    Freeze,
}

/// Which field of the request a host path came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathRole {
    /// The staging path: the client makes and removes it.
    Staging,
    /// The target path of a publish or unpublish: made by the driver, which must remove it.
    Target,
    /// Any other, for example the volume path of a statistics call: neither made nor removed.
    Other,
}

/// A host path of the call under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallPath {
    /// Where in the request it stood.
    pub role: PathRole,
    /// Absolute and normalised.
    pub path: String,
}

/// On whose behalf a request is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The operator's name of the backend.
    pub backend: String,
    /// The id of the call under way.
    pub call: String,
    /// The ids of the volumes that this call names; empty for background steps and recovery.
    pub volumes: Vec<String>,
    /// The host paths that this call carries; empty for background steps and recovery.
    pub paths: Vec<CallPath>,
}

/// Where the data of a bind mount come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BindSource {
    /// A path of the call under way at which this volume is mounted.
    Mounted(String),
    /// A directory or file in a granted directory, by the component's own path.
    Granted(String),
}

/// Whether a publication is a stage or a publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublicationKind {
    /// From a stage call.
    Stage,
    /// From a publish call.
    Publish,
}

/// A stage or publish that was acknowledged to the client; the host decides repeats from these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// The volume's id.
    pub volume: String,
    /// Stage or publish.
    pub kind: PublicationKind,
    /// The staging or target path.
    pub path: String,
    /// The host's digest of the arguments that a repeat must match.
    pub fingerprint: String,
    /// The access mode's name.
    pub access_mode: String,
    /// Whether it was asked for read-only.
    pub readonly: bool,
}

/// What usage is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsageUnit {
    /// Bytes.
    Bytes,
    /// Inodes.
    Inodes,
}

/// How full a volume is, in one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Free for unprivileged writers; 0 for a raw device, of which it is not known.
    pub available: u64,
    /// All there is.
    pub total: u64,
    /// In use; 0 for a raw device, of which it is not known.
    pub used: u64,
    /// The unit of the three.
    pub unit: UsageUnit,
}

/// One line of the ledger, as the host and backends see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The backend that it was made for.
    pub backend: String,
    /// The volume that it belongs to.
    pub volume: String,
    /// What it is.
    pub kind: EntryKind,
    /// The host path that it stands at; for a device, its name.
    pub path: String,
    /// Whether it can be written to.
    pub access: Access,
}

/// An entry that recovery could not undo, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unresolved {
    /// The entry; it stays in the ledger.
    pub entry: LedgerEntry,
    /// What the system answered.
    pub reason: String,
}

/// What recovery did, for the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryReport {
    /// Acknowledged and still there: not touched.
    pub kept: Vec<LedgerEntry>,
    /// Not acknowledged: undone.
    pub undone: Vec<LedgerEntry>,
    /// No longer there, for example after a reboot: struck out.
    pub vanished: Vec<LedgerEntry>,
    /// Not acknowledged, but the system would not let go of them.
    pub unresolved: Vec<Unresolved>,
}

/// How much the helper holds, for status and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Entries in the ledger.
    pub entries: u64,
    /// Acknowledged stages and publishes.
    pub publications: u64,
    /// File systems that are frozen now.
    pub frozen: u64,
    /// Size of the ledger's file in bytes.
    pub journal_bytes: u64,
}

/// A request to the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// On whose behalf.
    pub caller: Caller,
    /// What to do.
    pub operation: Operation,
}

/// Everything that the helper can do: the functions of `drivebay:host/mounts` and `attach`, then the host's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the fields are those of the WIT functions that the variants are named after")]
pub enum Operation {
    /// Makes a loop device for an image (the component's path) and binds it to the volume.
    AttachImage { volume: String, image: String, access: Access },
    /// Removes it.
    DetachImage { volume: String },
    /// Gives the file system on the volume's unmounted device a UUID of its own.
    RenewUuid { volume: String, file_system: String },
    /// Mounts the file system on the volume's device.
    MountDevice { volume: String, target: String, file_system: String, options: Vec<String>, access: Access },
    /// Mounts a share.
    MountShare { volume: String, share: Share, target: String, options: Vec<String>, access: Access },
    /// Connects a volume's disk, which then is its device.
    Connect { volume: String, target: Target, identity: String, access: Access },
    /// Takes it away.
    Disconnect { volume: String },
    /// Makes the volume's connected, empty disk an encrypted one, and unlocks it.
    Encrypt { volume: String, passphrase: Secret },
    /// Unlocks the volume's connected, encrypted disk.
    Unlock { volume: String, passphrase: Secret },
    /// Exchanges a passphrase of the volume's connected, encrypted disk.
    ChangePassphrase { volume: String, old: Secret, new: Secret },
    /// Makes a file system on the volume's connected, empty device.
    MakeFileSystem { volume: String, file_system: String },
    /// Answers [`Answer::Health`].
    GetHealth { volume: String },
    /// Shows a directory or file a second time.
    Bind { volume: String, source: BindSource, target: String, access: Access },
    /// Shows the volume's device as a device node.
    PublishDevice { volume: String, target: String, access: Access },
    /// Undoes what stands at the path for this volume.
    Unmount { volume: String, target: String },
    /// Changes a mount between writable and read-only.
    SetAccess { volume: String, target: String, access: Access },
    /// Takes up the image's present size. Answers [`Answer::Bytes`]: the device's size.
    Grow { volume: String },
    /// Gives unused blocks back. Answers [`Answer::Bytes`]: how many.
    Trim { volume: String },
    /// Holds all writes, for at most `hold_ms` milliseconds.
    Freeze { volume: String, hold_ms: u64 },
    /// Lets writes go on.
    Thaw { volume: String },
    /// Answers [`Answer::Usage`].
    GetUsage { volume: String, path: String },
    /// Gives the root directory to a group.
    SetGroup { volume: String, target: String, group: u32 },
    /// Answers [`Answer::Entries`] of the caller's backend, or of one volume of it.
    ListEntries { volume: Option<String> },
    /// Reads what the operator allows the caller's backend by now, in the operator's own configuration. Answers
    /// [`Answer::Permitted`].
    Reread,
    /// The call was answered with success: what it stands on is kept from now on.
    Acknowledge { publication: Option<Publication> },
    /// The call failed: undoes what it made, and leaves what it found.
    Abandon,
    /// Strikes a publication after its undoing was acknowledged.
    Forget { volume: String, path: String },
    /// Answers [`Answer::Publications`] of the caller's backend, or of one volume of it.
    Publications { volume: Option<String> },
    /// Compares ledger and system, and undoes what was not acknowledged. For all backends.
    Recover,
    /// Answers [`Answer::Load`].
    Load,
}

/// What the helper answers when it did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Nothing to say.
    Done,
    /// A size in bytes.
    Bytes(u64),
    /// Usage, bytes first.
    Usage(Vec<Usage>),
    /// How a connected volume is.
    Health(Health),
    /// Lines of the ledger, oldest first.
    Entries(Vec<LedgerEntry>),
    /// Stages and publishes.
    Publications(Vec<Publication>),
    /// What recovery did.
    Recovered(RecoveryReport),
    /// What the helper holds.
    Load(Load),
    /// What the backend may do from now on.
    Permitted(Permissions),
}

/// A request with the id that its reply will carry.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Numbered {
    pub(super) id: u64,
    pub(super) request: Request,
}

/// The helper's reply. One with the id 0 is no reply: the helper says why it cannot begin.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) id: u64,
    pub(super) result: Result<Answer, NodeError>,
}
