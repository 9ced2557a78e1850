//! `drivebay status`: how the backends of a running host are, once or as it changes.

use std::time::Duration;

use clap::Parser;
use serde::Serialize;

use super::{Failure, Socket, moment, short, table};
use crate::cli::{Exit, print};
use drivebay_proto::admin::{Backend, GetStatusRequest};

/// How often `--watch` looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const EXAMPLES: &str = "Exit status: 0 every backend takes calls (active, trial), 1 one does not (drained, stopped, \
recovering, unhealthy, its breaker not closed, nothing loaded), there is none, or the host cannot be reached, \
2 wrong usage or no such backend.

Examples:
  drivebay status
  drivebay status local --json
  drivebay status --watch";

/// What `status` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The backends; unless given, all.
    names: Vec<String>,
    /// Print it again whenever it changes, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Print one JSON object (with --watch, one a line).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    socket: Socket,
}

/// What programs read.
#[derive(Debug, Serialize)]
struct Report {
    backends: Vec<Row>,
    confinement: Option<Confinement>,
}

#[derive(Debug, Serialize)]
struct Confinement {
    capabilities: Vec<String>,
    no_new_privileges: bool,
    landlock: String,
    seccomp: String,
    mount: String,
    mounts: String,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    state: String,
    digest: Option<String>,
    version: Option<String>,
    generation: Option<u64>,
    since: Option<String>,
    calls: u64,
    errors: u64,
    instances: u64,
    grants: Vec<String>,
    last_refusal: Option<Refusal>,
    staging: Option<u64>,
    ready: Option<u64>,
    pinned: Option<String>,
    breaker: Option<Breaker>,
    component: String,
    configured: Option<String>,
    rolled_back: Option<String>,
    flaw: Option<String>,
}

#[derive(Debug, Serialize)]
struct Breaker {
    state: String,
    series: u32,
    again_in_ms: u64,
}

#[derive(Debug, Serialize)]
struct Refusal {
    id: String,
    words: String,
}

impl From<Backend> for Row {
    fn from(backend: Backend) -> Self {
        let text = |text: String| (!text.is_empty()).then_some(text);
        let number = |number: u64| (number > 0).then_some(number);
        Self {
            name: backend.name,
            state: backend.state,
            digest: text(backend.digest),
            version: text(backend.version),
            generation: number(backend.generation),
            since: moment(backend.since),
            calls: backend.calls,
            errors: backend.errors,
            instances: backend.instances,
            grants: backend.grants,
            last_refusal: backend.last_refusal.map(|refusal| Refusal { id: refusal.id, words: refusal.words }),
            staging: number(backend.staging),
            ready: number(backend.ready),
            pinned: text(backend.pinned),
            breaker: backend.breaker.map(|it| Breaker { state: it.state, series: it.series, again_in_ms: it.again_in }),
            component: backend.component,
            configured: text(backend.configured),
            rolled_back: text(backend.rolled_back),
            flaw: text(backend.flaw),
        }
    }
}

impl Row {
    /// Why it takes no calls, and what to do; none: it takes them.
    fn hindrance(&self) -> Option<String> {
        let name = &self.name;
        let why = match self.state.as_str() {
            "active" | "trial" => match self.breaker.as_ref() {
                Some(breaker) if breaker.state != "closed" => return Some(broken_line(name, breaker)),
                _ => return None,
            },
            "drained" => format!("an operator has drained it; `drivebay reload {name}` ends that"),
            "stopped" => format!("an operator has stopped it; `drivebay reload {name}` ends that"),
            "recovering" => "it finishes or undoes what was under way when the host ended".to_owned(),
            "unhealthy" => "its last probe failed; the host's log says why".to_owned(),
            "rejected" => format!("what was found is refused; `drivebay history {name}` says why"),
            "empty" => "nothing is loaded yet".to_owned(),
            other => format!("it is {other}"),
        };
        Some(format!("{name}: takes no calls: {why}"))
    }
}

impl Row {
    /// What becomes of new versions, where that is not what the configuration leads to expect.
    fn source(&self) -> Vec<String> {
        let Self { name, component, .. } = self;
        let instead = self.configured.as_ref().map(|configured| {
            format!(
                "{name}: {component} was loaded by a command; the configured component ({configured}) is not watched until \
                 the configuration changes or the host restarts"
            )
        });
        let left = self.rolled_back.as_ref().map(|digest| {
            format!(
                "{name}: {component} holds {}, which was rolled back; it is loaded when it has changed, or by `drivebay reload \
                 {name} --force`",
                short(digest)
            )
        });
        instead.into_iter().chain(left).collect()
    }
}

/// Prints how the backends are.
pub(crate) fn run(args: &Args) -> Exit {
    args.socket.run(async |mut client| {
        let mut last = String::new();
        let mut stop = std::pin::pin!(crate::cli::asked_to_stop());
        loop {
            let request = GetStatusRequest { names: args.names.clone() };
            let answer = client.get_status(request).await?.into_inner();
            let rows: Vec<Row> = answer.backends.into_iter().map(Row::from).collect();
            let all_serve = !rows.is_empty() && rows.iter().all(|row| row.hindrance().is_none());
            let confinement = answer.confinement.map(|it| Confinement {
                capabilities: it.capabilities,
                no_new_privileges: it.no_new_privileges,
                landlock: it.landlock,
                seccomp: it.seccomp,
                mount: it.mount,
                mounts: it.mounts,
            });
            let report = Report { backends: rows, confinement };
            let text = if args.json { json(&report, args.watch)? } else { people(&report) };
            if text != last {
                print(&text);
            }
            if !args.watch {
                return Ok(if all_serve { Exit::Done } else { Exit::Failed });
            }
            last = text;
            tokio::select! {
                () = &mut stop => return Ok(Exit::Done),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    })
}

fn json(report: &Report, one_line: bool) -> Result<String, Failure> {
    let text = if one_line { serde_json::to_string(report) } else { serde_json::to_string_pretty(report) };
    text.map_err(|error| Failure::Failed(error.to_string()))
}

fn people(report: &Report) -> String {
    let rows = &report.backends;
    let cells = rows.iter().map(|row| {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        [
            row.name.clone(),
            row.state.clone(),
            row.generation.map_or_else(|| "-".to_owned(), |number| number.to_string()),
            text(&row.version),
            row.digest.as_deref().map_or_else(|| "-".to_owned(), short),
            text(&row.since),
            row.calls.to_string(),
            row.errors.to_string(),
            row.instances.to_string(),
        ]
    });
    if rows.is_empty() {
        return "There is no backend: add a [[backend]] section to the host's configuration.".to_owned();
    }
    let heading = ["NAME", "STATE", "GENERATION", "VERSION", "DIGEST", "SINCE", "CALLS", "ERRORS", "INSTANCES"];
    let mut lines = table::lay_out(heading, &cells.collect::<Vec<_>>());
    for row in rows {
        lines.extend(row.staging.map(|number| format!("{}: generation {number} is being staged", row.name)));
        lines.extend(row.pinned.as_ref().map(|digest| format!("{}: only {digest} is allowed", row.name)));
        lines.extend(row.source());
        lines.extend(row.hindrance());
        let flaw = row.flaw.as_ref();
        lines.extend(flaw.map(|flaw| format!("{}: breaks the contract, for its vendor to mend: {flaw}", row.name)));
        let refusal = row.last_refusal.as_ref();
        lines.extend(refusal.map(|refusal| format!("{}: last refused: {} ({})", row.name, refusal.words, refusal.id)));
    }
    lines.extend(report.confinement.as_ref().map(confinement_line));
    lines.extend(report.confinement.as_ref().map(|it| format!("mounts: {}", it.mounts)));
    lines.join("\n")
}

fn confinement_line(it: &Confinement) -> String {
    let capabilities = if it.capabilities.is_empty() { "none".to_owned() } else { it.capabilities.join(" ") };
    format!(
        "confinement: capabilities {capabilities}; no new privileges {}; landlock {}; seccomp {}; a mount is {}",
        if it.no_new_privileges { "in force" } else { "not in force" },
        it.landlock,
        it.seccomp,
        it.mount
    )
}

fn broken_line(name: &str, breaker: &Breaker) -> String {
    let again = match breaker.again_in_ms {
        0 => "the next call tries it".to_owned(),
        time => format!("a call tries it in {} s", time.div_ceil(1_000)),
    };
    format!("{name}: breaker {}: calls are refused after a series that went wrong; {again}", breaker.state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(state: &str, breaker: Option<&str>) -> Row {
        let breaker =
            breaker.map(|state| drivebay_proto::admin::Breaker { state: state.to_owned(), ..Default::default() });
        Row::from(Backend {
            name: "array".to_owned(),
            state: state.to_owned(),
            generation: 1,
            breaker,
            ..Default::default()
        })
    }

    #[test]
    fn a_backend_serves_or_says_why_not() {
        for (state, breaker) in [("active", None), ("active", Some("closed")), ("trial", Some("closed"))] {
            assert_eq!(row(state, breaker).hindrance(), None, "{state} {breaker:?}");
        }
        for (state, breaker, words) in [
            ("active", Some("open"), "breaker open"),
            ("trial", Some("trying"), "breaker trying"),
            ("drained", None, "`drivebay reload array`"),
            ("stopped", None, "`drivebay reload array`"),
            ("recovering", None, "under way"),
            ("unhealthy", None, "probe"),
            ("rejected", None, "`drivebay history array`"),
            ("empty", None, "nothing is loaded"),
        ] {
            let said = row(state, breaker).hindrance().unwrap_or_default();
            assert!(said.starts_with("array: ") && said.contains(words), "{state}: {said}");
        }
    }
}
