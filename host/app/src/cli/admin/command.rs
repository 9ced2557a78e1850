//! `drivebay reload`, `rollback`, `pin`, `drain` and `stop`: what an operator tells a running host.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;

use super::{Failure, Socket};
use crate::cli::{Exit, print, say};
use drivebay_proto::admin::{CommandResponse, DrainRequest, PinRequest, ReloadRequest, RollbackRequest, StopRequest};
use drivebay_signature as signature;

const RELOAD: &str = "Exit status: 0 done (without --wait: begun), 1 refused, 2 wrong usage.

Examples:
  drivebay reload local --wait
  drivebay reload local --component ./new.wasm --wait
  drivebay reload local --component ./new.wasm --shadow 60s --canary 10 --wait
  drivebay reload local --force          also a lower version, fewer abilities, or what was rolled back";

/// Bytes of a component in one message: a quarter of what a host takes.
const PIECE: usize = 1 << 20;

/// What `reload` is told.
#[derive(Debug, Parser)]
#[command(after_help = RELOAD)]
pub(crate) struct Reload {
    /// The backend.
    name: String,
    /// Load this file from now on, until the configuration changes or the host restarts. It is sent to the host; where the
    /// host sees it as well, its changes are followed.
    #[arg(long, value_name = "FILE")]
    component: Option<PathBuf>,
    /// Wait until it serves or is refused.
    #[arg(long)]
    wait: bool,
    /// First let it serve so many of a hundred objects, for the trial's time; a reload without it ends that early.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    canary: Option<u8>,
    /// First let it hear for so long what is asked, and tell what it would have answered otherwise.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    shadow: Option<Duration>,
    /// Load it against the rules that protect from mistakes.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    socket: Socket,
}

/// What `rollback` is told.
#[derive(Debug, Parser)]
pub(crate) struct Rollback {
    /// The backend.
    name: String,
    /// Also if what was written in a newer format of the state is lost by it.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    socket: Socket,
}

/// What `pin` is told.
#[derive(Debug, Parser)]
pub(crate) struct Pin {
    /// The backend.
    name: String,
    /// The only digest that may be loaded: sha256:… or the digits alone, or the beginning of one in the history; `none`
    /// allows any again.
    digest: String,
    #[command(flatten)]
    socket: Socket,
}

/// What `drain` and `stop` are told.
#[derive(Debug, Parser)]
pub(crate) struct Close {
    /// The backend.
    name: String,
    #[command(flatten)]
    socket: Socket,
}

/// Loads what is there now.
pub(crate) fn reload(args: &Reload) -> Exit {
    args.socket.run(async |mut client| {
        let mut first = ReloadRequest {
            name: args.name.clone(),
            force: args.force,
            wait: args.wait,
            canary: args.canary.map_or(0, u32::from),
            shadow: args.shadow.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            ..ReloadRequest::default()
        };
        let pieces = match &args.component {
            Some(file) => pieces(&mut first, file)?,
            None => Vec::new(),
        };
        let messages = std::iter::once(first).chain(pieces);
        Ok(told(client.reload(futures_util::stream::iter(messages)).await?.into_inner()))
    })
}

/// The component in pieces, for a host that does not see this file; its signature goes with what is asked.
fn pieces(first: &mut ReloadRequest, file: &Path) -> Result<Vec<ReloadRequest>, Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("--component {}: {error}", file.display()));
    let path = std::path::absolute(file).map_err(failed)?;
    let bytes = drivebay_backend::read_file(&path).map_err(failed)?;
    for beside in [signature::beside(&path), signature::bundle_beside(&path)] {
        match drivebay_backend::read_file(&beside) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            signature => first.signature = signature.map_err(failed)?,
        }
        if !first.signature.is_empty() {
            break;
        }
    }
    first.component = path.to_string_lossy().into_owned();
    Ok(bytes.chunks(PIECE).map(|piece| ReloadRequest { piece: piece.to_vec(), ..ReloadRequest::default() }).collect())
}

/// Goes back to the generation before.
pub(crate) fn rollback(args: &Rollback) -> Exit {
    args.socket.run(async |mut client| {
        let request = RollbackRequest { name: args.name.clone(), force: args.force };
        Ok(told(client.rollback(request).await?.into_inner()))
    })
}

/// Allows one component alone.
pub(crate) fn pin(args: &Pin) -> Exit {
    args.socket.run(async |mut client| {
        let digest = if args.digest == "none" { String::new() } else { args.digest.clone() };
        if args.digest.is_empty() {
            return Err(Failure::Usage("the digest is empty; write sha256:… or `none`".to_owned()));
        }
        Ok(told(client.pin(PinRequest { name: args.name.clone(), digest }).await?.into_inner()))
    })
}

/// Takes no more calls.
pub(crate) fn drain(args: &Close) -> Exit {
    args.socket
        .run(async |mut client| Ok(told(client.drain(DrainRequest { name: args.name.clone() }).await?.into_inner())))
}

/// Takes no more calls and closes the sockets.
pub(crate) fn stop(args: &Close) -> Exit {
    args.socket
        .run(async |mut client| Ok(told(client.stop(StopRequest { name: args.name.clone() }).await?.into_inner())))
}

fn told(answer: CommandResponse) -> Exit {
    match answer.refusal {
        None => {
            print(&answer.words);
            Exit::Done
        }
        Some(refusal) => {
            say(&format!("{} ({})", refusal.words, refusal.id));
            Exit::Failed
        }
    }
}
