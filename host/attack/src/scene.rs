//! One attack: a host process of its own with the hostile backend and a well-behaved neighbour, and what was seen of
//! it. Judges nothing by what the attacker says.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::transport::Channel;

use super::catalogue::PEACE;
use super::clients;
use super::model::{Act, Attack, Sign};
use super::network::{Arrival, Network};
use super::place::{Place, Stage, copy};
use super::process::{Process, client};
use super::times::{LOOK, PATIENCE};

/// How long the first host may take to be served, which compiles.
const COMPILING: Duration = Duration::from_mins(2);

/// How long copies are looked at that are under way when their call has been answered.
const LOOKING: Duration = Duration::from_secs(5);

/// What was seen of an attack.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// What the client was answered; none: it made no call.
    pub(super) answer: Option<Result<(), Status>>,
    /// What the host said.
    pub(super) log: String,
    /// Calls of the neighbour's client: all, and those that failed.
    pub(super) neighbour: (u64, u64),
    /// What is wrong with how the host ended.
    pub(super) end: Option<String>,
    /// Most resident memory of the host, in MiB.
    pub(super) memory: u64,
    /// Whether something outside of the grant was touched.
    pub(super) is_touched: bool,
    /// What was left over, or was where it must not be.
    pub(super) left: Vec<String>,
    /// What the state holds of the bytes that the attack writes, and how many copies were begun.
    pub(super) stored: usize,
    pub(super) copies: usize,
    /// What arrived in its network, and the names that were asked for.
    pub(super) arrivals: Vec<Arrival>,
    pub(super) asked: Vec<String>,
}

/// Compiles the guest once, so that not every host does the same: a host in peace, whose code is kept.
///
/// # Errors
/// When a host cannot be started at all, or cannot serve.
pub(super) async fn warm(stage: &mut Stage) -> Result<()> {
    let place = Place::new(stage, &PEACE)?;
    let mut host = Process::start(&place, None)?;
    // Nothing is compiled yet, and other work may leave little of the processor.
    client(&place.at("attacker.sock"), COMPILING).await.with_context(|| place.log())?;
    host.end(PATIENCE).await;
    let code = stage.root.join("code");
    copy(&place.at("state/code"), &code)?;
    stage.code = Some(code);
    Ok(())
}

/// Carries out one attack.
///
/// # Errors
/// When the host cannot be started at all: then nothing is known.
pub(super) async fn play(stage: &Stage, attack: &Attack) -> Result<Seen> {
    let place = Place::new(stage, attack)?;
    let network = if attack.act.is_in_a_network() { Some(Network::make(&place.directory).await?) } else { None };
    let mut host = Process::start(&place, network.as_ref())?;
    let mut seen = Seen::default();
    let neighbour = client(&place.at("neighbour.sock"), PATIENCE).await.with_context(|| place.log())?;
    let done = CancellationToken::new();
    let looks = copies(&host, &place, attack, done.clone());
    let ((all, failed), most, answer) = tokio::join!(calls(neighbour.clone(), done.clone()), looks, async {
        let answer = act(&place, attack, &neighbour, &mut seen.left).await;
        done.cancel();
        answer
    });
    seen.neighbour = (all, failed);
    seen.answer = answer?;
    seen.memory = host.held().peak / 1024;
    seen.copies = most;
    seen.end = host.end(stage.without.patience()).await;
    if let Sign::Stores(byte, _) = attack.sign {
        seen.stored = place.stored(byte);
    }
    seen.log = place.log();
    seen.is_touched = place.is_touched();
    seen.left.extend(place.holds());
    if let Some(network) = &network {
        (seen.arrivals, seen.asked) = network.seen();
    }
    Ok(seen)
}

/// Calls of a well-behaved client on the neighbour until told to stop: all, and those that failed.
async fn calls(channel: Channel, done: CancellationToken) -> (u64, u64) {
    let (mut all, mut failed) = (0, 0);
    while !done.is_cancelled() || all == 0 {
        let went_well = clients::good(&channel).await.is_ok();
        (all, failed) = (all + 1, failed + u64::from(!went_well));
        sleep(LOOK).await;
    }
    (all, failed)
}

/// The most copies of the large file that are under way at once, from the first to the last one, as far as that is seen.
async fn copies(host: &Process, place: &Place, attack: &Attack, done: CancellationToken) -> usize {
    if !matches!(attack.sign, Sign::Copies(_)) {
        return 0;
    }
    let (file, mut most, mut end) = (place.at("data/large"), 0, None);
    loop {
        let now = host.opened(&file);
        most = most.max(now);
        if done.is_cancelled() {
            // None may have begun when the call is answered.
            let is_over = end.get_or_insert_with(Instant::now).elapsed() > LOOKING;
            if is_over || (most > 0 && now == 0) {
                return most;
            }
        }
        sleep(LOOK).await;
    }
}

/// Does what the client of this attack does; gives its answer.
async fn act(
    place: &Place,
    attack: &Attack,
    neighbour: &Channel,
    left: &mut Vec<String>,
) -> Result<Option<Result<(), Status>>> {
    if attack.act == Act::Nothing {
        let until = if let Sign::Logged(words) = attack.sign { words } else { "" };
        let begin = Instant::now();
        // What does not show within the time is missing from the log, and that is judged.
        while !place.log().contains(until) && begin.elapsed() < place.without.patience() {
            sleep(LOOK).await;
        }
        return Ok(None);
    }
    let channel = client(&place.at("attacker.sock"), PATIENCE).await?;
    clients::ready(&channel).await?;
    if attack.act == Act::Renew {
        return clients::renew(place, &channel, neighbour, left).await.map(Some);
    }
    if attack.act.is_on_a_node() {
        return clients::publish(place, attack.act, &channel, neighbour, left).await.map(Some);
    }
    Ok(Some(clients::act(attack.act, &channel, place.without.patience()).await))
}
