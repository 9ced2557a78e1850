//! Whether schedules keep their time beside a first copy, and what both do to other calls. Beside each figure of calls stands
//! what a bare flush takes meanwhile, in the state's directory and in the pool: calls end with one, so what the disk cannot do
//! faster no call can.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::csi::v1::controller_server::Controller as _;
use tonic::Request;

use super::{GIB, MIB, Pair, Site, at};

/// Sources with a schedule, how often theirs comes round, and how much is changed in each.
const SOURCES: usize = 200;
const INTERVAL: Duration = Duration::from_mins(1);
/// How long the calls are measured alone.
const ALONE: Duration = Duration::from_secs(30);

/// Milliseconds, by what took them; sorted.
type Times = BTreeMap<&'static str, Vec<f64>>;

/// Prints how late the latest schedule was, and the calls of each phase.
pub(super) async fn schedules(pair: &Pair) -> Result<()> {
    let minutes = std::env::var("MINUTES").ok().map_or(Ok(3), |number| number.parse::<u32>())?;
    let (a, b) = (pair.site("a").await?, pair.site("b").await?);
    let large = a.create("large", 4 * GIB).await?;
    a.write(&large, 0, 4 * GIB, MIB, 1).await?;
    let mut sources = Vec::new();
    for number in 0..SOURCES {
        sources.push(a.create(&format!("source-{number}"), 16 * MIB).await?);
    }
    let phase = async |time| tokio::try_join!(calls(&a, time), flushes(pair, time));
    let alone = phase(ALONE).await?;
    told("alone", alone.clone());
    for id in &sources {
        a.enable(id, "1m").await?;
    }
    for id in &sources {
        a.info(id).await?;
    }
    println!("all {SOURCES} first transfers are whole");
    let (scheduled, _) = tokio::try_join!(phase(INTERVAL), watch(&a, &sources, INTERVAL))?;
    told("beside schedules", scheduled);
    a.enable(&large, "1h").await?;
    let (time, begin) = (INTERVAL * minutes, Instant::now());
    let (beside, cuts) = tokio::try_join!(phase(time), watch(&a, &sources, time))?;
    let copied = a.try_info(&large).await?.is_some();
    let state = if copied { "whole" } else { "still on its way" };
    println!("the large one is {state} after {:.0} s", begin.elapsed().as_secs_f64());
    println!("latest-schedule {:.0}% of the interval", latest(&cuts, minutes)? * 100.0);
    let of_all = |times: &Times| at(&all(times), 99);
    println!("p99-ratio {:.2}", of_all(&beside.0) / of_all(&alone.0));
    told("beside schedules and the first copy", beside);
    a.host.stop().await?;
    b.host.stop().await
}

fn told(phase: &str, (calls, flushes): (Times, Times)) {
    let every = [("calls", all(&calls))].into_iter().chain(calls).chain(flushes);
    for (what, times) in every {
        let [half, most, longest] = [50, 99, 100].map(|percent| at(&times, percent));
        println!("{phase}: {what}: p50 {half:.1} ms, p99 {most:.1} ms, longest {longest:.1} ms, {} times", times.len());
    }
}

fn all(times: &Times) -> Vec<f64> {
    sorted(times.values().flatten().copied().collect())
}

fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times
}

/// By how much of the interval the latest cut was later than its turn.
fn latest(cuts: &BTreeMap<String, Vec<f64>>, minutes: u32) -> Result<f64> {
    let mut late = 0.0_f64;
    for (id, moments) in cuts {
        ensure!(moments.len() >= usize::try_from(minutes)?.saturating_sub(1), "{id} was cut {} times", moments.len());
        for pair in moments.windows(2) {
            if let [before, after] = pair {
                late = late.max((after - before) / INTERVAL.as_secs_f64() - 1.0);
            }
        }
    }
    Ok(late)
}

/// What other calls take: a volume is made, looked at and deleted, ten times a second.
async fn calls(site: &Site, time: Duration) -> Result<Times> {
    let (begin, mut found) = (Instant::now(), Times::new());
    let mut pace = tokio::time::interval(Duration::from_millis(100));
    while begin.elapsed() < time {
        pace.tick().await;
        let mut one = Instant::now();
        let mut took = |what| {
            found.entry(what).or_default().push(one.elapsed().as_secs_f64() * 1000.0);
            one = Instant::now();
        };
        let id = site.create("other", 4 * MIB).await?;
        took("CreateVolume");
        let request = v1::ControllerGetVolumeRequest { volume_id: id.clone() };
        site.front.controller_get_volume(Request::new(request)).await?;
        took("ControllerGetVolume");
        let request = v1::DeleteVolumeRequest { volume_id: id, ..Default::default() };
        site.front.delete_volume(Request::new(request)).await?;
        took("DeleteVolume");
    }
    Ok(found.into_iter().map(|(what, times)| (what, sorted(times))).collect())
}

/// What it takes to put 4 KiB of an open file on disk, in the directory of the state and in the pool, ten times a second.
async fn flushes(pair: &Pair, time: Duration) -> Result<Times> {
    let site = pair.root.path().join("a");
    let places = [("a flush beside the state", site.join("probe")), ("a flush in the pool", site.join("pool/probe"))];
    let mut found = Times::new();
    for (what, probe) in places.map(|(what, path)| (what, tokio::task::spawn_blocking(move || flushed(path, time)))) {
        found.insert(what, sorted(probe.await??));
    }
    Ok(found)
}

fn flushed(path: PathBuf, time: Duration) -> Result<Vec<f64>> {
    let (begin, mut found) = (Instant::now(), Vec::new());
    let file = File::create(path)?;
    while begin.elapsed() < time {
        let one = Instant::now();
        file.write_all_at(&[1; 4096], 0)?;
        file.sync_data()?;
        found.push(one.elapsed().as_secs_f64() * 1000.0);
        std::thread::park_timeout(Duration::from_millis(100));
    }
    Ok(found)
}

/// Changes 1 MiB in each source a minute; gives the moments of the cuts that came through, by source. Each is asked
/// about several times a minute, so that no cut is missed between two questions.
async fn watch(site: &Site, sources: &[String], time: Duration) -> Result<BTreeMap<String, Vec<f64>>> {
    const QUESTIONS: usize = 6;
    let (begin, mut seen) = (Instant::now(), BTreeMap::<String, Vec<f64>>::new());
    let mut pace = tokio::time::interval(INTERVAL / u32::try_from(sources.len())?);
    let (mut round, mut asked) = (0, sources.iter().cycle());
    while begin.elapsed() < time {
        for id in sources {
            pace.tick().await;
            site.write(id, (round % 15) * MIB, (round % 15 + 1) * MIB, MIB, 1).await?;
            for id in asked.by_ref().take(QUESTIONS) {
                let Some(info) = site.try_info(id).await? else { continue };
                let moment = info.last_sync_time.context("a moment is told")?;
                let nanos = f64::from(moment.nanos) / 1e9;
                let moment = f64::from(u32::try_from(moment.seconds)?) + nanos;
                let moments = seen.entry(id.clone()).or_default();
                if moments.last().is_none_or(|last| *last < moment) {
                    moments.push(moment);
                }
            }
        }
        round += 1;
    }
    Ok(seen)
}
