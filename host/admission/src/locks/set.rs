//! What a call locks. Owns the naming of lockable objects; knows nothing of who holds what.

use std::fmt;

use super::Access;

/// What a key names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A volume id.
    Volume,
    /// The name of a volume that is being created.
    VolumeName,
    /// A snapshot id.
    Snapshot,
    /// The name of a snapshot that is being created.
    SnapshotName,
    /// A group snapshot id.
    GroupSnapshot,
    /// The name of a group snapshot that is being created.
    GroupSnapshotName,
    /// A volume group id.
    VolumeGroup,
    /// The name of a volume group that is being created.
    VolumeGroupName,
    /// The list of fenced networks of the backend.
    Fences,
}

impl ObjectKind {
    const fn words(self) -> &'static str {
        match self {
            Self::Volume => "volume",
            Self::VolumeName => "volume name",
            Self::Snapshot => "snapshot",
            Self::SnapshotName => "snapshot name",
            Self::GroupSnapshot => "group snapshot",
            Self::GroupSnapshotName => "group snapshot name",
            Self::VolumeGroup => "volume group",
            Self::VolumeGroupName => "volume group name",
            Self::Fences => "network fences",
        }
    }
}

/// One lockable object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// What the id names.
    pub kind: ObjectKind,
    /// The id or name; empty for `Fences`.
    pub id: Box<str>,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ObjectKind::Fences => f.write_str(self.kind.words()),
            kind => write!(f, "{} \"{}\"", kind.words(), self.id.escape_debug()),
        }
    }
}

/// The objects that one call locks, each once: an exclusive wish wins over a shared one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockSet(Vec<(ObjectKey, Access)>);

impl LockSet {
    /// No locks: a call that only reads.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Adds an object that the call changes. An empty id names nothing and is left out (the checks
    /// refuse it elsewhere).
    #[must_use]
    pub fn exclusive(self, kind: ObjectKind, id: &str) -> Self {
        self.with(kind, id, Access::Exclusive)
    }

    /// Adds an object that the call reads from.
    #[must_use]
    pub fn shared(self, kind: ObjectKind, id: &str) -> Self {
        self.with(kind, id, Access::Shared)
    }

    /// Adds an object. Kinds without an id (fences) are always added.
    #[must_use]
    pub fn with(mut self, kind: ObjectKind, id: &str, access: Access) -> Self {
        if id.is_empty() && kind != ObjectKind::Fences {
            return self;
        }
        let key = ObjectKey { kind, id: id.into() };
        match self.0.iter_mut().find(|(have, _)| *have == key) {
            Some((_, have)) => *have = (*have).max(access),
            None => self.0.push((key, access)),
        }
        self
    }

    /// The shared wishes, and the exclusive ones.
    pub fn split(self) -> (Self, Self) {
        let (shared, exclusive) = self.0.into_iter().partition(|(_, access)| *access == Access::Shared);
        (Self(shared), Self(exclusive))
    }

    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The objects and how they are used.
    pub fn iter(&self) -> impl Iterator<Item = &(ObjectKey, Access)> {
        self.0.iter()
    }
}

impl IntoIterator for LockSet {
    type Item = (ObjectKey, Access);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
