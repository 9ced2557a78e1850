//! One host that goes on: it meets all attacks that a host can be told while it serves, as often as asked, beside a
//! neighbour whose calls are timed in peace and under attack. Owns what is measured when; the attacks are the table's.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::{StreamExt as _, stream};
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::Channel;

use super::catalogue::{ALL, PEACE};
use super::clients;
use super::lasting::{Lasting, ratio};
use super::meter::{self, Calls, Mix};
use super::model::{Act, Attack, Guest};
use super::place::{Place, Stage};
use super::process::{Held, Process, client};
use super::times::{LOOK, PATIENCE};
use super::{judge, modules};

/// Attacks under way at once: as many as its budget lets a backend have without its reads.
const AT_ONCE: usize = 4;
/// How long the neighbour is looked at in peace: with some hundred calls, so that its p99 is not one call's mishap.
const PEACEFUL: Duration = Duration::from_secs(4);
/// How long what a host holds after a round is looked at.
const SETTLING: Duration = Duration::from_millis(1_500);
/// Backends that do a deed of their own accord, all the time: name, place, deed.
const OTHERS: [(&str, &str, &str); 4] = [
    ("probing", "probe", "loop"),
    ("stepping", "step", "loop"),
    ("recovering", "recover", "trap"),
    ("swapped", "", ""),
];

/// What can be told in a request, and what a component can be swapped for.
fn told() -> (Vec<&'static str>, Vec<super::model::Module>) {
    let deed = |attack: &&Attack| match (attack.guest, attack.act) {
        (Guest::Does("create", deed), Act::Create) => Some(deed),
        _ => None,
    };
    let module = |attack: &Attack| match attack.guest {
        // What is refused for its time alone takes that time.
        Guest::Starts(module) if attack.by != "compile-time" => Some(module),
        _ => None,
    };
    let deeds = ALL.iter().filter_map(|attack| deed(&attack).filter(|_| attack.by != "jobs")).collect();
    (deeds, ALL.iter().filter_map(module).collect())
}

/// The host when it has met all attacks, and what was seen until then.
pub(super) struct Survivor {
    place: Place,
    host: Process,
    /// As far as it is known.
    lasting: Lasting,
}

const ATTACK: &Attack = &Attack { id: "lasting", ..PEACE };

/// The configuration of the host; the breaker is to let the attacks through.
fn configure(place: &Place, others: &[(&str, &str, &str)]) -> Result<()> {
    let text = place.configuration(ATTACK, others)?.replace("failures = \"4\"", "failures = \"1000000\"");
    Ok(std::fs::write(place.at("host.toml"), text)?)
}

/// Plays it.
///
/// # Errors
/// When the host cannot be started, or does not answer.
pub(super) async fn play(stage: &Stage, rounds: usize) -> Result<Survivor> {
    let place = Place::new(stage, ATTACK)?;
    for (name, ..) in OTHERS {
        std::fs::copy(place.at("neighbour.wasm"), place.at(&format!("{name}.wasm")))?;
    }
    configure(&place, &[])?;
    let host = Process::start(&place, None)?;
    let (neighbour, attacker) = (place.at("neighbour.sock"), client(&place.at("attacker.sock"), PATIENCE).await?);
    clients::ready(&attacker).await?;
    let calm = meter::beside(neighbour.clone(), Mix::Plain, sleep(PEACEFUL)).await?;
    let before = settled(&host).await;
    configure(&place, &OTHERS)?;
    host.signal(Signal::HUP);
    client(&place.at("swapped.sock"), PATIENCE).await.with_context(|| place.log())?;
    let (deeds, modules) = told();
    // Made before anything is timed.
    let modules: Vec<_> = modules.into_iter().map(|module| modules::with(&stage.guest, module)).collect();
    let (mut held, mut stormy) = (Vec::new(), Calls::default());
    for _ in 0..rounds {
        let calls = stream::iter(&deeds).map(|deed| told_to(&attacker, &place, deed)).buffer_unordered(AT_ONCE);
        let swaps = async {
            for module in &modules {
                swap(&place, module.clone()).await;
            }
        };
        let all = async { drop(tokio::join!(calls.collect::<Vec<()>>(), swaps)) };
        stormy = stormy.and(meter::beside(neighbour.clone(), Mix::Plain, all).await?);
        held.push(settled(&host).await);
    }
    let (quiet, under) = (calm.p99(), stormy.p99());
    let lasting = Lasting {
        p99_in_peace_us: quiet,
        p99_under_attack_us: under,
        times: ratio(under, quiet),
        neighbour_calls: calm.len() + stormy.len(),
        neighbour_failures: calm.failed + stormy.failed,
        attacks: deeds.len() + modules.len(),
        before,
        rounds: held,
        after: Held::default(),
        capabilities: host.capabilities(),
        left: String::new(),
    };
    Ok(Survivor { place, host, lasting })
}

impl Survivor {
    /// Takes away what attacks of its own accord, waits until the host holds what it did before, and ends it.
    ///
    /// # Errors
    /// When its configuration cannot be written.
    pub(super) async fn rest(mut self) -> Result<Lasting> {
        configure(&self.place, &[])?;
        self.host.signal(Signal::HUP);
        let begin = Instant::now();
        // Threads that wait for work of the file system end when none has come for a while (`cli::IDLE`).
        while !self.host.held().is_within(&self.lasting.before) && begin.elapsed() < PATIENCE {
            sleep(LOOK).await;
        }
        self.lasting.after = self.host.held();
        let end = self.host.end(PATIENCE).await;
        let left = end.into_iter().chain(self.place.holds()).chain(judge::panics(&self.place.log()));
        self.lasting.left = left.collect::<Vec<_>>().join("; ");
        Ok(self.lasting)
    }
}

/// One attack by a call; whatever comes of it, it ends.
async fn told_to(channel: &Channel, place: &Place, deed: &str) {
    let deed = deed.replace("{place}", &place.directory.display().to_string());
    // What the table says of it was judged with a host of its own.
    let _ended = clients::told(channel, &format!("bad {deed}"), &deed).await;
}

/// One attack by another component, which the host looks at and refuses.
async fn swap(place: &Place, mut component: Vec<u8>) {
    let (new, file) = (place.at("new.wasm"), place.at("swapped.wasm"));
    let mut seen = place.log_length();
    // Another file each time: what was refused before is not looked at again.
    modules::mark(&mut component, seen);
    if std::fs::write(&new, component).and_then(|()| std::fs::rename(&new, file)).is_err() {
        return;
    }
    // What is never refused shows in the memory, or in the neighbour.
    let _ = timeout(PATIENCE, async {
        loop {
            let log = place.log_from(seen);
            if log.lines().any(|line| line.contains("swapped") && line.contains(judge::REFUSED)) {
                break;
            }
            // Whole lines are read once: what reads takes from the processors of the host that is looked at.
            seen += log.rfind('\n').map_or(0, |end| end as u64 + 1);
            sleep(LOOK).await;
        }
    })
    .await;
}

/// What the host holds when what it does of its own accord has ended: the least that is seen in a while.
async fn settled(host: &Process) -> Held {
    let mut least = host.held();
    let begin = Instant::now();
    while begin.elapsed() < SETTLING {
        let held = host.held();
        least.memory = least.memory.min(held.memory);
        least.descriptors = least.descriptors.min(held.descriptors);
        least.threads = least.threads.min(held.threads);
        least.peak = held.peak;
        sleep(LOOK).await;
    }
    least
}
