//! Where a component is tested: a temporary folder with its host's state, and what is read before the process gives its rights
//! up. Removed when it is dropped.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::Args;
use drivebay_chaos as chaos;
use drivebay_conformance::WithFile;
use drivebay_kit::dev;
use drivebay_policy::{Config, Problems};

/// A place.
#[derive(Debug)]
pub(super) struct Place {
    _folder: Folder,
    /// Where the driver listens.
    pub(super) csi: PathBuf,
    pub(super) addons: PathBuf,
    pub(super) config: Config,
    /// What conform is told.
    pub(super) with: WithFile,
    /// How volumes are asked for.
    pub(super) wish: chaos::Wish,
    pub(super) budget: Opened,
    /// Where the first finding is recorded.
    pub(super) recording: Option<Opened>,
}

/// A file of the vendor's, opened before the process may open files no more.
#[derive(Debug)]
pub(super) struct Opened {
    path: PathBuf,
    /// What it held; none: there was none.
    pub(super) before: Option<String>,
    /// To be written.
    file: Option<File>,
}

impl Place {
    /// Makes one.
    ///
    /// # Errors
    /// When the configuration or a file that is named is wrong, or no folder can be made.
    pub(super) fn new(args: &Args) -> Result<Self> {
        let told = told(args.with.as_deref())?;
        let budget = Opened::open(&args.budget, args.write_budget)?;
        let unique = getrandom::u64().context("the system gives no random number")?;
        let folder = std::env::temp_dir().join(format!("drivebay-test-{unique:016x}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("{}: no temporary directory can be made; set TMPDIR", folder.display()))?;
        // What fails from here on removes it.
        let folder = Folder(folder);
        let config = folder.config(args)?;
        let Some(backend) = config.backends.first() else { bail!("there is no backend") };
        let (csi, addons) = (backend.sockets.csi.clone(), backend.sockets.addons.clone());
        let (csi, addons) = (csi.unwrap_or_default(), addons.unwrap_or_default());
        let wish = wish(&told);
        let recording = args.record.as_ref().map(|file| Opened::open(file, true)).transpose()?;
        Ok(Self { csi, addons, config, with: within(told, &folder.0), wish, budget, recording, _folder: folder })
    }
}

/// A folder that is removed.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let folder = &self.0;
        let _ = std::fs::remove_file(folder.with_extension("sock"));
        if let Err(error) = std::fs::remove_dir_all(folder) {
            tracing::warn!(%error, folder = %folder.display(), "a temporary directory is left over");
        }
    }
}

impl Folder {
    fn config(&self, args: &Args) -> Result<Config> {
        let folder = &self.0;
        let text = dev::configuration(&args.file, args.component.as_deref(), folder)?;
        let file = folder.join("host.toml");
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        let mut config = Config::read(&file)?;
        config.host.admin = None;
        config.host.targets.push(folder.to_owned());
        let mut problems = Problems::default();
        if let Some(backend) = config.backends.first_mut() {
            // Beside the folder: where sockets are the host may write, and so it can remove the folder at the end.
            backend.sockets.csi = Some(folder.with_extension("sock"));
            args.grants.add_to(&mut backend.grants, &mut problems);
            for text in &args.set {
                match text.split_once('=') {
                    Some((key, value)) => backend.settings.push((key.to_owned(), value.to_owned())),
                    None => problems.add(format!("--set: \"{text}\" is not KEY=VALUE")),
                }
            }
        }
        Ok(problems.into_result("command line", config)?)
    }
}

fn told(file: Option<&Path>) -> Result<WithFile> {
    let Some(file) = file else { return Ok(WithFile::default()) };
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    WithFile::parse(&text).with_context(|| file.display().to_string())
}

fn within(mut with: WithFile, folder: &Path) -> WithFile {
    with.directories.work.get_or_insert_with(|| folder.to_owned());
    with
}

fn wish(with: &WithFile) -> chaos::Wish {
    let pairs = |words: &std::collections::BTreeMap<String, String>| {
        words.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let secrets = with.secrets.get("CreateVolume").or_else(|| with.secrets.get("all"));
    chaos::Wish {
        bytes: with.sizes.volume,
        parameters: pairs(&with.parameters.volume),
        secrets: secrets.map(pairs).unwrap_or_default(),
        block: with.asks_for_block(),
    }
}

impl Opened {
    fn open(path: &Path, writes: bool) -> Result<Self> {
        let named = || path.display().to_string();
        let before = match std::fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(named),
        };
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        let file = writes.then(|| options.open(path)).transpose().with_context(named)?;
        Ok(Self { path: path.to_owned(), before, file })
    }

    /// Replaces what is in it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, text: &str) -> Result<()> {
        let Some(mut file) = self.file.as_ref() else { return Ok(()) };
        let written = file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
        written.with_context(|| self.path.display().to_string())
    }
}
