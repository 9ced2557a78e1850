//! Volume groups: membership is asked and not remembered, and what follows from it holds for every
//! backend.

use serde_json::{Value as Json, json};
use tonic::Code;

use super::Site;

const CREATE: &str = "volumegroup.Controller/CreateVolumeGroup";
const MODIFY: &str = "volumegroup.Controller/ModifyVolumeGroupMembership";
const DELETE: &str = "volumegroup.Controller/DeleteVolumeGroup";
const GET: &str = "volumegroup.Controller/ControllerGetVolumeGroup";
const LIST: &str = "volumegroup.Controller/ListVolumeGroups";

fn members(answer: &Json) -> Vec<&str> {
    let volumes = answer["volumeGroup"]["volumes"].as_array().map_or(&[][..], Vec::as_slice);
    volumes.iter().map(|volume| volume["volumeId"].as_str().unwrap()).collect()
}

fn modify(group: &str, volumes: &[&str]) -> Json {
    json!({ "volumeGroupId": group, "volumeIds": volumes })
}

#[tokio::test]
async fn a_life_of_a_group() {
    let site = Site::new().await;
    site.volumes(&["vol-a", "vol-b", "vol-c"]).await;
    let empty = site.good(CREATE, json!({ "name": "g" })).await;
    assert_eq!(empty["volumeGroup"], json!({ "volumeGroupId": "vg-g" }));
    assert_eq!(site.good(CREATE, json!({ "name": "g" })).await, empty, "G-02");
    site.bad(CREATE, json!({ "name": "g", "parameters": { "k": "v" } }), Code::AlreadyExists, "vg-g").await;
    // A volume named twice is in it once.
    let changed = site.good(MODIFY, modify("vg-g", &["vol-b", "vol-a", "vol-b"])).await;
    assert_eq!(members(&changed), ["vol-b", "vol-a"]);
    assert_eq!(members(&site.good(GET, json!({ "volumeGroupId": "vg-g" })).await), ["vol-b", "vol-a"]);
    site.bad(MODIFY, modify("vg-g", &["vol-a", "vol-x"]), Code::NotFound, "vol-x").await;
    site.bad(MODIFY, modify("vg-x", &["vol-a"]), Code::NotFound, "vg-x").await;
    site.bad(GET, json!({ "volumeGroupId": "vg-x" }), Code::NotFound, "vg-x").await;
    site.group("vg-h", &["vol-c"]).await;
    let page = site.good(LIST, json!({ "maxEntries": 1 })).await;
    let rest = site.good(LIST, json!({ "startingToken": page["nextToken"] })).await;
    let ids = [&page, &rest].map(|page| page["entries"][0]["volumeGroup"]["volumeGroupId"].clone());
    assert_eq!((ids, rest.get("nextToken")), (["vg-g".into(), "vg-h".into()], None));
    site.good(MODIFY, modify("vg-g", &[])).await;
    site.good(DELETE, json!({ "volumeGroupId": "vg-g" })).await;
    site.good("csi.v1.Controller/DeleteVolume", json!({ "volumeId": "vol-a" })).await;
}

/// Clients send it on every reconcile: nothing but a look at the group follows.
#[tokio::test]
async fn the_present_list_is_answered_without_work() {
    let site = Site::new().await;
    site.group("vg-g", &["vol-a", "vol-b"]).await;
    for list in [&["vol-a", "vol-b"][..], &["vol-b", "vol-a", "vol-b"]] {
        assert_eq!(members(&site.good(MODIFY, modify("vg-g", list)).await), ["vol-a", "vol-b"]);
    }
    assert_eq!(site.host.entries_so_far("modify-membership vg-g").await, 0);
    site.bad(MODIFY, modify("vg-x", &[]), Code::NotFound, "vg-x").await;
    assert_eq!(site.host.entries_so_far("modify-membership vg-x").await, 0);
    site.good(MODIFY, modify("vg-g", &["vol-a"])).await;
    assert_eq!(site.host.entries_so_far("modify-membership vg-g").await, 1);
    // What the group looks like is checked as ever.
    site.host.instruct("get-volume-group", "vg-g", "times 1 bad twice").await;
    site.bad(MODIFY, modify("vg-g", &["vol-a"]), Code::Unavailable, "volume-group.volumes").await;
    // Who describes other members than it told has changed meanwhile, and is called.
    site.host.instruct("get-volume-group", "vg-g", "times 1 bad members").await;
    site.good(MODIFY, modify("vg-g", &["vol-a"])).await;
    assert_eq!(site.host.entries_so_far("modify-membership vg-g").await, 2);
}

/// G-13: refused until it has left.
#[tokio::test]
async fn d4_a_volume_in_a_group_is_not_deleted() {
    let site = Site::new().await;
    site.group("vg-g", &["vol-a"]).await;
    let delete = json!({ "volumeId": "vol-a" });
    let words = "volume vol-a is in volume group vg-g";
    site.bad("csi.v1.Controller/DeleteVolume", delete.clone(), Code::FailedPrecondition, words).await;
    assert_eq!(site.host.entries_so_far("delete-volume").await, 0);
    site.good(MODIFY, modify("vg-g", &[])).await;
    site.good("csi.v1.Controller/DeleteVolume", delete).await;
}

/// G-11, also where the backend says that there is no such group; the client deletes it twice.
#[tokio::test]
async fn d4_deleting_an_unknown_group_is_success() {
    let site = Site::new().await;
    for id in ["vg-never", "../etc", "ü\u{1}"] {
        site.good(DELETE, json!({ "volumeGroupId": id })).await;
    }
    assert_eq!(
        site.host.entries_so_far("delete-volume-group").await,
        3,
        "the backend was asked, and said that there is none"
    );
}

/// G-12 and G-14: the volumes go with their group, unless the backend keeps them.
#[tokio::test]
async fn d4_the_volumes_go_with_their_group_or_keep_it() {
    for keeps in [false, true] {
        let site = Site::with(if keeps { "group-keeps-volumes" } else { "" }).await;
        site.group("vg-g", &["vol-a", "vol-b"]).await;
        let delete = json!({ "volumeGroupId": "vg-g" });
        if keeps {
            site.bad(DELETE, delete.clone(), Code::FailedPrecondition, "vg-g has 2 volumes").await;
            assert_eq!(site.host.entries_so_far("delete-volume-group").await, 0);
            site.good(MODIFY, modify("vg-g", &[])).await;
        }
        site.good(DELETE, delete).await;
        let left = site.host.control(&[("get:volume/", "")]).await.len();
        assert_eq!(left, if keeps { 2 } else { 0 });
    }
}

/// G-21: only where the backend says so.
#[tokio::test]
async fn a_volume_is_in_one_group_where_the_backend_says_so() {
    for limited in [false, true] {
        let site = Site::with(if limited { "one-group-per-volume" } else { "" }).await;
        site.group("vg-g", &["vol-a"]).await;
        site.group("vg-h", &["vol-b"]).await;
        let second = modify("vg-h", &["vol-b", "vol-a"]);
        let both = json!({ "name": "both", "volumeIds": ["vol-a", "vol-b"] });
        if limited {
            let words = "volume_ids[1]: volume vol-a is in volume group vg-g";
            site.bad(MODIFY, second, Code::InvalidArgument, words).await;
            assert_eq!(site.host.entries_so_far("modify-membership").await, 0);
            site.bad(CREATE, both, Code::FailedPrecondition, "volume vol-a is in volume group vg-g").await;
            // Its own group is not another one.
            site.volumes(&["vol-c"]).await;
            site.good(MODIFY, modify("vg-g", &["vol-c", "vol-a"])).await;
            site.good(CREATE, json!({ "name": "g", "volumeIds": ["vol-a"] })).await;
            // A backend that breaks its own word is not believed.
            site.host.instruct("create-volume-group", "thief", "times 1 bad thief").await;
            let steals = json!({ "name": "thief", "volumeIds": ["vol-a"] });
            site.bad(CREATE, steals, Code::Unavailable, "though a volume is in one group only").await;
        } else {
            site.good(MODIFY, second).await;
            site.good(CREATE, both).await;
        }
    }
}

/// G-02 and G-09: what a client mixes up is no fault of the backend's, however often it does.
#[tokio::test]
async fn a_mix_up_of_groups_is_not_blamed_on_the_backend() {
    let site = Site::with("one-group-per-volume").await;
    site.group("vg-g", &["vol-a", "vol-c"]).await;
    site.group("vg-h", &["vol-b"]).await;
    for _ in 0..6 {
        let again = site.good(CREATE, json!({ "name": "g", "volumeIds": ["vol-a", "vol-b"] })).await;
        assert_eq!(members(&again), ["vol-a", "vol-c"]);
        let taken = json!({ "name": "n", "volumeIds": ["vol-b"] });
        site.bad(CREATE, taken, Code::FailedPrecondition, "volume vol-b is in volume group vg-h").await;
        site.bad(MODIFY, modify("vg-x", &["vol-b"]), Code::NotFound, "there is no volume group vg-x").await;
    }
    assert_eq!(site.host.status().await["breaker"]["series"], 0);
}

#[tokio::test]
async fn answers_that_are_none() {
    let site = Site::new().await;
    site.group("vg-g", &["vol-a"]).await;
    site.volumes(&["vol-b"]).await;
    for (flaw, words) in [
        ("id", "volume-group.volume-group-id: is required"),
        ("context", "volume-group.volume-group-context"),
        ("twice", "volume-group.volumes"),
    ] {
        let bad = format!("times 1 bad {flaw}");
        site.host.instruct("create-volume-group", "n", &bad).await;
        site.bad(CREATE, json!({ "name": "n", "volumeIds": ["vol-b"] }), Code::Unavailable, words).await;
        site.host.instruct("get-volume-group", "vg-g", &bad).await;
        site.bad(GET, json!({ "volumeGroupId": "vg-g" }), Code::Internal, words).await;
    }
    for (flaw, words) in [("other", "vg-another"), ("members", "are others than asked for")] {
        site.host.instruct("modify-membership", "vg-g", &format!("times 1 bad {flaw}")).await;
        let list: &[&str] = if flaw == "other" { &["vol-b"] } else { &["vol-a", "vol-b"] };
        site.bad(MODIFY, modify("vg-g", list), Code::Unavailable, words).await;
    }
    site.group("vg-g", &["vol-a"]).await;
    for (flaw, words) in [("twice", "members: has"), ("empty", "members[1]: is required")] {
        site.host.instruct("members", "vg-g", &format!("times 1 bad {flaw}")).await;
        site.bad(MODIFY, modify("vg-g", &["vol-b"]), Code::Unavailable, words).await;
    }
}
