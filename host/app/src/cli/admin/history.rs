//! `drivebay history`: the attempts to load generations of a backend, newest first.

use clap::Parser;
use serde::Serialize;

use super::{Failure, Socket, moment, short, table};
use crate::cli::{Exit, print};
use drivebay_proto::admin::{Attempt, GetHistoryRequest};

/// What `history` is told.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// The backend.
    name: String,
    /// Print one JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    socket: Socket,
}

#[derive(Debug, Serialize)]
struct Row {
    generation: u64,
    digest: String,
    state: String,
    activated: Option<String>,
    why: String,
    version: Option<String>,
    refusal: Option<String>,
}

impl From<Attempt> for Row {
    fn from(attempt: Attempt) -> Self {
        let text = |text: String| (!text.is_empty()).then_some(text);
        Self {
            generation: attempt.generation,
            digest: attempt.digest,
            state: attempt.state,
            activated: moment(attempt.activated),
            why: attempt.why.join("; "),
            version: text(attempt.version),
            refusal: text(attempt.refusal),
        }
    }
}

/// Prints the history.
pub(crate) fn run(args: &Args) -> Exit {
    args.socket.run(async |mut client| {
        let request = GetHistoryRequest { name: args.name.clone() };
        let answer = client.get_history(request).await?.into_inner();
        let rows: Vec<Row> = answer.attempts.into_iter().map(Row::from).collect();
        if args.json {
            print(&serde_json::to_string_pretty(&rows).map_err(|error| Failure::Failed(error.to_string()))?);
        } else {
            people(&rows);
        }
        Ok(Exit::Done)
    })
}

fn people(rows: &[Row]) {
    let cells = rows.iter().map(|row| {
        let why = match &row.refusal {
            Some(id) => format!("{} ({id})", row.why),
            None => row.why.clone(),
        };
        let activated = row.activated.clone().unwrap_or_else(|| "-".to_owned());
        let version = row.version.clone().unwrap_or_else(|| "-".to_owned());
        [row.generation.to_string(), row.state.clone(), version, short(&row.digest), activated, why]
    });
    let heading = ["GENERATION", "STATE", "VERSION", "DIGEST", "ACTIVATED", "WHY"];
    for line in table::lay_out(heading, &cells.collect::<Vec<_>>()) {
        print(&line);
    }
}
