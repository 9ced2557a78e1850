//! A host of two that replicate is killed between the steps of an operation: no volume is unreadable,
//! a copy is what a whole transfer made it, no acknowledged demotion is lost, both sides are never
//! primary, and the operation, repeated, comes to its end. Which steps there are a trace has shown.
//!
//! The background works beside the operation, so a step's number does not always name the same one;
//! the reference backend's own tests kill at every change with nothing beside it.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use tonic::{Code, Status};

use crate::sites::pair::{Copied, Pair, Which, repeated, repeated_while_unavailable, source, until};
use crate::support::PATIENCE;
use crate::support::place::PoolKind;
use crate::support::site::{Content, Volume};
use crate::support::tap::{Tap, Victim};

/// So many steps are tried at most, evenly over the trace; `KILLS=100` tries more.
const MOST: usize = 5;

/// Where words are written, and what they are.
const AT: u64 = 300_000;
const FIRST: &[u8] = b"before the first transfer";
const LAST: &[u8] = b"written while it is primary";
const LOST: &[u8] = b"written beside the primary.";

/// What is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Enable,
    /// A cut and all that is sent of it.
    Send,
    /// Taking it in, and putting it in place.
    Receive,
    Demote,
    Promote,
    /// Of the losing side of a split brain.
    Resync,
    Disable,
}

macro_rules! crashes {
    ($($name:ident: $operation:ident;)*) => {$(
        #[tokio::test]
        async fn $name() {
            every_crash(Operation::$operation).await;
        }
    )*};
}

crashes! {
    enable: Enable;
    send: Send;
    receive: Receive;
    demote: Demote;
    promote: Promote;
    resync: Resync;
    disable: Disable;
}

async fn every_crash(operation: Operation) {
    let Some((mut pair, tap)) = Pair::tapped(PoolKind::Xfs, operation.site()).await else { return };
    let steps = crash(&mut pair, &tap, operation, 0, None).await.steps;
    assert!(!steps.is_empty(), "the operation does nothing");
    forgotten(&pair).await;
    let most = std::env::var("KILLS").map_or(MOST, |number| number.parse().unwrap());
    let tried: BTreeSet<usize> = (0..most).map(|part| part * steps.len() / most).collect();
    let mut fired = 0;
    for (number, step) in tried.iter().enumerate() {
        println!("--- {operation:?}: killed before step {step} of {}, {}", steps.len(), steps[*step]);
        let seen = crash(&mut pair, &tap, operation, number + 1, Some(*step)).await;
        println!("    it was {:?}", seen.steps.last());
        fired += usize::from(seen.fired);
    }
    forgotten(&pair).await;
    assert!(fired * 2 >= tried.len(), "only {fired} of {} kills came", tried.len());
}

/// What stands in the link and in both pools besides what every pool of a site has.
fn standing(pair: &Pair) -> Vec<String> {
    let pools = [&pair.a, &pair.b].into_iter().flat_map(|end| end.site.place.in_pool());
    pair.replications().into_iter().chain(pools.filter(|name| name != "link.json")).collect()
}

/// Waits until both sites have taken note that all replications are over, and nothing is left of them.
async fn forgotten(pair: &Pair) {
    let gone = until(|| async { standing(pair).is_empty().then_some(()) }, "");
    assert!(tokio::time::timeout(PATIENCE / 2, gone).await.is_ok(), "never forgotten: {:?}", standing(pair));
}

/// One run of an operation on volumes of its own, cut off at a step or killed when it was done.
async fn crash(
    pair: &mut Pair,
    tap: &Tap,
    operation: Operation,
    number: usize,
    step: Option<usize>,
) -> crate::support::tap::Seen {
    let volume = pair.a.site.create(&format!("v{number}"), Content::Block, None).await.unwrap();
    pair.a.write(&volume, AT, FIRST);
    let copied = operation.prepare(pair, &volume).await;
    let before = copied.as_ref().map(|copied| pair.b.bytes(&copied.b));
    tap.arm(step, Victim::Host);
    let answer = operation.run(pair, &volume, copied.as_ref(), tap).await;
    let seen = tap.disarm();
    assert!(seen.fired || answer.is_ok(), "{answer:?}");
    let end = pair.end(operation.site());
    end.site.host.kill().await;
    end.site.host.start_again().await;

    if let (Some(copied), Some(before)) = (&copied, before) {
        let (a, b) = (pair.a.bytes(&copied.a), pair.b.bytes(&copied.b));
        assert!(b == a || b == before, "the copy is neither what it was nor what it should be");
        let both = [primary(pair, Which::A, &copied.a).await, primary(pair, Which::B, &copied.b).await];
        assert_ne!(both, [true, true], "both sides are primary");
        if answer.is_ok() {
            assert_eq!(both, operation.roles(), "an acknowledged change is lost: A, B");
        }
    }
    let copied = operation.finish(pair, &volume, copied).await;
    take_back(pair, &copied).await;
    seen
}

/// Whether a side is primary; only that is told how its replication does.
async fn primary(pair: &Pair, which: Which, volume: &Volume) -> bool {
    let looked = || async {
        match pair.at(which).try_info(&source(volume)).await {
            Ok(_) => Some(true),
            Err(status) => match status.code() {
                Code::NotFound => Some(true),
                Code::FailedPrecondition => Some(false),
                _ => None,
            },
        }
    };
    until(looked, "nobody says who is primary").await
}

/// Ends the replication at both sites and removes both volumes.
async fn take_back(pair: &Pair, copied: &Copied) {
    for (which, volume) in [(Which::A, &copied.a), (Which::B, &copied.b)] {
        repeated(|| async { pair.at(which).disable(&source(volume)).await }).await;
    }
    for (which, volume) in [(Which::A, &copied.a), (Which::B, &copied.b)] {
        let gone = || async { pair.at(which).site.delete(volume).await.ok() };
        until(gone, "the volume is never free").await;
    }
}

impl Operation {
    /// Whose host is killed.
    fn site(self) -> Which {
        match self {
            Self::Receive | Self::Promote => Which::B,
            _ => Which::A,
        }
    }

    /// Who is primary when it is done: A, B.
    fn roles(self) -> [bool; 2] {
        match self {
            Self::Enable | Self::Send | Self::Receive => [true, false],
            Self::Demote | Self::Disable => [false, false],
            Self::Promote | Self::Resync => [false, true],
        }
    }

    fn parameters(self) -> Json {
        match self {
            Self::Send | Self::Receive => json!({ "schedulingInterval": "1s" }),
            _ => json!({ "schedulingInterval": "1h" }),
        }
    }

    /// None: nothing is replicated yet.
    async fn prepare(self, pair: &Pair, volume: &Volume) -> Option<Copied> {
        if self == Self::Enable {
            return None;
        }
        let copied = pair.replicate(volume, self.parameters()).await;
        match self {
            Self::Enable | Self::Send | Self::Receive | Self::Disable => {}
            Self::Demote => pair.a.write(volume, AT, LAST),
            Self::Promote => {
                pair.a.write(volume, AT, LAST);
                repeated(|| async { pair.a.demote(&source(volume)).await }).await;
                arrived(pair, &copied).await;
            }
            Self::Resync => {
                repeated(|| async { pair.b.promote_by_force(&source(&copied.b)).await }).await;
                pair.a.write(volume, AT, LOST);
                pair.b.write(&copied.b, AT, LAST);
                repeated(|| async { pair.a.demote(&source(volume)).await }).await;
            }
        }
        Some(copied)
    }

    /// Asks for it once, or waits for the background until the host is killed.
    async fn run(self, pair: &Pair, volume: &Volume, copied: Option<&Copied>, tap: &Tap) -> Result<(), Status> {
        let copied = || copied.expect("it is replicated");
        match self {
            Self::Enable => pair.a.enable(&source(volume), self.parameters()).await.map(drop),
            Self::Send | Self::Receive => {
                pair.a.write(volume, AT, LAST);
                let done = || async { (tap.has_fired() || has_arrived(pair, copied())).then_some(()) };
                until(done, "what was written never comes").await;
                if tap.has_fired() { Err(Status::unavailable("killed")) } else { Ok(()) }
            }
            Self::Demote => pair.a.demote(&source(volume)).await.map(drop),
            Self::Promote => pair.b.promote(&source(&copied().b)).await.map(drop),
            Self::Resync => {
                let asked = || async {
                    match pair.a.resync(&source(volume)).await {
                        Ok(ready) => ready.then_some(Ok(())),
                        Err(status) if tap.has_fired() => Some(Err(status)),
                        Err(status) => {
                            assert!(AGAIN.contains(&status.code()), "{status:?}");
                            None
                        }
                    }
                };
                until(asked, "it is never ready").await
            }
            Self::Disable => pair.a.disable(&source(volume)).await.map(drop),
        }
    }

    /// Repeats it until it is done, and looks at what has become of both sides.
    async fn finish(self, pair: &Pair, volume: &Volume, copied: Option<Copied>) -> Copied {
        let a = source(volume);
        match self {
            Self::Enable => {
                let copied = pair.replicate(volume, self.parameters()).await;
                pair.assert_same(&copied);
                return copied;
            }
            Self::Send | Self::Receive => {
                arrived(pair, copied.as_ref().expect("it is replicated")).await;
            }
            Self::Demote => {
                repeated(|| async { pair.a.demote(&a).await }).await;
                let b = source(&copied.as_ref().expect("it is replicated").b);
                repeated_while_unavailable(|| async { pair.b.promote(&b).await }).await;
            }
            Self::Promote => {
                let b = source(&copied.as_ref().expect("it is replicated").b);
                repeated(|| async { pair.b.promote(&b).await }).await;
            }
            Self::Resync => {
                until(|| async { pair.a.resync(&a).await.ok().filter(|ready| *ready) }, "it is never ready").await;
            }
            Self::Disable => drop(repeated(|| async { pair.a.disable(&a).await }).await),
        }
        let copied = copied.expect("it is replicated");
        let word = if self == Self::Disable { FIRST } else { LAST };
        for (end, volume) in [(&pair.a, &copied.a), (&pair.b, &copied.b)] {
            assert_eq!(end.word(volume, AT, word.len()), word, "{self:?}");
        }
        pair.assert_same(&copied);
        copied
    }
}

/// What a client repeats.
const AGAIN: [Code; 2] = [Code::Aborted, Code::Unavailable];

fn has_arrived(pair: &Pair, copied: &Copied) -> bool {
    pair.b.word(&copied.b, AT, LAST.len()) == LAST
}

/// Waits until the last word is at B.
async fn arrived(pair: &Pair, copied: &Copied) {
    until(|| async { has_arrived(pair, copied).then_some(()) }, "what was written never comes").await;
}
