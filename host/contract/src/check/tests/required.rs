//! Every REQUIRED field of every request, left out one at a time, and what an empty request is told.

use super::super::Check;
use super::fixtures;
use crate::InvalidKind;

fn empty_like<M: Default>(_like: &M) -> M {
    M::default()
}

#[track_caller]
fn misses<R: Check>(request: &R, field: &str) {
    let invalid = request.check(&fixtures::everything()).expect_err(field);
    assert_eq!(invalid.to_string(), format!("{field}: is required"));
    assert_eq!(invalid.kind, InvalidKind::Argument);
}

/// One test for each request. An empty request is told the first field of its row: ids and names
/// come first, then paths and capabilities, because a client's test of a field sets only those
/// before it.
macro_rules! sweeps {
    ($($valid:ident: $first:ident $(, $field:ident)*;)*) => {$(
        #[test]
        fn $valid() {
            let valid = fixtures::$valid();
            assert_eq!(valid.check(&fixtures::everything()), Ok(()));
            misses(&empty_like(&valid), stringify!($first));

            let mut request = valid.clone();
            request.$first = Default::default();
            misses(&request, stringify!($first));
            $(
                let mut request = valid.clone();
                request.$field = Default::default();
                misses(&request, stringify!($field));
            )*
        }
    )*};
}

sweeps! {
    create_volume: name, volume_capabilities;
    delete_volume: volume_id;
    controller_publish: volume_id, node_id, volume_capability;
    controller_unpublish: volume_id;
    validate: volume_id, volume_capabilities;
    get_volume: volume_id;
    get_health: volume_id;
    controller_expand: volume_id, capacity_range;
    modify: volume_id, mutable_parameters;
    create_snapshot: source_volume_id, name;
    delete_snapshot: snapshot_id;
    get_snapshot: snapshot_id;
    create_group: name, source_volume_ids;
    delete_group: group_snapshot_id;
    get_group: group_snapshot_id;
    get_allocated: snapshot_id;
    get_delta: base_snapshot_id, target_snapshot_id;
    stage: volume_id, staging_target_path, volume_capability;
    unstage: volume_id, staging_target_path;
    publish: volume_id, target_path, volume_capability;
    unpublish: volume_id, target_path;
    stats: volume_id, volume_path;
    node_expand: volume_id, volume_path;
    node_health: volume_id;
}

/// The requests without a REQUIRED field: an empty one passes.
#[test]
fn requests_without_required_fields_may_be_empty() {
    use drivebay_proto::pb::csi::v1::*;
    let able = fixtures::everything();
    assert_eq!(ListVolumesRequest::default().check(&able), Ok(()));
    assert_eq!(ListSnapshotsRequest::default().check(&able), Ok(()));
    assert_eq!(GetCapacityRequest::default().check(&able), Ok(()));
    assert_eq!(ControllerListVolumeHealthRequest::default().check(&able), Ok(()));
    assert_eq!(NodeGetStorageHealthRequest::default().check(&able), Ok(()));
    assert_eq!(NodeGetInfoRequest {}.check(&able), Ok(()));
}
