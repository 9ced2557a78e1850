//! Volume groups on real disks: one cut across all members while somebody writes to all of them, and
//! what may not be deleted.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value as Json, json};
use tonic::Code;

use super::pair::{End, Pair, group_source, source, until};
use crate::support::place::PoolKind;
use crate::support::site::{Content, Volume};
use crate::support::{expect, requests};

/// Members of the group that fails over.
const MEMBERS: usize = 8;

/// The name of the file that is stamped.
const STAMP: &str = "stamp";

/// Eight volumes with a writer that stamps all of them, one after the other. At any one moment the
/// stamps are those of one round, or of a round that is under way; so they are after the failover.
#[tokio::test]
async fn a_group_fails_over_as_of_one_moment() {
    let Some(mut pair) = Pair::start(PoolKind::Xfs).await else { return };
    let mut volumes = Vec::new();
    for number in 0..MEMBERS {
        let volume = pair.a.site.create(&format!("v{number}"), Content::Ext4, None).await.unwrap();
        pair.a.site.mount(&volume).await.unwrap();
        volumes.push(volume);
    }
    let group = create(&pair.a, "g", &volumes).await;
    let writer = Writer::start(volumes.iter().map(|volume| PathBuf::from(pair.a.site.target(volume))));
    let a = group_source(&group);
    pair.a.enable(&a, json!({ "schedulingInterval": "1s" })).await.unwrap();
    let mut sent = pair.a.info(&a).await["lastSyncTime"].clone();
    let copies = pair.a.destination(&a).await["volumegroup"].clone();
    let mut least = 0;
    for _ in 0..3 {
        // What is written by now is in the cut after the next.
        least = writer.round();
        for _ in 0..2 {
            sent = pair.a.info_when(&a, |info| info["lastSyncTime"] != sent).await["lastSyncTime"].clone();
        }
    }
    pair.a.site.host.kill().await;
    writer.stop();

    let b = group_source(copies["volumeGroupId"].as_str().unwrap());
    pair.b.promote_by_force(&b).await.unwrap();
    let mut stamps = Vec::new();
    for volume in &volumes {
        let id = copies["volumeIds"][&volume.id].as_str().unwrap();
        let copy = Volume::known(id, &format!("{}-copy", volume.name), Content::Ext4);
        pair.b.site.mount(&copy).await.unwrap();
        let text = std::fs::read(PathBuf::from(pair.b.site.target(&copy)).join(STAMP)).unwrap();
        stamps.push(u64::from_le_bytes(text.try_into().unwrap()));
        pair.b.site.unmount(&copy).await.unwrap();
    }
    println!("at least {least}: {stamps:?}");
    let (first, end) = (stamps[0], stamps[MEMBERS - 1]);
    assert!(stamps.is_sorted_by(|a, b| a >= b) && first - end <= 1, "not of one moment: {stamps:?}");
    assert!(end >= least && least > 0, "what was transferred is not there: {stamps:?}, at least {least}");
}

/// A workload that writes the number of its round into one volume after the other. Only the last stamp of a round is
/// put on disk by it: the others are in a cut because the file systems were frozen for it, all at once, or are not.
struct Writer {
    stop: Arc<AtomicBool>,
    round: Arc<AtomicU64>,
    thread: std::thread::JoinHandle<()>,
}

impl Writer {
    fn start(targets: impl Iterator<Item = PathBuf>) -> Self {
        let (stop, round) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, done) = (Arc::clone(&stop), Arc::clone(&round));
        let open = |target: PathBuf| {
            OpenOptions::new().write(true).create(true).truncate(true).open(target.join(STAMP)).unwrap()
        };
        let files: Vec<_> = targets.map(open).collect();
        let thread = std::thread::spawn(move || {
            for number in 1.. {
                for file in &files {
                    if stopped.load(Ordering::SeqCst) {
                        return;
                    }
                    file.write_all_at(&u64::to_le_bytes(number), 0).unwrap();
                }
                files[MEMBERS - 1].sync_all().unwrap();
                done.store(number, Ordering::SeqCst);
            }
        });
        Self { stop, round, thread }
    }

    /// The last whole round.
    fn round(&self) -> u64 {
        self.round.load(Ordering::SeqCst)
    }

    fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().expect("no write failed");
    }
}

/// G-12, G-13, G-15, R-45: what is in use or replicated stays, and with it all the others; snapshots go their own way.
#[tokio::test]
async fn what_a_group_holds_is_deleted_whole_or_not_at_all() {
    let Some((_link, end)) = End::alone(PoolKind::Xfs).await else { return };
    let end = &end;
    let mut volumes = Vec::new();
    for name in ["x", "y"] {
        volumes.push(end.site.create(name, Content::Block, None).await.unwrap());
    }
    let [x, y] = [&volumes[0], &volumes[1]];
    let id = create(end, "g", &volumes).await;
    expect(&end.site.delete(x).await.unwrap_err(), Code::FailedPrecondition, "group");
    end.enable(&source(x), json!({})).await.unwrap();
    expect(&end.enable(&group_source(&id), json!({})).await.unwrap_err(), Code::FailedPrecondition, "by itself");
    delete_is_refused(end, &id, "replicated").await;
    end.disable(&source(x)).await.unwrap();

    end.enable(&group_source(&id), json!({})).await.unwrap();
    delete_is_refused(end, &id, "replicated").await;
    for status in [
        end.enable(&source(x), json!({})).await.unwrap_err(),
        end.promote(&source(y)).await.unwrap_err(),
        end.disable(&source(y)).await.unwrap_err(),
        modify(end, &id, &[]).await.unwrap_err(),
    ] {
        expect(&status, Code::FailedPrecondition, "");
        assert!(status.message().contains("group") || status.message().contains("replicated"), "{status:?}");
    }
    modify(end, &id, &[y, x]).await.expect("that is what it is");
    end.disable(&group_source(&id)).await.unwrap();

    let snapshot = end.site.snapshot("s", y).await.unwrap();
    end.site.mount(y).await.unwrap();
    delete_is_refused(end, &id, "in use").await;
    end.site.unmount(y).await.unwrap();
    assert_eq!(end.site.volumes().await.len(), 2, "something of it was deleted");

    end.ask("volumegroup.Controller/DeleteVolumeGroup", json!({ "volumeGroupId": id })).await.unwrap();
    assert!(end.site.volumes().await.is_empty());
    end.site.delete_snapshot(&snapshot).await.expect("it stays when its volume goes");
    for id in [id.as_str(), "nobody"] {
        end.ask("volumegroup.Controller/DeleteVolumeGroup", json!({ "volumeGroupId": id })).await.unwrap();
    }
    let request = json!({ "volumeGroupId": id });
    let gone = end.ask("volumegroup.Controller/ControllerGetVolumeGroup", request).await;
    expect(&gone.unwrap_err(), Code::NotFound, "");
}

/// G-25: a volume is born into its group, from a snapshot too.
#[tokio::test]
async fn a_volume_is_born_into_its_group() {
    let Some((_link, end)) = End::alone(PoolKind::Xfs).await else { return };
    let end = &end;
    let id = create(end, "g", &[]).await;
    let mut request = crate::support::site::create("born", Content::Block, None);
    request.parameters.insert("group".to_owned(), "nobody".to_owned());
    let mut client = end.site.host.controller().await;
    expect(&client.create_volume(request.clone()).await.unwrap_err(), Code::NotFound, "nobody");
    request.parameters.insert("group".to_owned(), id.clone());
    let born = client.create_volume(request).await.unwrap().into_inner().volume.unwrap().volume_id;
    let answer = client.create_snapshot(requests::snapshot("s", &born)).await.unwrap().into_inner();
    let origin = crate::support::site::Source::Snapshot(answer.snapshot.unwrap().snapshot_id);
    let mut request = crate::support::site::create("reborn", Content::Block, Some(origin));
    request.parameters.insert("group".to_owned(), id.clone());
    let reborn = client.create_volume(request).await.unwrap().into_inner().volume.unwrap().volume_id;
    let told =
        end.ask("volumegroup.Controller/ControllerGetVolumeGroup", json!({ "volumeGroupId": id })).await.unwrap();
    assert_eq!(members(&told), [born.as_str(), &reborn]);
}

async fn delete_is_refused(end: &End, id: &str, words: &str) {
    let before = end.site.volumes().await;
    let refused = end.ask("volumegroup.Controller/DeleteVolumeGroup", json!({ "volumeGroupId": id })).await;
    expect(&refused.unwrap_err(), Code::FailedPrecondition, words);
    assert_eq!(end.site.volumes().await, before, "something of it was deleted");
}

async fn create(end: &End, name: &str, volumes: &[Volume]) -> String {
    let ids: Vec<_> = volumes.iter().map(|volume| volume.id.as_str()).collect();
    let request = json!({ "name": name, "volumeIds": ids });
    let made = end.ask("volumegroup.Controller/CreateVolumeGroup", request).await.unwrap();
    assert_eq!(members(&made), ids);
    made["volumeGroup"]["volumeGroupId"].as_str().unwrap().to_owned()
}

async fn modify(end: &End, id: &str, volumes: &[&Volume]) -> Result<Json, tonic::Status> {
    let ids: Vec<_> = volumes.iter().map(|volume| volume.id.as_str()).collect();
    let request = json!({ "volumeGroupId": id, "volumeIds": ids });
    end.ask("volumegroup.Controller/ModifyVolumeGroupMembership", request).await
}

/// The ids of the members in an answer.
fn members(answer: &Json) -> Vec<&str> {
    let volumes = answer["volumeGroup"]["volumes"].as_array();
    volumes.into_iter().flatten().map(|volume| volume["volumeId"].as_str().unwrap()).collect()
}

/// What the manager does when a claim loses its label: the list without it, over and over.
#[tokio::test]
async fn a_member_leaves_while_its_group_is_replicated() {
    let Some(pair) = Pair::start(PoolKind::Xfs).await else { return };
    let mut volumes = Vec::new();
    for name in ["x", "y"] {
        volumes.push(pair.a.site.create(name, Content::Block, None).await.unwrap());
    }
    let [x, y] = [&volumes[0], &volumes[1]];
    let id = create(&pair.a, "g", &volumes).await;
    pair.a.enable(&group_source(&id), json!({ "schedulingInterval": "1s" })).await.unwrap();
    pair.a.info(&group_source(&id)).await;
    let copies = pair.a.destination(&group_source(&id)).await["volumegroup"].clone();
    let copy = |of: &Volume| Volume::known(copies["volumeIds"][&of.id].as_str().unwrap(), "copy", Content::Block);
    for _ in 0..3 {
        modify(&pair.a, &id, &[x]).await.expect("it may leave");
    }
    pair.a.write(x, 4_096, b"after it has left");
    let (of_x, of_y) = (copy(x), copy(y));
    until(|| async { pair.b.site.delete(&of_y).await.ok() }, "the copy is never free").await;
    pair.a.site.delete(y).await.expect("it stands alone");
    let sent = || async { (pair.b.word(&of_x, 4_096, 17) == b"after it has left").then_some(()) };
    until(sent, "the rest does not go on").await;
    let left = pair.a.destination(&group_source(&id)).await["volumegroup"]["volumeIds"].clone();
    assert_eq!(left.as_object().unwrap().len(), 1, "{left}");
}
