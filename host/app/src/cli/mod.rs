//! The command line: one file a subcommand. Turns words into calls of the library and results into
//! exit statuses: 0 done, 1 the thing asked for failed, 2 wrong usage or configuration.

mod admin;
#[cfg(feature = "drill")]
mod attack;
mod call;
mod check;
mod conform;
mod demo;
mod grant_options;
mod keys;
mod kit;
pub mod part;
mod replay;
mod serve;
mod test;

use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::prelude::*;

use crate::BuiltIn;

/// What the shell learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well.
    Done,
    /// What was checked or asked for failed.
    Failed,
    /// Wrong usage or configuration.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Usage => Self::from(2),
        }
    }
}

/// The target of lines about the use of grants.
const AUDIT: &str = "audit";
/// A thread for work on files ends when it had none for so long. Such work comes now and then for every file that is
/// watched, which would keep the threads of one busy moment for good if they waited for it.
const IDLE: Duration = Duration::from_secs(1);

/// A plug-in host for storage: CSI and csi-addons in front, WebAssembly backends behind.
#[derive(Debug, Parser)]
#[command(name = "drivebay", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    /// How log lines are written to standard error.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// What is logged, for example `info` or `drivebay=debug,guest=info`. Unless given: `info` when
    /// serving, `warn` otherwise, so that log lines do not run through what a command prints. Lines of `audit` are
    /// written unless it is named, as are those of `progress`.
    #[arg(long, global = true, env = "DRIVEBAY_LOG")]
    log: Option<String>,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  drivebay demo                                       try it, with the built-in backend
  drivebay serve local --csi unix:///run/csi.sock     serve one backend
  drivebay serve --config /etc/drivebay.toml          serve what a file describes
  drivebay config > drivebay.toml                     a configuration to begin with
  drivebay new my-array                               begin a backend of your own
  drivebay check backend.wasm                         what is in a component, and whether it fits
  drivebay test backend.wasm --deep                   test a component, also in a world that fails
  drivebay record array bug.jsonl --for 60s           write down what a backend does, for a bug report
  drivebay replay bug.jsonl backend.wasm              what a component does with a recording
  drivebay conform --csi unix:///run/csi.sock         test any driver against the rules
  drivebay call --socket /run/csi.sock csi.v1.Identity/GetPluginInfo";

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the built-in backend and walk through a volume's life.
    Demo(demo::Args),
    /// Serve backends over CSI and csi-addons.
    Serve(Box<serve::Args>),
    /// Call one method of a driver and print its answer as JSON.
    Call(call::Args),
    /// Show what a component or a configuration contains, and what is wrong with it.
    Check(check::Args),
    /// Begin a project: a backend that works, with its tests and every command.
    New(drivebay_kit::project::Args),
    /// Build and serve a backend while it is worked on: after every change, at once.
    Dev(drivebay_kit::dev::Args),
    /// Serve a component in a place of its own and judge it: the rules of CSI, its budget, and a failing world.
    Test(Box<test::Args>),
    /// Write the contract that backends are written against.
    Wit(drivebay_kit::contract::Args),
    /// Make bindings and components, for languages whose toolchain makes none.
    Component(drivebay_kit::component::Args),
    /// Make a package of a component, in an OCI image layout.
    Package(drivebay_package::commands::Package),
    /// Write a component, or what is in a layout, into a registry.
    Push(drivebay_package::commands::Push),
    /// Fetch a package out of a registry.
    Pull(drivebay_package::commands::Pull),
    /// Show what a package says of itself.
    Inspect(drivebay_package::commands::Inspect),
    /// Print a configuration with every key, its default and what it does.
    Config,
    /// Test any driver, in any language, against the rules of CSI and csi-addons, over its sockets.
    Conform(Box<drivebay_conformance::Args>),
    /// Run the attacks of hostile backends against a host of this program.
    #[cfg(feature = "drill")]
    Attack(attack::Args),
    /// Write down what passes between a running host and a backend, for a bug report.
    Record(admin::record::Args),
    /// Replay a recording on a component and show what it does otherwise.
    Replay(replay::Args),
    /// Show the state of the backends of a running host.
    Status(admin::status::Args),
    /// List the generations of a backend, newest first.
    History(admin::history::Args),
    /// Load the present component, through the same gate as any change.
    Reload(admin::command::Reload),
    /// Return to the previous generation.
    Rollback(admin::command::Rollback),
    /// Allow only one component.
    Pin(admin::command::Pin),
    /// Take no more calls; running calls end.
    Drain(admin::command::Close),
    /// Take no more calls and close the sockets.
    Stop(admin::command::Close),
    /// Make a pair of keys for signing components.
    Keygen(keys::Keygen),
    /// Sign a component, or a package in a registry.
    Sign(keys::Sign),
    /// Tell whether one of these keys signed a component or a package.
    Verify(drivebay_package::commands::Verify),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Runs the command that the process was started with.
pub fn main(built_in: &'static BuiltIn) -> ExitCode {
    if let Some(ended) = part::run(built_in) {
        return ended;
    }
    begin(Cli::parse(), built_in)
}

/// Serves a configuration as `serve --config` does.
#[cfg(feature = "drill")]
pub(crate) fn serve_configured(config: &std::path::Path, built_in: &'static BuiltIn) -> ExitCode {
    let words = ["drivebay", "serve", "--config"].map(std::ffi::OsStr::new);
    begin(Cli::parse_from(words.into_iter().chain([config.as_os_str()])), built_in)
}

fn begin(cli: Cli, built_in: &'static BuiltIn) -> ExitCode {
    drivebay_sandbox::memory::keep_no_large_blocks();
    if let Err(error) = log(&cli) {
        say(&format!("--log: {error}"));
        return Exit::Usage.into();
    }
    match cli.command {
        Command::Demo(args) => demo::run(&args, built_in.local).into(),
        Command::Serve(args) => serve::run(&args, built_in.local).into(),
        Command::Call(args) => call::run(&args).into(),
        Command::Check(args) => check::run(&args, built_in.local).into(),
        Command::New(args) => kit::told(drivebay_kit::project::run(&args)).into(),
        Command::Dev(args) => kit::dev(&args).into(),
        Command::Test(args) => test::run(&args, built_in.local).into(),
        Command::Wit(args) => kit::told(drivebay_kit::contract::run(&args)).into(),
        Command::Component(args) => kit::told(drivebay_kit::component::run(&args)).into(),
        Command::Package(args) => kit::with_program(|program| args.run(program)).into(),
        Command::Push(args) => kit::with_program(|program| args.run(program)).into(),
        Command::Pull(args) => kit::told(args.run()).into(),
        Command::Inspect(args) => kit::told(args.run()).into(),
        Command::Verify(args) => kit::told(args.run()).into(),
        Command::Config => {
            print(drivebay_policy::example().trim_end());
            ExitCode::SUCCESS
        }
        Command::Conform(args) => conform::run(&args).into(),
        #[cfg(feature = "drill")]
        Command::Attack(args) => attack::run(&args, built_in.faulty).into(),
        Command::Record(args) => admin::record::run(&args).into(),
        Command::Replay(args) => replay::run(&args).into(),
        Command::Status(args) => admin::status::run(&args).into(),
        Command::History(args) => admin::history::run(&args).into(),
        Command::Reload(args) => admin::command::reload(&args).into(),
        Command::Rollback(args) => admin::command::rollback(&args).into(),
        Command::Pin(args) => admin::command::pin(&args).into(),
        Command::Drain(args) => admin::command::drain(&args).into(),
        Command::Stop(args) => admin::command::stop(&args).into(),
        Command::Keygen(args) => keys::keygen(&args).into(),
        Command::Sign(args) => keys::sign(&args, built_in.local).into(),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "drivebay", &mut std::io::stdout());
            ExitCode::SUCCESS
        }
    }
}

fn log(cli: &Cli) -> Result<(), ParseError> {
    let unless_given = match cli.command {
        Command::Serve(_) => "info",
        // Calls that fail are what it is about, and its report tells of them.
        Command::Test(_) => "off,audit=off,progress=off",
        _ => "warn",
    };
    let mut targets: Targets = cli.log.as_deref().unwrap_or(unless_given).parse()?;
    // What backends did with their grants, and what is waited for, is no matter of taste, unless it is named.
    for always in [AUDIT, drivebay_backend::PROGRESS] {
        if !targets.iter().any(|(target, _)| target == always) {
            targets = targets.with_target(always, LevelFilter::INFO);
        }
    }
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    match cli.log_format {
        LogFormat::Text => {
            use std::io::IsTerminal;
            let lines = lines.with_ansi(std::io::stderr().is_terminal());
            tracing_subscriber::registry().with(lines.with_filter(targets)).init();
        }
        LogFormat::Json => tracing_subscriber::registry().with(lines.json().with_filter(targets)).init(),
    }
    Ok(())
}

/// Tells the person at the terminal what is wrong.
#[expect(clippy::print_stderr, reason = "the command line is where words go to standard error")]
pub(crate) fn say(words: &str) {
    eprintln!("drivebay: {words}");
}

/// Prints a line of a command's result.
pub(crate) fn print(line: &str) {
    use std::io::Write;
    // A reader that has gone away (a closed pipe) is no reason to fail.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The runtime that commands run on.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().thread_keep_alive(IDLE).build()
}

/// Resolves, each time that it is called, when the process is told to read its configuration again: SIGHUP.
/// Caught from this call on.
pub(crate) fn told_to_reread() -> impl FnMut() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    use tokio::signal::unix::{SignalKind, signal};
    let hangups = signal(SignalKind::hangup()).ok().map(|signal| Arc::new(tokio::sync::Mutex::new(signal)));
    move || {
        let hangups = hangups.clone();
        Box::pin(async move {
            match hangups {
                Some(hangups) => drop(hangups.lock().await.recv().await),
                None => std::future::pending().await,
            }
        })
    }
}

/// Resolves when the process is told to end: SIGTERM or Ctrl-C. Both are caught from this call on, so
/// call it before anything that takes time.
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut signals: Vec<_> =
        [SignalKind::terminate(), SignalKind::interrupt()].into_iter().filter_map(|kind| signal(kind).ok()).collect();
    async move {
        let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        if any.len() == 0 {
            // No signal can be caught; the process ends as signals end it.
            std::future::pending::<()>().await;
        }
        futures_util::future::select_all(any).await;
    }
}
