//! Two hundred swaps under load: no failed call, no closed connection, and every answer from one version or
//! the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use drivebay_proto::pb::csi::v1::CreateVolumeResponse;
use tokio::task::JoinSet;

use super::*;
use crate::support::lasting::Lasting;

const CONNECTIONS: usize = 20;
const SWAPS: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_client_notices_two_hundred_swaps() {
    let versions = [version(1), version(2)];
    let components = versions.each_ref().map(|version| stamped(Guest("echo"), &[("version", version)]));
    let shelf = Shelf::with(&components[0]);
    let host = TestHost::start(Guest("echo"), Options::default().component(&shelf.file())).await;
    let (done, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut lanes = JoinSet::new();
    for lane in 0..CONNECTIONS {
        let mut connection = Lasting::open(&host.socket()).await;
        let (done, calls, versions) = (Arc::clone(&done), Arc::clone(&calls), versions.clone());
        lanes.spawn(async move {
            let mut seen = [0_usize; 2];
            for n in 0.. {
                let mut request = requests::create(&format!("v-{lane}-{n}"));
                request.parameters = [("version".to_owned(), "?".to_owned())].into();
                let answer: CreateVolumeResponse =
                    connection.call("/csi.v1.Controller/CreateVolume", &request).await.expect("no call fails");
                let by = &answer.volume.unwrap().volume_context["version"];
                seen[versions.iter().position(|version| version == by).expect("one version or the other")] += 1;
                calls.fetch_add(1, Ordering::Relaxed);
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
            assert!(!connection.is_closed());
            seen
        });
    }
    for swap in 0..SWAPS {
        let next = (swap + 1) % 2;
        std::fs::write(shelf.beside("next.wasm"), &components[next]).unwrap();
        std::fs::rename(shelf.beside("next.wasm"), shelf.file()).unwrap();
        // Going back to the older one is what force is for.
        host.told(&["reload", "under-test", "--wait", "--force"]).await;
    }
    done.store(true, Ordering::Relaxed);
    let seen = lanes.join_all().await;
    let both: [usize; 2] = [0, 1].map(|version| seen.iter().map(|seen| seen[version]).sum());
    assert!(both.iter().all(|count| *count > SWAPS), "{both:?}");
    assert_eq!(calls.load(Ordering::Relaxed), both.iter().sum::<usize>());
    let status = host.status().await;
    assert_eq!(status["errors"], 0, "{status:#?}");
    println!("{} calls during {SWAPS} swaps", calls.load(Ordering::Relaxed));
}
