//! Whether publishing and demoting wait on a transfer of their volume: each is done with a transfer on
//! its way that takes far longer, and it must still be on its way when they are answered.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::csi::v1::node_server::Node as _;
use tonic::Request;

use super::{GIB, MIB, Pair, Site, again, at, capability, find, until};

/// What is sent first, and takes seconds.
const LARGE: u64 = 4 * GIB;
/// Publications before there is anything to wait for; the others come as long as the transfer lasts.
const ALONE: usize = 50;

/// Prints how long publishing took alone and beside the transfer, and the same of demoting.
pub(super) async fn waits(pair: &Pair) -> Result<()> {
    let (a, b) = (pair.site("a").await?, pair.site("b").await?);
    let used = Used::of(&a, "used").await?;
    let mut alone = Vec::new();
    for _ in 0..ALONE {
        alone.push(used.publish_and_back(&a).await?);
    }
    a.enable(&used.id, "1h").await?;
    let mut beside = Vec::new();
    while a.try_info(&used.id).await?.is_none() {
        beside.push(used.publish_and_back(&a).await?);
    }
    // The last one may have begun before the transfer's end and not been answered before it.
    beside.pop();
    ensure!(beside.len() >= 10, "the transfer was whole after {} publications", beside.len());
    for (name, times) in [("alone", &mut alone), ("beside its transfer", &mut beside)] {
        times.sort_by(f64::total_cmp);
        let (half, longest) = (at(times, 50), at(times, 100));
        println!("publishing {name}: p50 {half:.1} ms, longest {longest:.1} ms, {} times", times.len());
    }
    println!("longest-publish {:.1} times the longest alone", at(&beside, 100) / at(&alone, 100));
    used.unstage(&a).await?;

    // What was sent goes, and for an hour nothing comes after it.
    until(|| async { Ok(find(&pair.link, "manifest.json").is_ok_and(|it| it.is_none()).then_some(())) }).await?;
    let sent = a.create("sent", LARGE).await?;
    a.write(&sent, 0, LARGE, MIB, 1).await?;
    let begin = Instant::now();
    a.enable(&sent, "1h").await?;
    // Its first segment is there, and many are not.
    until(|| async { Ok(find(&pair.link, "000001.json").unwrap_or_default()) }).await?;
    // So that there is something to cut.
    a.write(&sent, 0, MIB, MIB, 1).await?;
    let busy = demoted(&a, &sent).await?;
    ensure!(find(&pair.link, "manifest.json")?.is_none(), "the transfer was whole before the answer");
    // The demoted side no longer tells; the link does.
    until(|| async { Ok(find(&pair.link, "manifest.json")?.map(drop)) }).await?;
    let whole = begin.elapsed();
    a.write(&used.id, 0, MIB, MIB, 1).await?;
    let quiet = demoted(&a, &used.id).await?;
    let [quiet, busy] = [quiet, busy].map(|time| time.as_secs_f64() * 1000.0);
    println!("demoting alone {quiet:.1} ms, beside its transfer {busy:.1} ms, of {:.0} s", whole.as_secs_f64());
    a.host.stop().await?;
    b.host.stop().await
}

/// How long it takes until a demotion is acknowledged, repetitions included.
async fn demoted(site: &Site, id: &str) -> Result<Duration> {
    let begin = Instant::now();
    site.demote(id).await?;
    Ok(begin.elapsed())
}

/// A staged volume, and where it is staged and published.
struct Used {
    id: String,
    staging: PathBuf,
    target: PathBuf,
}

impl Used {
    async fn of(site: &Site, name: &str) -> Result<Self> {
        let id = site.create(name, LARGE).await?;
        site.write(&id, 0, LARGE, MIB, 1).await?;
        let pod = site.pool.with_file_name(format!("pod-{name}"));
        let (staging, target) = (pod.join("staging"), pod.join("target"));
        std::fs::create_dir_all(&staging)?;
        let request = v1::NodeStageVolumeRequest {
            volume_id: id.clone(),
            staging_target_path: text(&staging)?,
            volume_capability: Some(block()),
            ..Default::default()
        };
        site.front.node_stage_volume(Request::new(request)).await?;
        Ok(Self { id, staging, target })
    }

    /// Milliseconds that publishing takes.
    async fn publish_and_back(&self, site: &Site) -> Result<f64> {
        let request = v1::NodePublishVolumeRequest {
            volume_id: self.id.clone(),
            staging_target_path: text(&self.staging)?,
            target_path: text(&self.target)?,
            volume_capability: Some(block()),
            ..Default::default()
        };
        let begin = Instant::now();
        again(|| site.front.node_publish_volume(Request::new(request.clone()))).await?;
        let took = begin.elapsed();
        let (volume_id, target_path) = (self.id.clone(), text(&self.target)?);
        let request = v1::NodeUnpublishVolumeRequest { volume_id, target_path };
        again(|| site.front.node_unpublish_volume(Request::new(request.clone()))).await?;
        Ok(took.as_secs_f64() * 1000.0)
    }

    async fn unstage(&self, site: &Site) -> Result<()> {
        let (volume_id, staging_target_path) = (self.id.clone(), text(&self.staging)?);
        let request = v1::NodeUnstageVolumeRequest { volume_id, staging_target_path };
        again(|| site.front.node_unstage_volume(Request::new(request.clone()))).await
    }
}

fn block() -> v1::VolumeCapability {
    let mode = capability::access_mode::Mode::SingleNodeWriter.into();
    v1::VolumeCapability {
        access_type: Some(capability::AccessType::Block(capability::BlockVolume {})),
        access_mode: Some(capability::AccessMode { mode }),
    }
}

fn text(path: &std::path::Path) -> Result<String> {
    Ok(path.to_str().context("paths here are text")?.to_owned())
}
