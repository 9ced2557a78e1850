//! The functions of `drivebay:host/mounts` and `attach` as methods, one per operation.
//!
//! Owns nothing: it folds arguments into a request and takes the expected answer out. Kept apart
//! from [`super::node`] so that the process and the vocabulary can be read one by one.

use super::node::Node;
use super::requests::unexpected;
use crate::error::NodeError;
use crate::protocol::{
    Access, Answer, BindSource, Caller, FREEZE_HOLD_MS, Health, LedgerEntry, Operation, Request, Secret, Share, Target,
    Usage,
};

/// What to mount where, as `mount-request` of the host's WIT types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountRequest {
    /// The volume's id.
    pub volume: String,
    /// A host path of the call under way.
    pub target: String,
    /// For example `ext4`.
    pub file_system: String,
    /// As in the client's request.
    pub options: Vec<String>,
    /// Whether it may be written to.
    pub access: Access,
}

/// Which share to mount where, as `share-request` of the host's WIT types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRequest {
    /// The volume's id.
    pub volume: String,
    /// Where the data are.
    pub share: Share,
    /// A host path of the call under way.
    pub target: String,
    /// As in the client's request.
    pub options: Vec<String>,
    /// Whether it may be written to.
    pub access: Access,
}

/// What to connect, as `connect-request` of the host's WIT types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The volume's id.
    pub volume: String,
    /// Where the disk is.
    pub target: Target,
    /// The disk's own name.
    pub identity: String,
    /// Whether it may be written to.
    pub access: Access,
}

impl Node {
    /// Makes a loop device for an image.
    pub async fn attach_image(
        &self,
        caller: &Caller,
        volume: &str,
        image: &str,
        access: Access,
    ) -> Result<(), NodeError> {
        let (volume, image) = (volume.to_owned(), image.to_owned());
        self.done(caller, Operation::AttachImage { volume, image, access }).await
    }

    /// Removes it.
    pub async fn detach_image(&self, caller: &Caller, volume: &str) -> Result<(), NodeError> {
        self.done(caller, Operation::DetachImage { volume: volume.to_owned() }).await
    }

    /// Gives the file system on the volume's device a UUID of its own.
    pub async fn renew_uuid(&self, caller: &Caller, volume: &str, file_system: &str) -> Result<(), NodeError> {
        let (volume, file_system) = (volume.to_owned(), file_system.to_owned());
        self.done(caller, Operation::RenewUuid { volume, file_system }).await
    }

    /// Mounts the file system on the volume's device.
    pub async fn mount_device(&self, caller: &Caller, request: MountRequest) -> Result<(), NodeError> {
        let MountRequest { volume, target, file_system, options, access } = request;
        let operation = Operation::MountDevice { volume, target, file_system, options, access };
        self.done(caller, operation).await
    }

    /// Mounts a share.
    pub async fn mount_share(&self, caller: &Caller, request: ShareRequest) -> Result<(), NodeError> {
        let ShareRequest { volume, share, target, options, access } = request;
        self.done(caller, Operation::MountShare { volume, share, target, options, access }).await
    }

    /// Connects a volume's disk.
    pub async fn connect(&self, caller: &Caller, request: ConnectRequest) -> Result<(), NodeError> {
        let ConnectRequest { volume, target, identity, access } = request;
        self.done(caller, Operation::Connect { volume, target, identity, access }).await
    }

    /// Takes it away.
    pub async fn disconnect(&self, caller: &Caller, volume: &str) -> Result<(), NodeError> {
        self.done(caller, Operation::Disconnect { volume: volume.to_owned() }).await
    }

    /// Makes the volume's connected, empty disk an encrypted one, and unlocks it.
    pub async fn encrypt(&self, caller: &Caller, volume: &str, passphrase: Secret) -> Result<(), NodeError> {
        self.done(caller, Operation::Encrypt { volume: volume.to_owned(), passphrase }).await
    }

    /// Unlocks the volume's connected, encrypted disk.
    pub async fn unlock(&self, caller: &Caller, volume: &str, passphrase: Secret) -> Result<(), NodeError> {
        self.done(caller, Operation::Unlock { volume: volume.to_owned(), passphrase }).await
    }

    /// Exchanges a passphrase of the volume's connected, encrypted disk.
    pub async fn change_passphrase(
        &self,
        caller: &Caller,
        volume: &str,
        old: Secret,
        new: Secret,
    ) -> Result<(), NodeError> {
        self.done(caller, Operation::ChangePassphrase { volume: volume.to_owned(), old, new }).await
    }

    /// Makes a file system on the volume's connected, empty device.
    pub async fn make_file_system(&self, caller: &Caller, volume: &str, file_system: &str) -> Result<(), NodeError> {
        let (volume, file_system) = (volume.to_owned(), file_system.to_owned());
        self.done(caller, Operation::MakeFileSystem { volume, file_system }).await
    }

    /// How a connected volume is.
    pub async fn get_health(&self, caller: &Caller, volume: &str) -> Result<Health, NodeError> {
        let answer = self.ask(caller, Operation::GetHealth { volume: volume.to_owned() }).await?;
        if let Answer::Health(health) = answer { Ok(health) } else { Err(unexpected(&answer)) }
    }

    /// Shows a directory or file a second time.
    pub async fn bind(
        &self,
        caller: &Caller,
        volume: &str,
        source: BindSource,
        target: &str,
        access: Access,
    ) -> Result<(), NodeError> {
        let (volume, target) = (volume.to_owned(), target.to_owned());
        self.done(caller, Operation::Bind { volume, source, target, access }).await
    }

    /// Shows the volume's device as a device node.
    pub async fn publish_device(
        &self,
        caller: &Caller,
        volume: &str,
        target: &str,
        access: Access,
    ) -> Result<(), NodeError> {
        let (volume, target) = (volume.to_owned(), target.to_owned());
        self.done(caller, Operation::PublishDevice { volume, target, access }).await
    }

    /// Undoes what stands at the path for this volume.
    pub async fn unmount(&self, caller: &Caller, volume: &str, target: &str) -> Result<(), NodeError> {
        let (volume, target) = (volume.to_owned(), target.to_owned());
        self.done(caller, Operation::Unmount { volume, target }).await
    }

    /// Changes a mount between writable and read-only.
    pub async fn set_access(
        &self,
        caller: &Caller,
        volume: &str,
        target: &str,
        access: Access,
    ) -> Result<(), NodeError> {
        let (volume, target) = (volume.to_owned(), target.to_owned());
        self.done(caller, Operation::SetAccess { volume, target, access }).await
    }

    /// Takes up the image's present size; returns the device's size in bytes.
    pub async fn grow(&self, caller: &Caller, volume: &str) -> Result<u64, NodeError> {
        bytes(&self.ask(caller, Operation::Grow { volume: volume.to_owned() }).await?)
    }

    /// Gives unused blocks back; returns how many bytes.
    pub async fn trim(&self, caller: &Caller, volume: &str) -> Result<u64, NodeError> {
        bytes(&self.ask(caller, Operation::Trim { volume: volume.to_owned() }).await?)
    }

    /// Holds all writes until [`Self::thaw`], at most [`FREEZE_HOLD_MS`].
    pub async fn freeze(&self, caller: &Caller, volume: &str) -> Result<(), NodeError> {
        let operation = Operation::Freeze { volume: volume.to_owned(), hold_ms: FREEZE_HOLD_MS };
        self.done(caller, operation).await
    }

    /// Lets writes go on.
    pub async fn thaw(&self, caller: &Caller, volume: &str) -> Result<(), NodeError> {
        self.done(caller, Operation::Thaw { volume: volume.to_owned() }).await
    }

    /// Usage of what is at the path.
    pub async fn get_usage(&self, caller: &Caller, volume: &str, path: &str) -> Result<Vec<Usage>, NodeError> {
        let (volume, path) = (volume.to_owned(), path.to_owned());
        let answer = self.ask(caller, Operation::GetUsage { volume, path }).await?;
        if let Answer::Usage(usage) = answer { Ok(usage) } else { Err(unexpected(&answer)) }
    }

    /// Gives the mounted root directory to a group.
    pub async fn set_group(&self, caller: &Caller, volume: &str, target: &str, group: u32) -> Result<(), NodeError> {
        let (volume, target) = (volume.to_owned(), target.to_owned());
        self.done(caller, Operation::SetGroup { volume, target, group }).await
    }

    /// What the ledger holds for a volume, or for all of the backend's.
    pub async fn list_entries(&self, caller: &Caller, volume: Option<&str>) -> Result<Vec<LedgerEntry>, NodeError> {
        let operation = Operation::ListEntries { volume: volume.map(str::to_owned) };
        let answer = self.ask(caller, operation).await?;
        if let Answer::Entries(entries) = answer { Ok(entries) } else { Err(unexpected(&answer)) }
    }

    pub(super) async fn ask(&self, caller: &Caller, operation: Operation) -> Result<Answer, NodeError> {
        self.request(Request { caller: caller.clone(), operation }).await
    }

    pub(super) async fn done(&self, caller: &Caller, operation: Operation) -> Result<(), NodeError> {
        let answer = self.ask(caller, operation).await?;
        if answer == Answer::Done { Ok(()) } else { Err(unexpected(&answer)) }
    }
}

fn bytes(answer: &Answer) -> Result<u64, NodeError> {
    if let Answer::Bytes(bytes) = answer { Ok(*bytes) } else { Err(unexpected(answer)) }
}
