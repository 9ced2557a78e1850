//! Every pair of changing calls on one object, node and controller: one is held in its work by a pool
//! that is frozen, the other is told what is pending; reads are answered.

use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::group_controller_client::GroupControllerClient;
use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::Channel;

use super::calls::{Objects, call, calls};
use super::rows::{Row, rows};
use super::{MIB, block, formatted};
use crate::support::{Guest, Node, Options, PATIENCE, Pool, TestHost, expect, is_root, requests};

/// A host on a pool of its own, with calls that were held so far.
struct Site {
    host: TestHost,
    pool: Pool,
    channel: Channel,
}

impl Site {
    async fn new() -> Self {
        let pool = Pool::on("xfs", 2048);
        let options = Options::default().pool(&pool.path(), Node::Granted).log("drivebay=debug");
        let host = TestHost::start(Guest::LOCAL, options).await;
        let channel = host.connect().await;
        Self { host, pool, channel }
    }

    /// A volume of its own with a snapshot by itself and one in a group, for one round. On a node it is
    /// an XFS, which can be grown while it is mounted; to the controller all contents are one.
    async fn objects(&self, round: usize, row: &Row) -> Objects {
        let mut client = ControllerClient::new(self.channel.clone());
        let request = if row.service.ends_with("Node") {
            let mut request = formatted(&format!("v{round}"), 320 * MIB);
            request.volume_capabilities[0].access_type =
                Some(v1::volume_capability::AccessType::Mount(v1::volume_capability::MountVolume {
                    fs_type: "xfs".to_owned(),
                    ..Default::default()
                }));
            request
        } else {
            block(&format!("v{round}"), 4 * MIB)
        };
        let capability = request.volume_capabilities[0].clone();
        let volume = client.create_volume(request).await.unwrap().into_inner().volume.unwrap().volume_id;
        let mut groups = GroupControllerClient::new(self.channel.clone());
        let cut = groups.create_volume_group_snapshot(requests::group_snapshot(&format!("g{round}"), &[&volume])).await;
        let cut = cut.unwrap().into_inner().group_snapshot.unwrap();
        let member = cut.snapshots[0].snapshot_id.clone();
        let mut snapshot = member.clone();
        if !row.exclusive.contains(&"group") {
            let alone = client.create_snapshot(requests::snapshot(&format!("s{round}"), &volume)).await.unwrap();
            snapshot = alone.into_inner().snapshot.unwrap().snapshot_id;
        }
        Objects {
            name: format!("n{round}"),
            volume,
            snapshot,
            group: cut.group_snapshot_id,
            member,
            staging: self.pool.made(&format!("staging-{round}")),
            target: self.pool.place(&format!("target-{round}")),
            capability,
        }
    }
}

/// How a refusal names an object.
fn shown(kind: &str, objects: &Objects) -> String {
    let (word, id) = match kind {
        "volume-name" => ("volume name", &objects.name),
        "snapshot-name" => ("snapshot name", &objects.name),
        "group-name" => ("group snapshot name", &objects.name),
        "volume" => ("volume", &objects.volume),
        "snapshot" => ("snapshot", &objects.snapshot),
        "group" => ("group snapshot", &objects.group),
        other => panic!("no such object: {other}"),
    };
    format!("{word} {id:?}")
}

#[tokio::test]
async fn every_pair_of_changes() {
    if !is_root("held::pairs::every_pair_of_changes") {
        return;
    }
    let (site, calls, rows) = (Site::new().await, calls(), rows());
    let mut pairs = 0;
    for (round, held) in rows.iter().filter(|row| row.changes()).enumerate() {
        let objects = site.objects(round, held).await;
        for name in call(&calls, held).before {
            let before = calls.iter().find(|call| call.name == *name).unwrap();
            (before.run)(site.channel.clone(), objects.clone()).await.unwrap_or_else(|s| panic!("{name}: {s:?}"));
        }
        site.pool.freeze();
        let begun = site.host.log.with("call begins").len();
        let mut first = JoinSet::new();
        first.spawn((call(&calls, held).run)(site.channel.clone(), objects.clone()));
        site.host.log.wait("call begins", begun + 1).await;

        for second in &rows {
            let answer = match held.conflict(second) {
                None if second.changes() => continue,
                // One needs a volume that is staged, which the held call may be about to unstage; the
                // other tries whether the pool can be written.
                None if ["NodeGetVolumeStats", "NodeGetStorageHealth"].contains(&second.method) => continue,
                conflict => ((call(&calls, second).run)(site.channel.clone(), objects.clone()).await, conflict),
            };
            let what = format!("{} beside {}", second.name(), held.name());
            match answer {
                (Err(status), Some(object)) => {
                    assert_eq!(status.code(), Code::Aborted, "{what}: {status:?}");
                    let pending = format!("{} is pending for {}", held.method, shown(object, &objects));
                    assert!(status.message().contains(&pending), "{what}: \"{pending}\" is not in {status:?}");
                    pairs += 1;
                }
                (Ok(()), None) => {}
                (answer, conflict) => panic!("{what}: {answer:?}, conflict: {conflict:?}"),
            }
        }
        assert!(first.try_join_next().is_none(), "{} is still held", held.name());
        site.pool.thaw();
        let ended = tokio::time::timeout(PATIENCE, first.join_next()).await.expect("it goes on");
        ended.unwrap().unwrap().unwrap_or_else(|status| panic!("{}: {status:?}", held.name()));
    }
    assert!(pairs > 150, "{pairs}");
}

/// A call that is held by another object's work is not told of it.
#[tokio::test]
async fn a_held_volume_holds_no_other() {
    if !is_root("held::pairs::a_held_volume_holds_no_other") {
        return;
    }
    let (site, calls, rows) = (Site::new().await, calls(), rows());
    let row = rows.iter().find(|row| row.method == "NodeStageVolume").unwrap();
    let (held, other) = (site.objects(0, row).await, site.objects(1, row).await);
    site.pool.freeze();
    let begun = site.host.log.with("call begins").len();
    let mut both = JoinSet::new();
    for objects in [held.clone(), other] {
        both.spawn((call(&calls, row).run)(site.channel.clone(), objects));
    }
    site.host.log.wait("call begins", begun + 2).await;
    let status = (call(&calls, row).run)(site.channel.clone(), held.clone()).await.unwrap_err();
    expect(&status, Code::Aborted, &shown("volume", &held));
    site.pool.thaw();
    for ended in both.join_all().await {
        ended.unwrap();
    }
}
