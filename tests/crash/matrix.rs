//! Every crash that an operation can meet: it is traced once, and then done again and again, each
//! time killed before another of the steps that the trace has shown. Nobody lists the steps, so a new
//! one is tried as soon as it exists.

use std::collections::BTreeSet;

use super::operation::{Gift, Operation};
use super::scene::{Scene, Standing};
use crate::support::site::Content;
use crate::support::tap::{Seen, Victim};

macro_rules! crashes {
    ($($name:ident: $operation:expr, $victim:ident;)*) => {$(
        #[tokio::test]
        async fn $name() {
            every_crash($operation, Victim::$victim).await;
        }
    )*};
}

crashes! {
    create: Operation::Create(Content::Ext4), Host;
    create_directory: Operation::Create(Content::Directory), Host;
    clone: Operation::Clone, Host;
    clone_by_copy: Operation::CloneByCopy, Host;
    restore: Operation::Restore, Host;
    snapshot: Operation::Snapshot, Host;
    group: Operation::Group, Host;
    stage: Operation::Stage(Content::Ext4), Host;
    stage_clone: Operation::StageClone(Content::Ext4), Host;
    stage_clone_of_xfs: Operation::StageClone(Content::Xfs), Host;
    publish: Operation::Publish(Content::Ext4), Host;
    publish_block: Operation::Publish(Content::Block), Host;
    expand: Operation::Expand, Host;
    unpublish: Operation::Unpublish, Host;
    unstage: Operation::Unstage, Host;
    delete: Operation::Delete, Host;
    delete_group: Operation::DeleteGroup, Host;
    clone_without_helper: Operation::Clone, Helper;
    snapshot_without_helper: Operation::Snapshot, Helper;
    group_without_helper: Operation::Group, Helper;
    stage_clone_without_helper: Operation::StageClone(Content::Ext4), Helper;
    publish_without_helper: Operation::Publish(Content::Ext4), Helper;
    publish_block_without_helper: Operation::Publish(Content::Block), Helper;
    expand_without_helper: Operation::Expand, Helper;
    unpublish_without_helper: Operation::Unpublish, Helper;
    unstage_without_helper: Operation::Unstage, Helper;
}

async fn every_crash(operation: Operation, victim: Victim) {
    let Some(mut scene) = Scene::set(operation.pool()).await else { return };
    operation.set(&mut scene).await;
    let mut helpers = 0;
    let traced = crash(&mut scene, operation, None, victim, &mut helpers).await;
    assert!(!traced.steps.is_empty(), "the operation does nothing");
    let mut fired = 0;
    for step in 0..traced.steps.len() {
        println!("--- {operation:?}: killed before step {step}, {}", traced.steps[step]);
        let seen = crash(&mut scene, operation, Some(step), victim, &mut helpers).await;
        println!("    it was {:?}", seen.steps.last());
        fired += usize::from(seen.fired);
    }
    let steps = traced.steps.len();
    assert!(fired * 10 >= steps * 9, "only {fired} of {steps} steps were met again: {:#?}", traced.steps);
}

/// One run of an operation: cut off at a step, or killed when it was answered.
async fn crash(
    scene: &mut Scene,
    operation: Operation,
    step: Option<usize>,
    victim: Victim,
    helpers: &mut usize,
) -> Seen {
    let bare = scene.standing().await;
    scene.check_ledger(&bare);
    let props = operation.prepare(scene).await;
    let before = scene.standing().await;
    scene.tap.arm(step, victim);
    let answer = operation.run(scene, &props).await;
    let seen = scene.tap.disarm();
    let told = scene.on_node();
    match (victim, seen.fired) {
        (Victim::Host, _) => {
            scene.site.host.kill().await;
            scene.site.host.start_again().await;
            *helpers = 0;
        }
        (Victim::Helper, true) => {
            *helpers += 1;
            scene.site.host.log.wait("node ledger compared with the system", 1 + *helpers).await;
        }
        (Victim::Helper, false) => {}
    }
    if !seen.fired {
        assert!(answer.is_ok(), "{answer:?}");
        assert_eq!(told, scene.on_node(), "acknowledged mounts and devices were touched");
    }

    let after = scene.standing().await;
    let listed = judge(operation, &before, &after, answer.as_ref().ok());
    scene.check_ledger(&after);
    scene.check_used().await;

    let first = operation.run(scene, &props).await.expect("what was cut off can be repeated");
    let second = operation.run(scene, &props).await.expect("what was repeated can be repeated");
    assert_eq!(first, second, "one name, two ids");
    assert!(answer.is_err() || answer.ok() == Some(first.clone()), "another id than the acknowledged one");
    assert!(listed.is_empty() || listed == first.ids(), "{listed:?} was listed, and {first:?} is given now");
    operation.take_back(scene, props, first).await;
    let left = scene.standing().await;
    scene.check_ledger(&left);
    assert_eq!(bare, left, "something is left, or missing");
    seen
}

/// What a crash may have changed: nothing that was acknowledged is gone, and what is new is whole.
/// Gives the ids of what is new.
fn judge(operation: Operation, before: &Standing, after: &Standing, acknowledged: Option<&Gift>) -> Vec<String> {
    let lost = |old: &BTreeSet<String>, now: &BTreeSet<String>| old.difference(now).count();
    let lost = (lost(&before.volumes, &after.volumes), lost(&before.snapshots, &after.snapshots));
    let may_be_lost = match operation {
        Operation::Delete => (1, 0),
        Operation::DeleteGroup => (0, 2),
        _ => (0, 0),
    };
    assert!(lost == (0, 0) || lost == may_be_lost, "{lost:?} acknowledged volumes and snapshots are gone");

    let new = |old: &BTreeSet<String>, now: &BTreeSet<String>| now.difference(old).cloned().collect::<Vec<_>>();
    let mut made = new(&before.volumes, &after.volumes);
    made.extend(new(&before.snapshots, &after.snapshots));
    if let Some(gift) = acknowledged {
        assert_eq!(made, gift.ids(), "what was acknowledged, and what is listed");
    }
    // Beside a volume that is known a host writes what it does with it.
    let is_note = |name: &str| name.contains("/use-") || name.ends_with("/file-system.json");
    let strays: Vec<_> = after.in_pool.difference(&before.in_pool).filter(|name| !is_note(name)).collect();
    assert!(!made.is_empty() || strays.is_empty(), "what nobody was told of is left in the pool: {strays:#?}");
    made
}
