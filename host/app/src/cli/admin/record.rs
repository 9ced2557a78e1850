//! `drivebay record`: writes down what passes between a running host and a backend. The host sends lines, and this process
//! writes them where the person stands: the host may write nowhere.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Parser;
use futures_util::StreamExt as _;
use futures_util::future::ready;

use super::{Failure, Socket};
use crate::cli::{Exit, asked_to_stop, say};
use drivebay_proto::admin::RecordRequest;
use drivebay_recording::{Recording, Unusable};

const EXAMPLES: &str = "Every call of the backend from now on is written with its arguments, what it asked of the host and what \
it was told: state, HTTP, node work, clocks, random bytes, its log. Calls are not held up; a recording that grows too long or is \
not taken fast enough ends, and its last line says so. Files in granted directories are not recorded.

Secrets of requests, passwords in settings and tokens that servers give are replaced by names, in every form in which they are \
masked in logs. Names of volumes, parameters and addresses are not, nor is a secret that the backend has changed, or that it was \
told before the recording began and has kept: read a recording before you give it away.

Exit status: 0 the recording is whole, 1 it is not, 2 wrong usage.

Examples:
  drivebay record array bug.jsonl --for 60s
  drivebay record array bug.jsonl               until Ctrl-C
  drivebay replay bug.jsonl array.wasm          what a component does with it";

/// What `record` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The backend.
    name: String,
    /// Where to write. The file is made, readable by its owner alone.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How long; without it, until it is interrupted.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// How long the recording may grow.
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    size: ByteSize,
    #[command(flatten)]
    socket: Socket,
}

/// Records.
pub(crate) fn run(args: &Args) -> Exit {
    args.socket.run(async |mut client| {
        let stop = asked_to_stop();
        let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", args.file.display()));
        let time = args.time.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let request = RecordRequest { name: args.name.clone(), time, bytes: args.size.as_u64() };
        // Before anything is recorded, so that nothing is lost.
        let mut file = open(args).map_err(failed)?;
        // Closed by an interruption: then the host sends the rest, and the end.
        let stopped = async move {
            stop.await;
            None
        };
        let asked = futures_util::stream::iter([request]).chain(futures_util::stream::once(stopped).filter_map(ready));
        let mut pieces = match client.record(asked).await {
            Ok(pieces) => pieces.into_inner(),
            Err(status) => {
                // Nothing is in it.
                let _ = std::fs::remove_file(&args.file);
                return Err(status.into());
            }
        };
        // Where it fails, the host or the connection has gone: what is there tells.
        while let Ok(Some(piece)) = pieces.message().await {
            file.write_all(&piece.piece).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        told(&std::fs::read_to_string(&args.file).map_err(failed)?)
    })
}

fn open(args: &Args) -> std::io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(&args.file)
}

/// Says what was recorded.
fn told(text: &str) -> Result<Exit, Failure> {
    let recording = Recording::read(text).map_err(|error: Unusable| Failure::Failed(error.to_string()))?;
    let calls = recording.calls();
    if !recording.header.directories.is_empty() {
        let all = recording.header.directories.join(", ");
        say(&format!("what it does in {all} is not recorded, so the recording can be read and not replayed"));
    }
    Ok(match recording.end {
        Some((_, false)) => {
            say(&format!("{calls} calls recorded"));
            Exit::Done
        }
        Some((why, true)) => {
            say(&format!("{calls} calls recorded, then the recording was cut off: {why}"));
            Exit::Failed
        }
        None => {
            say(&format!("{calls} calls recorded, then the host ended"));
            Exit::Failed
        }
    })
}
