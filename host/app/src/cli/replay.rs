//! `drivebay replay`: a component against a recording.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::{Exit, print, say};
use drivebay_recording::Recording;
use drivebay_replay::Unusable;

const EXAMPLES: &str = "Every call of the recording is made with its arguments, and what the component asks of the host is \
answered from the recording, without state, network or node. What it does otherwise is shown: other things that it does or \
leaves out, other arguments, other answers, other words in its log. Clocks, random bytes and settings answer whenever they are \
asked.

A secret stands in the recording as a name, and the component is given that name: what it derives from a secret (a signature, \
a part of it) is shown as a difference, but for digests in hexadecimal, and so is what it says itself where that happens to be a secret's value, such as a user's name.

Exit status: 0 all is as it was recorded, 1 something is not, 2 the recording cannot be used, or there is no component.

Examples:
  drivebay record array bug.jsonl --for 60s          an operator records
  drivebay replay bug.jsonl                          what is in it, and which component it was
  drivebay replay bug.jsonl array-1.2.0.wasm         the component that was recorded: does it show the bug?
  drivebay replay bug.jsonl target/array.wasm        one with a fix: what does it do otherwise?";

/// What `replay` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What `drivebay record`, `dev --record` or `test --deep` wrote.
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// The component, this version or another of the same backend.
    #[arg(value_name = "FILE.wasm")]
    component: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Replays.
pub(crate) fn run(args: &Args) -> Exit {
    match replay(args) {
        Ok(exit) => exit,
        Err(words) => {
            say(&words);
            Exit::Usage
        }
    }
}

fn replay(args: &Args) -> Result<Exit, String> {
    let recording = read(&args.recording)?;
    let recording =
        String::from_utf8(recording).map_err(|_| format!("{}: this is no text", args.recording.display()))?;
    let Some(component) = &args.component else {
        return Err(described(&Recording::read(&recording).map_err(|error| error.to_string())?));
    };
    let component = read(component)?;
    let runtime = super::runtime().map_err(|error| error.to_string())?;
    let report = runtime.block_on(drivebay_replay::replay(&recording, component.into()));
    let report = report.map_err(|error: Unusable| error.to_string())?;
    if args.json {
        print(&serde_json::to_string(&report).map_err(|error| error.to_string())?);
    } else {
        print(report.text().trim_end());
    }
    Ok(if report.same { Exit::Done } else { Exit::Failed })
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What is in a recording, and what it is to be replayed on.
fn described(recording: &Recording) -> String {
    let header = &recording.header;
    let end = match &recording.end {
        Some((_, false)) => "",
        Some((_, true)) => ", and was cut off",
        None => ", and its end is missing",
    };
    format!(
        "the recording has {} calls of {} ({}), served by drivebay {}{end}; name that component, or a later one of the \
         same backend",
        recording.calls(),
        header.component,
        header.digest,
        header.host,
    )
}
