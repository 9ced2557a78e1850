//! Answers against the contract, and answers that nobody can want. Each is told by the word of a deed.

use drivebay_sdk::background::Work;
use drivebay_sdk::types::{Instant, StringMap, Volume, VolumeStatus};
use drivebay_sdk::volume_listing::{ListVolumesResponse, VolumeEntry};

const MIB: usize = 1 << 20;

/// Spoils the answer of a create.
pub(crate) fn about_volume(deed: &str, secrets: &StringMap, volume: &mut Volume) {
    match deed {
        "no-id" => volume.volume_id.clear(),
        "long-id" => volume.volume_id = "i".repeat(4_096),
        "control-id" => "id\n\u{1b}[2J".clone_into(&mut volume.volume_id),
        "secrets-answer" => volume.volume_context.clone_from(secrets),
        "small" => volume.capacity_bytes = 1,
        "large-context" => volume.volume_context = vec![("k".to_owned(), "v".repeat(MIB))],
        "endless-context" => volume.volume_context = vec![("k".to_owned(), "v".repeat(100 * MIB))],
        "twice" => volume.volume_context = vec![("k".to_owned(), "1".to_owned()), ("k".to_owned(), "2".to_owned())],
        _ => {}
    }
}

/// An empty list, or one that is spoiled.
pub(crate) fn in_a_list(deed: &str, wanted: Option<u32>) -> ListVolumesResponse {
    let most = usize::try_from(wanted.unwrap_or(0)).unwrap_or(0);
    let (entries, next_token) = match deed {
        "long-page" => (named(most + 1), None),
        "same-id" => (vec![entry("one".to_owned()), entry("one".to_owned())], None),
        "no-ids" => (vec![entry(String::new())], None),
        "huge-list" => (named(2_000_000), None),
        "long-token" => (Vec::new(), Some("t".repeat(10 * MIB))),
        _ => (Vec::new(), None),
    };
    ListVolumesResponse { entries, next_token }
}

fn named(count: usize) -> Vec<VolumeEntry> {
    (0..count).map(|n| entry(format!("volume-{n:0100}"))).collect()
}

/// A volume in a list.
pub(crate) fn entry(id: String) -> VolumeEntry {
    let status = VolumeStatus { published_node_ids: Vec::new(), volume_condition: None };
    VolumeEntry { volume: Volume::new(id, 1 << 30), status }
}

/// Abilities that nobody has heard of.
pub(crate) fn features(deed: &str) -> Vec<String> {
    let count = if deed == "many-features" { 50_000 } else { 0 };
    (0..count).map(|n| format!("feature-{n}")).collect()
}

/// So much work, all of it due, and none of it on an object.
pub(crate) fn works(count: usize) -> Vec<Work> {
    (0..count).map(|n| Work { id: format!("work-{n}"), objects: Vec::new(), due: Instant::now() }).collect()
}
