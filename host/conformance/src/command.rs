//! The command `conform` from its arguments to its exit status: reads the files, hears the user's Ctrl-C, writes the
//! reports. It judges nothing, so that who uses the crate as a library needs none of it.

use std::io::{self, Write};
use std::path::Path;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::args::Form;
use crate::catalogue::{Rule, rules};
use crate::{Args, Report, Wish, WithFile, judge, report};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Every rule that was judged is kept.
    Good,
    /// A rule is broken or could not be judged, something was left behind, or the run ended early.
    Broken,
    /// The command line or the file of `--with` is wrong, nobody answers at a socket, or the run was interrupted before
    /// its first rule.
    Usage,
}

impl Exit {
    /// What the shell learns.
    pub const fn status(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Broken => 1,
            Self::Usage => 2,
        }
    }
}

/// Runs the command: reads the files, judges the driver, writes the reports.
pub async fn run(args: &Args) -> Exit {
    let ended = if args.list { listed(args) } else { judged(args).await };
    ended.unwrap_or_else(|why| {
        let _ = writeln!(io::stderr().lock(), "error: {why}");
        Exit::Usage
    })
}

fn listed(args: &Args) -> Result<Exit, String> {
    let chosen: Vec<Rule> = rules().into_iter().filter(|rule| args.choice().has(rule.id)).collect();
    let text = if args.form() == Form::Json { json(&chosen)? } else { report::list(&chosen) };
    print(&text)?;
    Ok(Exit::Good)
}

async fn judged(args: &Args) -> Result<Exit, String> {
    let mut with = read(args.with.as_deref())?;
    with.strict |= args.strict;
    with.restart = args.restart.clone().or(with.restart);
    let (telling, wished) = watch::channel(Wish::GoOn);
    let mut interrupts = Interrupts::new()?;
    let (sites, choice) = (args.sites()?, args.choice());
    let told = |line: &str| drop(writeln!(io::stderr().lock(), "{line}"));
    let judging = judge(&sites, with, &choice, wished, &told);
    let mut judging = std::pin::pin!(judging);
    let report = loop {
        tokio::select! {
            report = &mut judging => break report?,
            () = interrupts.next() => {
                let next = if *telling.borrow() == Wish::GoOn { Wish::End } else { Wish::Leave };
                told(words(next));
                telling.send_replace(next);
            }
        }
    };
    let report = report.with_command(args.again());
    if let Some(file) = &args.junit {
        std::fs::write(file, report::junit(&report)).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    print(&written(&report, args.form())?)?;
    Ok(if report.is_good() { Exit::Good } else { Exit::Broken })
}

fn written(report: &Report, form: Form) -> Result<String, String> {
    Ok(match form {
        Form::Text => report::text(report),
        Form::Json => json(report)?,
        Form::Html => report::html(report),
    })
}

const fn words(wish: Wish) -> &'static str {
    match wish {
        Wish::GoOn => "",
        Wish::End => "interrupted: what was made is removed now; interrupt again to leave it",
        Wish::Leave => "interrupted again: what is not removed yet is left behind",
    }
}

/// Ctrl-C and SIGTERM, heard from the beginning to the end: one that comes while nobody waits is not lost.
struct Interrupts([Signal; 2]);

impl Interrupts {
    fn new() -> Result<Self, String> {
        let heard = |kind| signal(kind).map_err(|e| format!("the system gives no signals: {e}"));
        Ok(Self([heard(SignalKind::interrupt())?, heard(SignalKind::terminate())?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

fn read(file: Option<&Path>) -> Result<WithFile, String> {
    let Some(file) = file else { return Ok(WithFile::default()) };
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    WithFile::parse(&text).map_err(|e| format!("{}: {e}", file.display()))
}

fn json<T: serde::Serialize>(of: &T) -> Result<String, String> {
    serde_json::to_string_pretty(of).map(|text| text + "\n").map_err(|e| e.to_string())
}

fn print(text: &str) -> Result<(), String> {
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|e| format!("the report cannot be written: {e}"))
}
