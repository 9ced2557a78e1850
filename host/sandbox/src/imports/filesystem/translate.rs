//! The interface's words and handles, and ours. The engine's bindings name its own types of resources; a handle is a
//! number, and what the table has under it is ours.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};

use super::held::{Descriptor, Listing};
use drivebay_files::descriptors::{Advice, Identity, Kind, Moment, NewTime, Opening, Stat};

pub(super) fn outward(descriptor: &Resource<Descriptor>) -> Resource<types::Descriptor> {
    Resource::new_own(descriptor.rep())
}

pub(super) fn inward(descriptor: &Resource<types::Descriptor>) -> Resource<Descriptor> {
    Resource::new_own(descriptor.rep())
}

pub(super) fn outward_entries(entries: &Resource<Listing>) -> Resource<types::DirectoryEntryStream> {
    Resource::new_own(entries.rep())
}

pub(super) fn inward_entries(entries: &Resource<types::DirectoryEntryStream>) -> Resource<Listing> {
    Resource::new_own(entries.rep())
}

pub(super) fn follows(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}

/// Synchronous descriptors are not offered, as in the engine's implementation.
pub(super) fn opening(path: PathFlags, open: OpenFlags, flags: types::DescriptorFlags) -> Result<Opening, ErrorCode> {
    use types::DescriptorFlags as Flags;
    let synchronous = Flags::FILE_INTEGRITY_SYNC | Flags::DATA_INTEGRITY_SYNC | Flags::REQUESTED_WRITE_SYNC;
    if flags.intersects(synchronous) {
        return Err(ErrorCode::Unsupported);
    }
    Ok(Opening {
        follow: follows(path),
        create: open.contains(OpenFlags::CREATE),
        exclusive: open.contains(OpenFlags::EXCLUSIVE),
        truncate: open.contains(OpenFlags::TRUNCATE),
        directory: open.contains(OpenFlags::DIRECTORY),
        read: flags.contains(Flags::READ),
        write: flags.contains(Flags::WRITE),
    })
}

pub(super) const fn kind(kind: Kind) -> DescriptorType {
    match kind {
        Kind::Regular => DescriptorType::RegularFile,
        Kind::Directory => DescriptorType::Directory,
        Kind::Link => DescriptorType::SymbolicLink,
        Kind::BlockDevice => DescriptorType::BlockDevice,
        Kind::CharacterDevice => DescriptorType::CharacterDevice,
        Kind::Other => DescriptorType::Unknown,
    }
}

pub(super) fn stat(stat: Stat) -> DescriptorStat {
    let moment = |at: Moment| Datetime { seconds: at.seconds, nanoseconds: at.nanoseconds };
    DescriptorStat {
        type_: kind(stat.kind),
        link_count: stat.links,
        size: stat.size,
        data_access_timestamp: stat.accessed.map(moment),
        data_modification_timestamp: stat.modified.map(moment),
        status_change_timestamp: stat.changed.map(moment),
    }
}

/// Equal for one file and different for two, which is all that is promised; it tells nothing of the system's numbers.
pub(super) fn hash(identity: Identity) -> MetadataHashValue {
    use std::hash::{BuildHasher as _, RandomState};
    use std::sync::LazyLock;
    static KEYS: LazyLock<(RandomState, RandomState)> = LazyLock::new(Default::default);
    MetadataHashValue { lower: KEYS.0.hash_one(identity), upper: KEYS.1.hash_one(identity) }
}

pub(super) fn time(time: NewTimestamp) -> Result<NewTime, ErrorCode> {
    Ok(match time {
        NewTimestamp::NoChange => NewTime::Unchanged,
        NewTimestamp::Now => NewTime::Now,
        NewTimestamp::Timestamp(Datetime { seconds, nanoseconds }) => {
            let seconds = seconds.checked_add(u64::from(nanoseconds / 1_000_000_000));
            let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok()).ok_or(ErrorCode::Overflow)?;
            NewTime::At { seconds, nanoseconds: nanoseconds % 1_000_000_000 }
        }
    })
}

pub(super) const fn advice(advice: types::Advice) -> Advice {
    match advice {
        types::Advice::Normal => Advice::Normal,
        types::Advice::Sequential => Advice::Sequential,
        types::Advice::Random => Advice::Random,
        types::Advice::WillNeed => Advice::WillNeed,
        types::Advice::DontNeed => Advice::DontNeed,
        types::Advice::NoReuse => Advice::NoReuse,
    }
}
