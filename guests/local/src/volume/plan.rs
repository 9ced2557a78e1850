//! What a request for a volume comes to: content, size and steps, or why it is impossible.
//!
//! Pure: the source and the available file systems are arguments. It also decides whether an existing volume is what a
//! repeated request asks for.

use drivebay_sdk::types::VolumeCapability;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::{Content, Kind, Reserve, SnapshotRecord, Uuid, VolumeRecord};

use super::fit;
use super::wish::Wish;
use crate::settings::Settings;
use crate::sizes::{self, Floor};

/// The file system of an image when nobody names one.
const DEFAULT_FILE_SYSTEM: &str = "ext4";

/// What a new volume is copied from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) content: Content,
    pub(crate) bytes: u64,
    pub(crate) asked_bytes: u64,
    pub(crate) file_system_bytes: u64,
}

impl From<&VolumeRecord> for Origin {
    fn from(record: &VolumeRecord) -> Self {
        Self {
            content: record.content.clone(),
            bytes: record.capacity_bytes,
            asked_bytes: record.asked_bytes,
            file_system_bytes: record.file_system_bytes,
        }
    }
}

impl From<&SnapshotRecord> for Origin {
    fn from(record: &SnapshotRecord) -> Self {
        Self {
            content: record.content.clone(),
            bytes: record.size_bytes,
            asked_bytes: record.asked_bytes,
            file_system_bytes: record.file_system_bytes,
        }
    }
}

/// A file system that can be made, and the smallest image for it in bytes.
pub(crate) type Offered = (String, u64);

/// A volume that can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) content: Content,
    pub(crate) bytes: u64,
    pub(crate) asked_bytes: u64,
    pub(crate) file_system_bytes: u64,
    pub(crate) uuid: Uuid,
    pub(crate) reserve: Reserve,
}

/// Decides. `invalid-argument`: the wishes contradict each other or the source; `out-of-range`: no
/// size fits.
pub(crate) fn decide(wish: &Wish<'_>, origin: Option<&Origin>, offered: &[Offered]) -> Result<Plan> {
    let content = content(wish, origin)?;
    fit::check_all(&content, wish.capabilities)
        .map_err(|why| Error::invalid_argument(format!("the volume cannot be used as asked: {why}")))?;
    let reserve = wish.options.reserve.unwrap_or_default();
    if reserve == Reserve::Full && content == Content::Directory {
        return Err(Error::invalid_argument(NO_RESERVE));
    }
    let (floor, default) = match origin {
        Some(origin) => (of_source(wish, origin)?, origin.bytes),
        None => (of_content(&content, offered)?, wish.default_bytes),
    };
    let bytes = sizes::choose(wish.range, &floor, default)?;
    Ok(Plan {
        uuid: match (&content, origin) {
            (Content::FileSystem(_), Some(_)) => Uuid::Copied,
            _ => Uuid::Own,
        },
        file_system_bytes: origin.map_or(bytes, |origin| origin.file_system_bytes),
        asked_bytes: wish.range.and_then(|range| range.required_bytes).unwrap_or_default(),
        content,
        bytes,
        reserve,
    })
}

/// Why a directory cannot have `reserve` = full.
pub(crate) const NO_RESERVE: &str = "parameter reserve: a directory has no blocks of its own to set aside";

/// Whether an existing volume is what a repeated request asks for. `already-exists`: it is not.
pub(crate) fn check_same(record: &VolumeRecord, wish: &Wish<'_>, settings: &Settings) -> Result<()> {
    let options = &wish.options;
    let difference = if options.kind.is_some_and(|kind| kind != record.content.kind()) {
        Some(format!("it is {}", record.content))
    } else if options.reserve.is_some_and(|reserve| reserve != record.reserve) {
        Some("it has another value of reserve".to_owned())
    } else if wish.range.is_some_and(|range| !range.contains(record.capacity_bytes)) {
        Some(format!("it has {} bytes", record.capacity_bytes))
    } else if wish.source != record.source {
        Some("it was made from another source".to_owned())
    } else if !settings.satisfies(wish.requirement) {
        Some("it lies in another topology".to_owned())
    } else {
        fit::check_all(&record.content, wish.capabilities).err()
    };
    match difference {
        None => Ok(()),
        Some(difference) => {
            Err(Error::already_exists(format!("volume {} has this name and differs: {difference}", record.id))
                .with_reason(Reason::Incompatible))
        }
    }
}

fn content(wish: &Wish<'_>, origin: Option<&Origin>) -> Result<Content> {
    let kind = match (wish.options.kind, origin) {
        (Some(kind), Some(origin)) if kind != origin.content.kind() => {
            return Err(Error::invalid_argument(format!(
                "the source is {}: parameter kind must be {} or absent",
                origin.content,
                origin.content.kind().as_str()
            )));
        }
        (Some(kind), _) => kind,
        (None, Some(origin)) => origin.content.kind(),
        (None, None) => Kind::Image,
    };
    let wanted = match kind {
        Kind::Directory => Content::Directory,
        Kind::Image => image_content(wish.capabilities, origin),
    };
    match origin {
        Some(origin) if origin.content != wanted => Err(Error::invalid_argument(format!(
            "the source holds {} and the volume cannot become {wanted}",
            origin.content
        ))),
        _ => Ok(wanted),
    }
}

fn image_content(capabilities: &[VolumeCapability], origin: Option<&Origin>) -> Content {
    if capabilities.iter().any(VolumeCapability::is_block) {
        return Content::Block;
    }
    let mut mounts = capabilities.iter().filter_map(VolumeCapability::mount);
    let asked = mounts.find_map(fit::asked_file_system);
    let copied = origin.and_then(|origin| origin.content.file_system());
    Content::FileSystem(asked.or(copied).unwrap_or(DEFAULT_FILE_SYSTEM).to_owned())
}

/// A copy is as large as its source. A request for less than the source's owner asked for is a mistake, so it is
/// refused and not rounded up.
fn of_source(wish: &Wish<'_>, origin: &Origin) -> Result<Floor> {
    let required = wish.range.and_then(|range| range.required_bytes).filter(|bytes| *bytes > 0);
    let asked = if origin.asked_bytes == 0 { origin.bytes } else { origin.asked_bytes };
    if required.is_some_and(|required| required < asked.min(origin.bytes)) {
        return Err(Error::out_of_range(format!("the minimum is {} bytes, the size of the source", origin.bytes))
            .with_reason(Reason::TooSmall));
    }
    Ok(Floor { bytes: origin.bytes, what: "a copy of this source".to_owned() })
}

fn of_content(content: &Content, offered: &[Offered]) -> Result<Floor> {
    let Content::FileSystem(name) = content else {
        return Ok(Floor { bytes: sizes::MINIMUM, what: format!("{content}") });
    };
    if let Some((_, bytes)) = offered.iter().find(|(offered, _)| offered == name) {
        return Ok(Floor { bytes: *bytes, what: name.clone() });
    }
    let names: Vec<_> = offered.iter().map(|(name, _)| name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(Error::invalid_argument(format!("file system {name} cannot be made here (offered: {names})")))
}
