//! `drivebay dev`: builds, serves in a place of its own, and builds and swaps again when a source changes.
//!
//! It owns the order of these, and its folder. It builds with the vendor's tools and serves with this program's own
//! commands, so what a vendor sees is what operators will.

mod group;
mod host;
mod plan;
mod show;
mod sources;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use tokio::process::Command;

use group::Group;
use host::Host;
use plan::{MARK, Place, Plan};
use sources::Sources;

const EXAMPLES: &str = "It reads dev.toml, which `drivebay new` writes; with --component it needs none. Calls, what the backend logs and why \
it failed are printed; nothing is refused for what went wrong before. The state is empty at the start and gone at the end.

Examples:
  drivebay dev
  drivebay dev --component target/wasm32-wasip2/release/array.wasm -- cargo build --release --target wasm32-wasip2
  drivebay dev --record bug.jsonl
  drivebay call --socket .dev/csi.sock Controller/ListVolumes      in another terminal";

/// What `dev` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The file that says what is built, watched and served.
    #[arg(long, default_value = "dev.toml", conflicts_with = "component")]
    file: PathBuf,
    /// The file that the build leaves, where there is no dev.toml.
    #[arg(long, value_name = "FILE.wasm")]
    component: Option<PathBuf>,
    /// Where to serve. Removed at the end.
    #[arg(long, default_value = ".dev")]
    dir: PathBuf,
    /// Record what passes between the host and the backend, from its first version on until the end, for `drivebay replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The command that builds, instead of those of dev.toml.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

/// What is still mounted of a host with this state directory, in words.
pub type StillThere = fn(&Path) -> Result<Vec<String>>;

/// Works until `stop` resolves. `still_there` reads a host's ledger of node work.
///
/// # Errors
/// When the plan cannot be read, the place not be used, or the host not be started.
pub async fn run(args: &Args, program: PathBuf, still_there: StillThere, stop: impl Future<Output = ()>) -> Result<()> {
    let plan = plan(args)?;
    let place = Place { folder: std::path::absolute(&args.dir).context("--dir is no path")? };
    claim(&place, still_there)?;
    let mut work = Work {
        host: Host::new(program, place.clone(), args.record.clone()),
        plan,
        command: args.command.clone(),
        place,
        builds: 0,
    };
    let worked = tokio::select! {
        () = stop => Ok(()),
        worked = work.go() => worked,
    };
    let Work { host, place, .. } = work;
    host.end().await;
    release(&place, still_there);
    worked
}

/// The configuration of a host that serves `component`, or what `file` builds, in a folder as `dev` does. A `file` that is not
/// there is needed only where no component is named.
///
/// # Errors
/// What is wrong with the file.
pub fn configuration(file: &Path, component: Option<&Path>, folder: &Path) -> Result<String> {
    let plan = match (std::fs::read_to_string(file), component) {
        (Ok(text), _) => Plan::read(&text).with_context(|| file.display().to_string())?,
        (Err(error), Some(component)) if error.kind() == std::io::ErrorKind::NotFound => Plan::of(component.to_owned()),
        (Err(error), _) => {
            return Err(error).with_context(|| format!("{}: name a component, or a dev.toml", file.display()));
        }
    };
    let component = component.unwrap_or(&plan.component);
    // The name of the built-in backend is no path.
    let component = if component.is_file() { std::path::absolute(component)? } else { component.to_owned() };
    plan.configuration(&Place { folder: folder.to_owned() }, &component)
}

fn plan(args: &Args) -> Result<Plan> {
    if let Some(component) = &args.component {
        return Ok(Plan::of(component.clone()));
    }
    let file = args.file.display();
    let text = std::fs::read_to_string(&args.file).with_context(|| {
        format!("{file} cannot be read; make a project with `drivebay new`, or give --component and a command")
    })?;
    Plan::read(&text).with_context(|| file.to_string())
}

struct Work {
    plan: Plan,
    command: Vec<String>,
    place: Place,
    host: Host,
    /// How many components there were.
    builds: u32,
}

impl Work {
    async fn go(&mut self) -> Result<()> {
        let sources = Sources::watch(&self.plan.watch);
        loop {
            let seen = sources.look();
            if self.build().await? {
                self.serve().await?;
            }
            let changed = sources.differ_from(&seen).await;
            say(&format!("changed: {}", changed.display()));
        }
    }

    /// Whether a component was built.
    async fn build(&self) -> Result<bool> {
        let began = Instant::now();
        let commands: Vec<Command> = match self.command.split_first() {
            Some((program, words)) => {
                let mut command = Command::new(program);
                command.args(words);
                vec![command]
            }
            None => self.plan.build.iter().map(|line| shell(line)).collect(),
        };
        for mut command in commands {
            let status = Group::start(&mut command)?.ended().await?;
            if !status.success() {
                say(&format!("the build failed ({status}); what was served is served on"));
                return Ok(false);
            }
        }
        say(&format!("built in {:.1} s", began.elapsed().as_secs_f64()));
        Ok(true)
    }

    async fn serve(&mut self) -> Result<()> {
        let built = match std::fs::read(&self.plan.component) {
            Ok(built) => built,
            Err(error) => {
                say(&format!("the build left no {}: {error}", self.plan.component.display()));
                return Ok(());
            }
        };
        let before = self.place.component(self.builds);
        self.builds += 1;
        let component = self.place.component(self.builds);
        std::fs::write(&component, built).with_context(|| component.display().to_string())?;
        let configuration = self.plan.configuration(&self.place, &component)?;
        self.host.serve(&component, &configuration).await?;
        // The host has what it loaded.
        let _ = std::fs::remove_file(before);
        Ok(())
    }
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    command
}

/// Makes the folder ours: new, or one that an earlier run left.
fn claim(place: &Place, still_there: StillThere) -> Result<()> {
    let folder = place.folder.display();
    if std::os::unix::net::UnixStream::connect(place.admin()).is_ok() {
        bail!("another `drivebay dev` serves in {folder}; end it, or choose another place with --dir");
    }
    match std::fs::read_dir(&place.folder) {
        Ok(mut entries) => {
            if entries.next().is_some() && !is_ours(place) {
                bail!("{folder} has files that are not of `drivebay dev`; choose another place with --dir");
            }
            release(place, still_there);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| folder.to_string()),
    }
    std::fs::create_dir_all(&place.folder).with_context(|| folder.to_string())?;
    std::fs::write(place.configuration(), MARK).with_context(|| folder.to_string())
}

fn is_ours(place: &Place) -> bool {
    std::fs::read_to_string(place.configuration()).is_ok_and(|text| text.starts_with(MARK))
}

/// Removes what a run makes; a file of somebody else stays, and with it the folder. So does what the next host needs to take
/// mounts away that are still there.
fn release(place: &Place, still_there: StillThere) {
    let left = still_there(&place.state()).unwrap_or_else(|error| vec![format!("{error:#}")]);
    if !left.is_empty() {
        let folder = place.folder.display();
        say(&format!("still mounted: {}; {folder} stays, and the next run takes up from there", left.join(", ")));
        return;
    }
    // Last, as it is what tells that the folder is ours.
    let mut files: Vec<PathBuf> = vec![place.csi(), place.addons(), place.admin()];
    let entries = std::fs::read_dir(&place.folder).into_iter().flatten().filter_map(Result::ok);
    files.extend(entries.map(|entry| entry.path()).filter(|path| is_build(path)));
    files.push(place.configuration());
    let _ = std::fs::remove_dir_all(place.state());
    for file in files {
        let _ = std::fs::remove_file(file);
    }
    let _ = std::fs::remove_dir(&place.folder);
}

fn is_build(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("build-") && name.ends_with(".wasm")
}

/// Says something to the vendor.
fn say(words: &str) {
    // A reader that has gone away is no reason to fail.
    let _ = writeln!(std::io::stdout(), "{words}");
}
