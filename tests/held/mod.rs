//! Which calls exclude each other on the reference backend, where the work is real: calls are held in
//! the midst of it by a pool that is frozen or a program that waits. `locks.rs` shows every rule with
//! a backend that does what it is told; here is shown that nothing slips past the rules on disks and
//! mounts. What locks what is read from `tests/facts/locks.tsv`.

mod calls;
mod pairs;
mod rows;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::volume_capability::{AccessType, BlockVolume};
use drivebay_proto::pb::csi::v1::{CreateVolumeRequest, ListVolumesRequest, Volume};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use crate::support::{Gate, Guest, Node, Options, PATIENCE, Pool, TestHost, expect, is_root, refused, requests, run};

const MIB: i64 = 1 << 20;

/// An image with a file system, made by a program.
fn formatted(name: &str, bytes: i64) -> CreateVolumeRequest {
    CreateVolumeRequest { capacity_range: Some(requests::size(bytes)), ..requests::create(name) }
}

/// A raw image.
fn block(name: &str, bytes: i64) -> CreateVolumeRequest {
    let mut request = formatted(name, bytes);
    request.volume_capabilities[0].access_type = Some(AccessType::Block(BlockVolume {}));
    request
}

/// A host whose file systems are made when the gate lets them.
async fn gated(pool: &Pool, options: Options) -> (Gate, TestHost) {
    let gate = Gate::before("mkfs.ext4");
    let options = options.pool(&pool.path(), Node::Withheld).variable("PATH", &gate.path());
    let host = TestHost::start(Guest::LOCAL, options).await;
    (gate, host)
}

/// Repeats a creation for as long as the one before is under way, as clients do.
async fn when_free(
    client: &mut ControllerClient<Channel>,
    request: &CreateVolumeRequest,
) -> Result<Response<drivebay_proto::pb::csi::v1::CreateVolumeResponse>, Status> {
    let begin = Instant::now();
    loop {
        match client.create_volume(request.clone()).await {
            Err(status) if status.code() == Code::Aborted && begin.elapsed() < PATIENCE => {
                tokio::task::yield_now().await;
            }
            answer => return answer,
        }
    }
}

async fn volumes(client: &mut ControllerClient<Channel>) -> Vec<Volume> {
    let listed = client.list_volumes(ListVolumesRequest::default()).await.unwrap().into_inner();
    listed.entries.into_iter().filter_map(|entry| entry.volume).collect()
}

/// The file system in a volume's image is without fault.
fn check_image(pool: &Pool, volume: &str) {
    let image = pool.path().join(format!("volumes/{}/{volume}/image", &volume[..2]));
    run("e2fsck", &["-fn", image.to_str().unwrap()]);
}

const PENDING: &str = "CreateVolume is pending for volume name \"a\"";

#[tokio::test]
async fn a_client_that_goes_away_changes_nothing() {
    let pool = Pool::plain();
    let (mut gate, host) = gated(&pool, Options::default()).await;
    let mut client = host.controller().await;
    let mut gone = JoinSet::new();
    let mut first = host.controller().await;
    gone.spawn(async move { first.create_volume(formatted("a", 16 * MIB)).await });
    gate.entered().await;
    gone.shutdown().await;

    expect(&refused(client.create_volume(formatted("a", 16 * MIB)).await), Code::Aborted, PENDING);
    assert_eq!(volumes(&mut client).await, [], "it is not there before it is whole");
    gate.open().await;
    // Only the call of the client that has gone can have made it.
    let status = refused(when_free(&mut client, &formatted("a", 32 * MIB)).await);
    expect(&status, Code::AlreadyExists, "differs");
    let volume = client.create_volume(formatted("a", 16 * MIB)).await.unwrap().into_inner().volume.unwrap();
    assert_eq!(volumes(&mut client).await, std::slice::from_ref(&volume));
    assert!(!gate.was_entered(), "its file system was made once");
    check_image(&pool, &volume.volume_id);
}

/// The client's time is over first; the guest and the program go on.
#[tokio::test]
async fn a_call_goes_on_after_its_deadline() {
    let pool = Pool::plain();
    let (mut gate, host) = gated(&pool, Options::default()).await;
    let mut client = host.controller().await;
    let mut request = Request::new(formatted("a", 16 * MIB));
    // The host answers 100 ms before this; with less a crowded machine would let the client end first.
    request.set_timeout(Duration::from_secs(5));
    expect(&refused(client.create_volume(request).await), Code::DeadlineExceeded, "still under way");
    gate.entered().await;
    expect(&refused(client.create_volume(formatted("a", 16 * MIB)).await), Code::Aborted, PENDING);
    gate.open().await;
    let volume = when_free(&mut client, &formatted("a", 16 * MIB)).await.unwrap().into_inner().volume.unwrap();
    assert_eq!(volumes(&mut client).await, std::slice::from_ref(&volume));
    assert!(!gate.was_entered(), "its file system was made once");
    check_image(&pool, &volume.volume_id);
}

/// The guest's time is over, too; the program goes on, and the volume is locked until it has ended.
/// Whether it ends well or not, the next call finds the volume whole or not at all.
#[tokio::test]
async fn a_program_outlasts_the_call_that_started_it() {
    let pool = Pool::plain();
    let (mut gate, host) = gated(&pool, Options::default().limit("change-time", "4s")).await;
    let mut client = host.controller().await;
    for ends_well in [false, true] {
        let status = refused(client.create_volume(formatted("a", 16 * MIB)).await);
        expect(&status, Code::Unavailable, "under way; repeat the request");
        gate.entered().await;
        // Its guest has answered, so what is pending is the program.
        expect(&refused(client.create_volume(formatted("a", 16 * MIB)).await), Code::Aborted, PENDING);
        assert_eq!(volumes(&mut client).await, []);
        if ends_well {
            gate.open().await;
            break;
        }
        gate.fail().await;
        let status = refused(when_free(&mut client, &formatted("a", 16 * MIB)).await);
        assert_ne!(status.code(), Code::Aborted, "{status:?}");
        assert_eq!(volumes(&mut client).await, [], "it is absent");
        let objects =
            pool.contents().into_keys().filter(|path| path.ends_with("image") || path.ends_with("record.json"));
        assert_eq!(objects.collect::<Vec<_>>(), Vec::<std::path::PathBuf>::new(), "nothing of it is left");
    }
    let volume = when_free(&mut client, &formatted("a", 16 * MIB)).await.unwrap().into_inner().volume.unwrap();
    assert_eq!(volumes(&mut client).await, std::slice::from_ref(&volume));
    assert!(!gate.was_entered(), "its file system was made once more, not twice");
    check_image(&pool, &volume.volume_id);
}

#[tokio::test]
async fn a_hundred_restores_of_one_snapshot() {
    if !is_root("held::a_hundred_restores_of_one_snapshot") {
        return;
    }
    let pool = Pool::on("xfs", 512);
    let host = TestHost::start(Guest::LOCAL, Options::default().pool(&pool.path(), Node::Withheld)).await;
    let channel = host.connect().await;
    let mut client = ControllerClient::new(channel.clone());
    let origin = client.create_volume(block("v", 4 * MIB)).await.unwrap().into_inner().volume.unwrap().volume_id;
    let image = |id: &str| pool.path().join(format!("volumes/{}/{id}/image", &id[..2]));
    std::fs::write(image(&origin), vec![0xa5; 4 << 20]).unwrap();
    let cut = client.create_snapshot(requests::snapshot("s", &origin)).await.unwrap().into_inner().snapshot.unwrap();
    std::fs::write(image(&origin), vec![0x5a; 4 << 20]).unwrap();
    let mut restores = JoinSet::new();
    for n in 0..100 {
        let (mut client, source) = (ControllerClient::new(channel.clone()), requests::restore("", &cut.snapshot_id));
        let request = CreateVolumeRequest {
            volume_content_source: source.volume_content_source,
            ..block(&format!("r{n}"), 4 * MIB)
        };
        restores.spawn(async move {
            loop {
                match client.create_volume(request.clone()).await {
                    // The budget of changes is 96; what finds no place comes again, as every client does.
                    Err(status) if status.message().contains("too many calls") => tokio::task::yield_now().await,
                    answer => return answer.unwrap().into_inner().volume.unwrap().volume_id,
                }
            }
        });
    }
    let mut ids = restores.join_all().await;
    for id in &ids {
        assert!(std::fs::read(image(id)).unwrap().iter().all(|byte| *byte == 0xa5), "{id}");
    }
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), volumes(&mut client).await.len()), (100, 101));
}
