//! The host of a test as the failing world sees it: started anew, and what its backend keeps.

use std::fs::DirEntry;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use async_trait::async_trait;
use tokio::time::Instant;

use crate::admin::recording;
use crate::host::Host;
use drivebay_backend::Readiness;
use drivebay_chaos::Stage;
use drivebay_policy::Config;
use drivebay_recording::{Bounds, Lines, Recorder};
use drivebay_state::Namespace;

/// How long a start may take, recovery included.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(5);

/// A host that serves one backend.
#[derive(Debug)]
pub(super) struct Served<'a> {
    host: &'a Host,
    config: &'a Config,
    /// Whether somebody wants recordings, and the one under way.
    records: bool,
    recording: Mutex<Option<(Arc<Recorder>, Lines)>>,
}

impl<'a> Served<'a> {
    pub(super) const fn new(host: &'a Host, config: &'a Config, records: bool) -> Self {
        Self { host, config, records, recording: Mutex::new(None) }
    }

    fn recording(&self) -> MutexGuard<'_, Option<(Arc<Recorder>, Lines)>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves when it takes calls: recovery may take as long as it needs for what was left.
    ///
    /// # Errors
    /// It takes none after a long time.
    pub(super) async fn ready(&self) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let readiness = self.host.backends().first().map(|backend| backend.health.readiness());
            match readiness {
                Some(Readiness::Starting | Readiness::Ready | Readiness::Unhealthy(_)) => return Ok(()),
                last if Instant::now() > until => bail!("it takes no calls: {last:?}"),
                _ => tokio::time::sleep(LOOK).await,
            }
        }
    }

    fn state(&self) -> Result<Namespace> {
        let backend = self.host.backends().into_iter().next().context("the backend is not there")?;
        let generation = backend.generation().context("the backend serves nothing")?;
        Ok(generation.around.state.clone())
    }
}

#[async_trait]
impl Stage for Served<'_> {
    /// The backend alone: instances, locks and the host's memory of it go, its state stays, and recovery runs.
    async fn restart(&self) -> Result<()> {
        self.host.configure(Config { backends: Vec::new(), ..self.config.clone() }).await?;
        self.host.configure(self.config.clone()).await?;
        self.ready().await?;
        // The backend is another one now. What it does when it starts is not recorded.
        let recorder = self.recording().as_ref().map(|(recorder, _)| Arc::clone(recorder));
        if let (Some(recorder), Some(backend)) = (recorder, self.host.backends().first()) {
            backend.recording.set(&recorder);
        }
        Ok(())
    }

    fn record(&self) {
        let backends = self.host.backends();
        let backend = backends.first().filter(|_| self.records);
        let Some((backend, generation)) = backend.and_then(|it| Some((it, it.generation()?))) else { return };
        // Nobody takes its lines before its end.
        let usual = Bounds::default();
        let header = recording::header(&backend.name, &generation);
        let (recorder, lines) = Recorder::begin(header, Bounds { waiting: usual.bytes * 2, ..usual });
        backend.recording.set(&recorder);
        *self.recording() = Some((recorder, lines));
    }

    fn recorded(&self) -> String {
        let Some((recorder, mut lines)) = self.recording().take() else { return String::new() };
        recorder.end("the scenario was over");
        if let Some(backend) = self.host.backends().first() {
            backend.recording.clear();
        }
        std::iter::from_fn(|| lines.next_ready()).collect()
    }

    async fn kept(&self) -> Result<u64> {
        let keys = self.state()?.used().await?.keys;
        let granted = self.config.backends.iter().flat_map(|backend| &backend.grants.directories);
        Ok(granted.filter(|grant| grant.write).map(|grant| files(&grant.host)).sum::<u64>() + keys)
    }

    async fn holds(&self, bytes: &[u8]) -> Result<bool> {
        let (state, mut after) = (self.state()?, None);
        loop {
            let page = state.range("", after.as_deref(), 0).await?;
            let Some(last) = page.last() else { return Ok(false) };
            let within = |whole: &[u8]| whole.windows(bytes.len().max(1)).any(|part| part == bytes);
            if page.iter().any(|entry| within(entry.key.as_bytes()) || within(&entry.value)) {
                return Ok(true);
            }
            after = Some(last.key.clone());
        }
    }
}

/// Files below a folder; what cannot be looked at is none. Folders are not counted: backends that spread objects over
/// many keep them.
fn files(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.map(|entry| if is_folder(&entry) { files(&entry.path()) } else { 1 }).sum()
}
