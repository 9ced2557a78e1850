//! Every map of every request: secrets with a key that cannot be one, and maps beyond any use.

use super::super::Check;
use super::fixtures::{self, everything, heavy, map};

#[track_caller]
fn blames<R: Check>(request: &R, field: &str) {
    let invalid = request.check(&everything()).expect_err(field);
    assert_eq!(invalid.field, field, "{invalid}");
}

/// One test for each request, with the names of its maps.
macro_rules! maps {
    ($($valid:ident: $($field:ident),*;)*) => {$(
        #[test]
        fn $valid() {
            let valid = fixtures::$valid();
            $(
                let mut request = valid.clone();
                request.$field = heavy(1 << 20);
                blames(&request, stringify!($field));

                // what a key may be made of is a matter of secrets alone
                let mut request = valid.clone();
                request.$field = map("not a name", "x");
                match stringify!($field) {
                    "secrets" => blames(&request, "secrets"),
                    _ => assert_eq!(request.check(&everything()), Ok(())),
                }
            )*
        }
    )*};
}

maps! {
    create_volume: parameters, secrets, mutable_parameters;
    delete_volume: secrets;
    controller_publish: secrets, volume_context;
    controller_unpublish: secrets;
    validate: volume_context, parameters, secrets, mutable_parameters;
    get_capacity: parameters;
    controller_expand: secrets;
    modify: secrets, mutable_parameters;
    create_snapshot: secrets, parameters;
    delete_snapshot: secrets;
    get_snapshot: secrets;
    list_snapshots: secrets;
    create_group: secrets, parameters;
    delete_group: secrets;
    get_group: secrets;
    get_allocated: secrets;
    get_delta: secrets;
    stage: publish_context, secrets, volume_context;
    publish: publish_context, secrets, volume_context;
    node_expand: secrets;
    list_health: secrets;
    get_health: secrets;
    storage_health: secrets;
}
