//! The last act: the backend's component is replaced while clients make volumes and take them away, by the command that
//! operators use. It counts what the clients notice; that they notice nothing is the host's part.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::transport::Channel;

use super::client::Side;
use super::{Walk, requests};
use crate::cli::call::{Whose, connect_to};
use crate::cli::demo::steps::Halt;
use drivebay_proto::admin::admin_client::AdminClient;
use drivebay_proto::admin::{GetHistoryRequest, ReloadRequest};
use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;

/// Clients at work at once.
const CLIENTS: usize = 4;
/// Bytes of one of their volumes.
const SMALL: i64 = 1 << 20;
/// Calls that are made before and after the swap, so that there is something on both sides of it.
const AROUND: u64 = 20;

/// What the clients saw.
#[derive(Debug, Default)]
struct Seen {
    calls: AtomicU64,
    failures: AtomicU64,
    longest: AtomicU64,
}

impl Seen {
    fn note<T>(&self, began: Instant, answer: &Result<T, Status>) {
        self.failures.fetch_add(u64::from(answer.is_err()), Ordering::Relaxed);
        self.longest.fetch_max(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Resolves when so many more calls have been answered.
    async fn more(&self, calls: u64) {
        let until = self.calls() + calls;
        let mut pace = tokio::time::interval(super::ASK_EVERY);
        while self.calls() < until {
            pace.tick().await;
        }
    }
}

impl Walk<'_> {
    /// Replaces the component under load, and demands that no call failed.
    pub(super) async fn swap_under_load(&mut self) -> Result<(), Halt> {
        let connected = connect_to(&self.place.admin, Whose::Host).await;
        let mut admin = AdminClient::new(self.steps.work("Opened the host's admin socket", connected)?);
        let controller = self.clients.of(Side::First).controller.clone();
        let (seen, over) = (Seen::default(), CancellationToken::new());
        let clients = (0..CLIENTS).map(|n| work(controller.clone(), format!("{}-load-{n}", self.tag), &seen, &over));
        let swapping = async {
            seen.more(AROUND).await;
            let before = seen.calls();
            let asked = admin.reload(futures_util::stream::iter([ReloadRequest {
                name: self.place.first.name.to_owned(),
                component: self.place.next.display().to_string(),
                wait: true,
                ..Default::default()
            }]));
            let swapped = swapped(asked).await;
            let during = seen.calls() - before;
            seen.more(AROUND).await;
            over.cancel();
            swapped.map(|words| (words, during))
        };
        let within = tokio::time::timeout(PATIENCE, swapping);
        let (swapped, _) = tokio::join!(
            async {
                let swapped = within.await;
                over.cancel();
                swapped.unwrap_or_else(|_| Err("it took more than two minutes".to_owned()))
            },
            futures_util::future::join_all(clients),
        );
        let (words, during) = self.steps.work("`drivebay reload --component` was asked for another build", swapped)?;
        let (calls, failures) = (seen.calls(), seen.failures.load(Ordering::Relaxed));
        let longest = seen.longest.load(Ordering::Relaxed);
        let told = format!("{CLIENTS} clients made {calls} calls, {during} of them during the swap ({words})");
        let noticed = if failures == 0 { Ok(()) } else { Err(format!("{failures} of {calls} calls failed")) };
        self.steps.work(&format!("{told}; the longest took {longest} ms, and none failed"), noticed)?;
        self.history(&mut admin).await
    }

    /// What operators see of it afterwards.
    async fn history(&mut self, admin: &mut AdminClient<Channel>) -> Result<(), Halt> {
        let asked = admin.get_history(GetHistoryRequest { name: self.place.first.name.to_owned() });
        let told = |said: &drivebay_proto::admin::GetHistoryResponse| {
            let told = said.attempts.iter().take(2).map(|attempt| {
                let digest: String = attempt.digest.chars().take("sha256:".len() + 12).collect();
                format!("generation {} ({digest}) is {}", attempt.generation, attempt.state)
            });
            told.collect::<Vec<_>>().join(", ")
        };
        self.steps.call("GetHistory", asked, told).await.map(drop)
    }
}

/// The swap may wait for a compiler on a machine that is busy.
const PATIENCE: Duration = Duration::from_mins(2);

async fn swapped(
    asked: impl Future<Output = Result<tonic::Response<drivebay_proto::admin::CommandResponse>, Status>>,
) -> Result<String, String> {
    let said = asked.await.map_err(|status| crate::cli::call::status_line(&status))?.into_inner();
    match said.refusal {
        None => Ok(said.words),
        Some(refusal) => Err(format!("{} ({})", refusal.words, refusal.id)),
    }
}

/// One client: makes a volume and takes it away, again and again, until it is over.
async fn work(mut controller: ControllerClient<Channel>, name: String, seen: &Seen, over: &CancellationToken) {
    let mut round = 0_u64;
    while !over.is_cancelled() {
        round += 1;
        let began = Instant::now();
        let made = controller.create_volume(requests::directory(&format!("{name}-{round}"), SMALL)).await;
        seen.note(began, &made);
        let Ok(made) = made else { continue };
        let volume_id = made.into_inner().volume.unwrap_or_default().volume_id;
        let began = Instant::now();
        let gone = controller.delete_volume(v1::DeleteVolumeRequest { volume_id, ..Default::default() }).await;
        seen.note(began, &gone);
    }
}
