//! What the node's ledger says to a call: the table of second publications (CSI,
//! "`NodePublishVolume`"), and telling the ledger how a call ended. The decision is pure.

use crate::{LedgerUse, Rpc};
use drivebay_backend::Lease;
use drivebay_contract::Call;
use drivebay_error::{CallError, Decision, NotReady};
use drivebay_node::{ErrorCode, Node, NodeError, Publication, PublicationKind};
use drivebay_sandbox::context::CallContext;

/// A volume that a call wants at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// What the ledger will hold when the call succeeds.
    pub publication: Publication,
    /// Whether one volume may stand at several paths of one node in this mode.
    pub paths: Paths,
    /// The staging path that a publish stands on, if it names one.
    pub stands_on: Option<String>,
}

/// How often a volume may be published on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paths {
    /// At one path only.
    One,
    /// At many.
    Many,
}

/// What the ledger says before the guest is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// Go on.
    Proceed,
    /// It is so already.
    Done,
    /// It cannot be.
    Refuse(Decision),
}

/// Compares what a call wants with what is there.
fn judge(wanted: &Placement, there: &[Publication]) -> Verdict {
    let new = &wanted.publication;
    let same_kind = || there.iter().filter(|old| old.kind == new.kind);
    if let Some(old) = same_kind().find(|old| old.path == new.path) {
        return if old.fingerprint == new.fingerprint {
            Verdict::Done
        } else {
            Verdict::Refuse(Decision::AlreadyExists(format!(
                "volume {} is {} at {} in another way (access mode {}{}); undo that first",
                new.volume,
                word(new.kind),
                new.path,
                old.access_mode,
                if old.readonly { ", read-only" } else { "" }
            )))
        };
    }
    if wanted.paths == Paths::One
        && let Some(old) = same_kind().next()
    {
        return Verdict::Refuse(Decision::FailedPrecondition(format!(
            "volume {} is {} at {} already, and access mode {} allows one path a node",
            new.volume,
            word(new.kind),
            old.path,
            new.access_mode
        )));
    }
    if let Some(staging) = &wanted.stands_on
        && !there.iter().any(|old| old.kind == PublicationKind::Stage && old.path == *staging)
    {
        return Verdict::Refuse(Decision::FailedPrecondition(format!(
            "volume {} is not staged at {staging}; stage it first",
            new.volume
        )));
    }
    Verdict::Proceed
}

const fn word(kind: PublicationKind) -> &'static str {
    match kind {
        PublicationKind::Stage => "staged",
        PublicationKind::Publish => "published",
    }
}

/// Answers a call from the ledger where that is possible.
pub(super) async fn decide<R: Rpc>(
    lease: &Lease,
    context: &CallContext,
    ledger: &LedgerUse,
) -> Result<Option<<R as Call>::Answer>, CallError> {
    let (Some(node), LedgerUse::Put(wanted)) = (&lease.around.node, ledger) else { return Ok(None) };
    let node = context.node(node);
    let there =
        node.publications(&lease.around.backend, Some(&wanted.publication.volume)).await.map_err(unavailable)?;
    match judge(wanted, &there) {
        Verdict::Proceed => Ok(None),
        Verdict::Refuse(decision) => Err(decision.into()),
        Verdict::Done => {
            tracing::debug!(call = context.id, "answered from the ledger");
            Ok(R::done())
        }
    }
}

/// Tells the ledger how the call ended: what it made is kept, or undone. A success that cannot be
/// written down is not reported as one.
pub(super) async fn conclude<T>(
    lease: &Lease,
    context: &CallContext,
    ledger: LedgerUse,
    answer: Result<T, CallError>,
) -> Result<T, CallError> {
    let Some(node) = &lease.around.node else { return answer };
    let node = context.node(node);
    let caller = context.caller(&lease.around.backend);
    match (ledger, answer) {
        (LedgerUse::None, answer) => answer,
        (LedgerUse::Put(wanted), Ok(value)) => {
            node.acknowledge(&caller, Some(wanted.publication)).await.map_err(unrecorded)?;
            Ok(value)
        }
        (LedgerUse::Remove { volume, path }, Ok(value)) => {
            node.forget(&caller, &volume, &path).await.map_err(unrecorded)?;
            Ok(value)
        }
        (LedgerUse::Put(_) | LedgerUse::Remove { .. }, Err(error)) => {
            // Host operations may still be on their way to the helper; what they make is undone too.
            context.settled().await;
            abandon(node, &caller).await;
            Err(error)
        }
    }
}

async fn abandon(node: &Node, caller: &drivebay_node::Caller) {
    if let Err(error) = node.abandon(caller).await
        // The next helper begins by undoing it.
        && error.code != ErrorCode::Gone
    {
        tracing::error!(call = caller.call, %error, "what the failed call made could not be undone; it will be at the next start");
    }
}

/// The call was done, but that could not be written down.
fn unrecorded(error: NodeError) -> CallError {
    if error.code == ErrorCode::Gone { CallError::NodeLost } else { unavailable(error) }
}

fn unavailable(error: NodeError) -> CallError {
    match error.code {
        ErrorCode::Invalid | ErrorCode::NotAllowed => {
            CallError::Invalid(drivebay_contract::Invalid::argument("path", error.message))
        }
        _ => CallError::NotReady(NotReady::Node(error.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publication(kind: PublicationKind, path: &str, fingerprint: &str) -> Publication {
        Publication {
            volume: "v".into(),
            kind,
            path: path.into(),
            fingerprint: fingerprint.into(),
            access_mode: "m".into(),
            readonly: false,
        }
    }

    fn wanted(path: &str, fingerprint: &str, paths: Paths) -> Placement {
        Placement { publication: publication(PublicationKind::Publish, path, fingerprint), paths, stands_on: None }
    }

    /// CSI's table: T is the target path, P are the other arguments.
    #[test]
    fn the_table_of_second_publications() {
        let there = [publication(PublicationKind::Publish, "/t1", "p1")];
        let (exists, precondition) = ("AlreadyExists", "FailedPrecondition");
        let cases = [
            (Paths::Many, "/t1", "p1", "Done"),
            (Paths::Many, "/t1", "p2", exists),
            (Paths::Many, "/t2", "p1", "Proceed"),
            (Paths::Many, "/t2", "p2", "Proceed"),
            (Paths::One, "/t1", "p1", "Done"),
            (Paths::One, "/t1", "p2", exists),
            (Paths::One, "/t2", "p1", precondition),
            (Paths::One, "/t2", "p2", precondition),
        ];
        for (paths, target, arguments, expected) in cases {
            let verdict = format!("{:?}", judge(&wanted(target, arguments, paths), &there));
            assert!(verdict.contains(expected), "{paths:?} {target} {arguments}: {verdict}");
        }
    }

    #[test]
    fn a_publish_stands_on_a_stage() {
        let mut wish = wanted("/t", "p", Paths::Many);
        wish.stands_on = Some("/s".into());
        assert!(matches!(judge(&wish, &[]), Verdict::Refuse(Decision::FailedPrecondition(_))));
        let staged = [publication(PublicationKind::Stage, "/s", "x")];
        assert_eq!(judge(&wish, &staged), Verdict::Proceed);
    }
}
