//! The process for node work while the host runs: recovered at the start, replaced when it
//! dies. Decides nothing about calls: what was under way when it died is theirs to say. Why here: all
//! backends share it, so none of them can be the one to look after it.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio_util::sync::CancellationToken;

use drivebay_node::{self as node, Node, RecoveryReport};

/// The pause after a first failed start; it doubles up to `LONGEST_PAUSE`.
const PAUSE: Duration = Duration::from_millis(100);
/// Calls that need the node are refused meanwhile, and their clients repeat them.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Puts the node right after a crash, before any call.
///
/// # Errors
/// When the helper refuses its mandate, or its ledger cannot be compared with the system.
pub(super) async fn recover(node: &Node) -> Result<()> {
    let report = node.recover().await.context("the node's ledger cannot be recovered")?;
    say(&report);
    Ok(())
}

/// Starts another helper whenever the last one is gone, at once, because a file system may be frozen.
pub(super) async fn keep(node: Node, ending: CancellationToken) {
    loop {
        tokio::select! {
            () = ending.cancelled() => return,
            () = node.closed() => {}
        }
        tracing::error!("the process for node work ended; starting another");
        let mut pause = PAUSE;
        while let Err(error) = replace(&node).await {
            tracing::error!(%error, "the process for node work cannot be started; trying again");
            tokio::select! {
                () = ending.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

async fn replace(node: &Node) -> Result<(), node::NodeError> {
    if let Some(report) = node.respawn().await? {
        say(&report);
        tracing::info!(process = node.process_id(), "node work goes on in another process");
    }
    Ok(())
}

fn say(report: &RecoveryReport) {
    tracing::info!(
        kept = report.kept.len(),
        undone = report.undone.len(),
        vanished = report.vanished.len(),
        unresolved = report.unresolved.len(),
        "node ledger compared with the system"
    );
}
