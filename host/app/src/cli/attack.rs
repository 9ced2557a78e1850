//! `drivebay attack`: hostile guests against hosts of this very program, for operators and reviewers, who can switch a
//! limit off and see that it was the one. Owns its arguments and how the result is told; what is tried is `host/attack`.

use anyhow::Result;
use clap::Parser;
use drivebay_attack::{Plan, Report, play};

use super::admin::table;
use super::{Exit, asked_to_stop, print, say};

const EXAMPLES: &str =
    "Each attack runs against its own host process. It is contained if its client and the log saw what they should, \
nothing outside of its grants was reached, the neighbour's client saw nothing, and the host exited cleanly when asked to. \
Before that, backends of a host with the default limits use all they can, one kind of work after the other, while the \
neighbour commits, reads files and publishes: the p99 of its calls must stay within three times its value without load \
(the best of three measurements). Finally one host runs all attacks that a host survives, as often as --rounds says; what \
that cost its neighbour, and what the host held afterwards, is reported.

Exit status: 0 all contained (with `--without every`: none), 1 one is not, 2 wrong usage.

Examples:
  drivebay attack
  drivebay attack --only memory,loop-start
  drivebay attack --only storm         how a neighbour is served with the default limits
  drivebay attack --json               one object: every verdict, and the figures
  drivebay attack --without cpu        without this limit the attacks on it succeed
  drivebay attack --without every      each attack without its defence: none is contained";

/// What `attack` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only these attacks.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    only: Vec<String>,
    /// Switch one limit off and run the attacks on it; `every`: run each attack without its defence.
    #[arg(long, value_name = "LIMIT")]
    without: Option<String>,
    /// How often one host runs all attacks that it survives; 0: not at all.
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Others use this machine: report how long the neighbour's calls took, without judging it.
    #[arg(long)]
    shared_machine: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the attacks and tells what became of them.
pub(crate) fn run(args: &Args, guest: &'static [u8]) -> Exit {
    let plan = match Plan::new(&args.only, args.without.as_deref(), args.rounds) {
        Ok(plan) => plan,
        Err(error) => {
            say(&format!("{error:#}"));
            return Exit::Usage;
        }
    };
    let played = super::runtime().map_err(anyhow::Error::from).and_then(|runtime| {
        let played = runtime.block_on(async { play(&plan, guest, asked_to_stop()).await });
        // Who writes to what is frozen for good is not waited for.
        runtime.shutdown_background();
        played
    });
    match played.and_then(|report| tell(args, &report)) {
        Ok(exit) => exit,
        Err(error) => {
            say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}

fn tell(args: &Args, report: &Report) -> Result<Exit> {
    if args.json {
        print(&serde_json::to_string_pretty(report)?);
    } else {
        table::lay_out(Report::HEADING, &report.rows()).iter().chain(&report.lines()).for_each(|line| print(line));
    }
    Ok(if report.is_well(!args.shared_machine) { Exit::Done } else { Exit::Failed })
}
