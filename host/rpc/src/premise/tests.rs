//! What is asked, locked and decided for each kind of call, from what the backend told: pure, so every
//! case stands in a table.
#![allow(clippy::unnecessary_wraps, reason = "written as the fields take them")]

use super::*;
use drivebay_admission::{Access, ObjectKey};
use drivebay_contract::{Feature, Interface};
use drivebay_proto::pb::csi::v1::{
    DeleteSnapshotRequest, DeleteVolumeGroupSnapshotRequest, DeleteVolumeRequest, GetVolumeGroupSnapshotRequest, Volume,
};
use drivebay_proto::pb::replication::replication_destination::{self as there, VolumeGroupDestination};
use drivebay_proto::pb::replication::replication_source::{Type, VolumeGroupSource, VolumeSource};
use drivebay_proto::pb::replication::{
    GetReplicationDestinationInfoRequest, GetReplicationDestinationInfoResponse, PromoteVolumeRequest,
    ReplicationDestination, ReplicationSource,
};
use drivebay_proto::pb::volumegroup::{
    CreateVolumeGroupRequest, CreateVolumeGroupResponse, DeleteVolumeGroupRequest, ModifyVolumeGroupMembershipRequest,
};

fn everything() -> Abilities {
    Abilities::new(Interface::ALL, Feature::ALL.iter().copied())
}

fn state(role: Role, through_group: Option<&str>) -> Option<SourceState> {
    Some(SourceState { role, through_group: through_group.map(ToOwned::to_owned) })
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn on_volume(id: &str) -> Source {
    Source::Volume(id.to_owned())
}

fn on_group(id: &str) -> Source {
    Source::Group(id.to_owned())
}

/// Asks until nothing is left to ask, as the host does; gives all questions.
fn learn<R: Premise>(request: &R, able: &Abilities, tell: impl Fn(&Question, &mut Known)) -> (Vec<Question>, Known) {
    let (mut all, mut known) = (Vec::new(), Known::default());
    for _ in 0..10 {
        let questions = request.questions(&known, able);
        if questions.is_empty() {
            return (all, known);
        }
        for question in &questions {
            tell(question, &mut known);
        }
        all.extend(questions);
    }
    panic!("it never ends: {all:?}");
}

/// A backend with the group `g` of `a` and `b`, where `a` and what is in it is replicated as told.
fn tell(question: &Question, known: &mut Known, replicated: &[(Source, Option<SourceState>)]) {
    match question {
        Question::Members(group) => {
            let members = match group.as_str() {
                "g" => Some(ids(&["a", "b"])),
                "nowhere" => None,
                _ => Some(Vec::new()),
            };
            known.members.insert(group.clone(), members);
        }
        Question::GroupsOf(volume) => {
            let groups = if ["a", "b"].contains(&volume.as_str()) { ids(&["g"]) } else { Vec::new() };
            known.groups.insert(volume.clone(), groups);
        }
        Question::State(source) => {
            let told = replicated.iter().find(|(of, _)| of == source).map(|(_, state)| state.clone());
            known.states.push((source.clone(), told.unwrap_or_else(|| state(Role::Disabled, None))));
        }
        Question::Description(group, _) => {
            let volumes = known.members(group).iter().map(|id| Volume { volume_id: id.clone(), ..Volume::default() });
            known.described = Some(VolumeGroup {
                volume_group_id: group.clone(),
                volumes: volumes.collect(),
                ..VolumeGroup::default()
            });
        }
        Question::GroupSnapshot(id, _) => known.has_group_snapshot = Some(id == "cut"),
    }
}

fn locked(set: LockSet) -> Vec<(ObjectKind, String)> {
    set.into_iter()
        .map(|(ObjectKey { kind, id }, access)| {
            assert_eq!(access, Access::Exclusive);
            (kind, id.into())
        })
        .collect()
}

fn outcome<A: std::fmt::Debug>(course: Result<Resolution<A>, CallError>) -> String {
    match course {
        Ok(course) => format!("{course:?}"),
        Err(error) => error.to_string(),
    }
}

fn delete(volume: &str) -> DeleteVolumeRequest {
    DeleteVolumeRequest { volume_id: volume.into(), ..Default::default() }
}

#[test]
fn a_volume_is_free_before_it_goes() {
    let replicated =
        [(on_volume("r"), state(Role::Secondary, None)), (on_volume("t"), state(Role::Disabled, Some("h")))];
    for (id, expected) in [
        ("x", "Call"),
        ("a", "volume a is in volume group g; remove it from there first"),
        ("r", "volume r is replicated; disable its replication first"),
        ("t", "volume t is replicated with volume group h; disable that replication first"),
    ] {
        let (_, known) = learn(&delete(id), &everything(), |question, known| tell(question, known, &replicated));
        assert_eq!(outcome(delete(id).judge(&known, &everything())), expected);
    }
    // Deleting what is not there is the backend's business (T7).
    let gone = [(on_volume("x"), None)];
    let (_, known) = learn(&delete("x"), &everything(), |question, known| tell(question, known, &gone));
    assert_eq!(outcome(delete("x").judge(&known, &everything())), "Call");
}

/// Nobody pays for what a backend does not have.
#[test]
fn only_what_a_backend_can_tell_is_asked() {
    let none = Abilities::new([], []);
    assert_eq!(delete("x").questions(&Known::default(), &none), []);
    let groups = Abilities::new([Interface::VolumeGroups], []);
    assert_eq!(delete("x").questions(&Known::default(), &groups), [Question::GroupsOf("x".into())]);
    let volumes_only = Abilities::new([Interface::Replication], []);
    let cut = DeleteSnapshotRequest { snapshot_id: "s".into(), ..Default::default() };
    assert_eq!(cut.questions(&Known::default(), &volumes_only), []);
    let create = CreateVolumeGroupRequest { volume_ids: ids(&["a"]), ..Default::default() };
    assert_eq!(create.questions(&Known::default(), &groups), [], "a volume may be in many groups");
}

#[test]
fn snapshots_that_are_replicated_stay() {
    let members = DeleteVolumeGroupSnapshotRequest { snapshot_ids: ids(&["s", "r"]), ..Default::default() };
    let replicated = [(Source::Snapshot("r".into()), state(Role::Primary, None))];
    let (asked, known) = learn(&members, &everything(), |question, known| tell(question, known, &replicated));
    assert_eq!(asked.len(), 2);
    assert_eq!(
        outcome(members.judge(&known, &everything())),
        "snapshot r is replicated; disable its replication first"
    );
}

/// T2: who does not know the members need not name those of what is not there.
#[test]
fn members_are_named_where_there_are_any() {
    let able = everything();
    let missing = "snapshot_ids: is required: name the snapshots of this group snapshot";
    for (id, members, asked, expected) in
        [("cut", &[][..], 1, missing), ("other", &[], 1, "Call"), ("cut", &["s"], 0, "Call")]
    {
        let get = GetVolumeGroupSnapshotRequest {
            group_snapshot_id: id.into(),
            snapshot_ids: ids(members),
            ..Default::default()
        };
        let (questions, known) = learn(&get, &able, |question, known| tell(question, known, &[]));
        assert_eq!((questions.len(), outcome(get.judge(&known, &able)).as_str()), (asked, expected), "get {id}");
        let delete = DeleteVolumeGroupSnapshotRequest {
            group_snapshot_id: id.into(),
            snapshot_ids: ids(members),
            ..Default::default()
        };
        let (questions, known) = learn(&delete, &able, |question, known| tell(question, known, &[]));
        let about_members = questions.iter().filter(|question| matches!(question, Question::State(_))).count();
        assert_eq!((questions.len() - about_members, about_members), (asked, members.len()), "delete {id}");
        assert_eq!(outcome(delete.judge(&known, &able)), expected, "delete {id}");
    }
}

fn promote(kind: Type) -> PromoteVolumeRequest {
    PromoteVolumeRequest { replication_source: Some(ReplicationSource { r#type: Some(kind) }), ..Default::default() }
}

/// R-07, R-08, R-39, R-45, R-46.
#[test]
fn a_source_exists_and_is_no_part_of_another_one() {
    let volume = |id: &str| promote(Type::Volume(VolumeSource { volume_id: id.into() }));
    let group = |id: &str| promote(Type::Volumegroup(VolumeGroupSource { volume_group_id: id.into() }));
    let replicated = [
        (on_volume("x"), None),
        (on_group("x"), None),
        (on_volume("a"), state(Role::Disabled, Some("g"))),
        (on_group("g"), state(Role::Primary, None)),
    ];
    let part = "volume a is replicated as a member of volume group g; call with the group as the source";
    let members = vec![(ObjectKind::Volume, "a".to_owned()), (ObjectKind::Volume, "b".to_owned())];
    for (request, locks, expected) in [
        (volume("v"), vec![], "Call"),
        (volume("x"), vec![], "there is no volume x"),
        (group("x"), vec![], "there is no volume group x"),
        (volume("a"), vec![], part),
        (group("g"), members, "Call"),
    ] {
        let (_, known) = learn(&request, &everything(), |question, known| tell(question, known, &replicated));
        assert_eq!(locked(request.further_locks(&known)), locks);
        assert_eq!(outcome(request.judge(&known, &everything())), expected);
    }
}

#[test]
fn destinations_are_told_of_all_members_or_none() {
    let request = GetReplicationDestinationInfoRequest {
        replication_source: promote(Type::Volumegroup(VolumeGroupSource { volume_group_id: "g".into() }))
            .replication_source,
        ..Default::default()
    };
    let (_, known) = learn(&request, &everything(), |question, known| tell(question, known, &[]));
    assert!(request.further_locks(&known).is_empty(), "it only reads");
    for (told, is_complete) in [
        (&["a", "b"][..], true),
        (&["b", "a"], true),
        (&[], true),
        (&["a"], false),
        (&["a", "b", "c"], false),
        (&["a", "c"], false),
    ] {
        let volume_ids = told.iter().map(|id| ((*id).to_owned(), format!("peer-{id}"))).collect();
        let group = VolumeGroupDestination { volume_group_id: "peer-g".into(), volume_ids };
        let destination = ReplicationDestination { r#type: Some(there::Type::Volumegroup(group)) };
        let answer = GetReplicationDestinationInfoResponse { replication_destination: Some(destination) };
        assert_eq!(request.review(&known, &answer).is_ok(), is_complete, "{told:?}");
    }
}

fn modify(group: &str, volumes: &[&str]) -> ModifyVolumeGroupMembershipRequest {
    ModifyVolumeGroupMembershipRequest { volume_group_id: group.into(), volume_ids: ids(volumes), ..Default::default() }
}

#[test]
fn membership_that_stays_is_described_and_nothing_is_done() {
    let able = everything();
    for list in [&["a", "b"][..], &["b", "a"]] {
        let request = modify("g", list);
        let (asked, known) = learn(&request, &able, |question, known| tell(question, known, &[]));
        assert!(matches!(asked.as_slice(), [Question::Members(_), Question::Description(..)]), "{asked:?}");
        assert!(outcome(request.judge(&known, &able)).starts_with("Done("));
        // A volume was made in it between the two questions.
        let mut grown = known.clone();
        grown.described.as_mut().unwrap().volumes.push(Volume { volume_id: "c".into(), ..Volume::default() });
        assert_eq!(outcome(request.judge(&grown, &able)), "Call");
    }
    // Who cannot describe a group must be called.
    let plain = Abilities::new([Interface::VolumeGroups, Interface::VolumeGroupMembership], []);
    let (asked, known) = learn(&modify("g", &["a", "b"]), &plain, |question, known| tell(question, known, &[]));
    assert_eq!(asked.len(), 1);
    assert_eq!(outcome(modify("g", &["a", "b"]).judge(&known, &plain)), "Call");
}

#[test]
fn membership_that_changes_locks_who_leaves() {
    let request = modify("h", &["x", "a"]);
    let (asked, known) = learn(&request, &everything(), |question, known| tell(question, known, &[]));
    assert_eq!(asked.len(), 3, "the members, and where those are who join");
    let refusal = "volume_ids[1]: volume a is in volume group g, and a volume can be in one group only";
    assert_eq!(outcome(request.judge(&known, &everything())), refusal);
    // G-09, whatever the volumes are.
    let lost = modify("nowhere", &["x", "a"]);
    let (asked, known) = learn(&lost, &everything(), |question, known| tell(question, known, &[]));
    assert_eq!(asked, [Question::Members("nowhere".into())]);
    assert_eq!(outcome(lost.judge(&known, &everything())), "there is no volume group nowhere");
    let request = modify("g", &["b", "x"]);
    let (asked, known) = learn(&request, &everything(), |question, known| tell(question, known, &[]));
    assert_eq!(asked.last(), Some(&Question::GroupsOf("x".into())));
    let members = [(ObjectKind::Volume, "a".to_owned()), (ObjectKind::Volume, "b".to_owned())];
    assert_eq!(locked(request.further_locks(&known)), members);
    assert_eq!(outcome(request.judge(&known, &everything())), "Call");
}

#[test]
fn new_groups_take_no_members_of_others() {
    let create = |volumes: &[&str]| CreateVolumeGroupRequest {
        name: "n".into(),
        volume_ids: ids(volumes),
        ..Default::default()
    };
    let split = |question: &Question, known: &mut Known| match question {
        Question::GroupsOf(volume) if volume == "c" => drop(known.groups.insert("c".into(), ids(&["h"]))),
        other => tell(other, known, &[]),
    };
    let made = |id: &str, volumes: &[&str]| CreateVolumeGroupResponse {
        volume_group: Some(VolumeGroup {
            volume_group_id: id.into(),
            volumes: volumes.iter().map(|id| Volume { volume_id: (*id).into(), ..Volume::default() }).collect(),
            ..VolumeGroup::default()
        }),
    };
    // Which group has the name only the backend knows: its answer shows whether it kept its word.
    for (asked, id, told, is_true) in [
        (&["a", "b"][..], "g", &["a", "b"][..], true),
        (&["a", "b"], "n", &["a", "b"], false),
        (&["x", "a", "c"], "n", &["x", "c"], false),
        // The group has the name, and the members that it was made with are in others by now (G-02).
        (&["x", "a", "c"], "n", &["x"], true),
        (&["x", "a", "c"], "n", &[], true),
        (&["a"], "h", &["c"], true),
    ] {
        let (_, known) = learn(&create(asked), &everything(), split);
        assert_eq!(outcome(create(asked).judge(&known, &everything())), "Call");
        assert_eq!(create(asked).review(&known, &made(id, told)).is_ok(), is_true, "{asked:?} {id} {told:?}");
    }
}

/// D4, G-11 to G-15.
#[test]
fn groups_go_when_nothing_in_them_is_replicated() {
    let request = |id: &str| DeleteVolumeGroupRequest { volume_group_id: id.into(), ..Default::default() };
    let all_but_keeping = || Feature::ALL.iter().copied().filter(|feature| *feature != Feature::GroupKeepsVolumes);
    let deletes = Abilities::new(Interface::ALL, all_but_keeping());
    for (able, group, replicated, expected) in [
        (&deletes, "g", None, "Call"),
        (&deletes, "x", None, "Call"),
        (&everything(), "g", None, "volume group g has 2 volumes; remove them from it first"),
        (&everything(), "x", None, "Call"),
        (&deletes, "g", Some(on_group("g")), "volume group g is replicated; disable its replication first"),
        (&deletes, "g", Some(on_volume("b")), "volume b is replicated; disable its replication first"),
    ] {
        let replicated: Vec<_> = replicated.map(|source| (source, state(Role::Primary, None))).into_iter().collect();
        let (_, known) = learn(&request(group), able, |question, known| tell(question, known, &replicated));
        assert_eq!(locked(request(group).further_locks(&known)).len(), if group == "g" { 2 } else { 0 });
        assert_eq!(outcome(request(group).judge(&known, able)), expected, "{group}");
    }
    assert!(request("x").forgiven(RefusalCode::NotFound).is_some());
    assert!(request("x").forgiven(RefusalCode::FailedPrecondition).is_none());
}
