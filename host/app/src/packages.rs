//! Packages of a running host: when they are looked for, and what is said about it. Owns the times; fetching is a process
//! of its own, and what arrives is found by whoever watches the component's file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use drivebay_package::{Keeper, Named, Order, ResolvedPackage};
use drivebay_policy::{BackendConfig, Config};

/// After a first failure; it doubles up to `LONGEST_PAUSE`.
const PAUSE: Duration = Duration::from_secs(10);
/// A registry that was away for long is found again so soon.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// The packages of a host's backends.
#[derive(Debug, Default)]
pub struct Packages {
    keeper: Option<Keeper>,
    due: Mutex<BTreeMap<String, Due>>,
    changed: Notify,
}

/// When a backend's package is looked for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    refresh: Option<Duration>,
    at: Option<Instant>,
    failures: u32,
}

impl Due {
    /// After a look.
    fn after(self, is_done: bool, now: Instant) -> Self {
        if is_done {
            return Self { at: self.refresh.map(|refresh| now + refresh), failures: 0, ..self };
        }
        let pause = PAUSE.saturating_mul(1 << self.failures.min(8)).min(LONGEST_PAUSE);
        Self { at: Some(now + pause), failures: self.failures.saturating_add(1), ..self }
    }
}

impl Packages {
    /// Starts what fetches them, if a backend's component is one. To be called before this process gives up its rights.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub(crate) fn start(config: &Config) -> anyhow::Result<Self> {
        if config.backends.iter().all(|backend| backend.package.is_none()) {
            return Ok(Self::default());
        }
        let program = std::env::current_exe().context("the program does not know its own path")?;
        let keeper = Keeper::start(&program, &Order::of(config)).context("the process that keeps packages")?;
        Ok(Self { keeper: Some(keeper), ..Self::default() })
    }

    /// Has the package of a backend there, if its component is one. What is there already is not looked up before it is
    /// served: a host must start without its registry.
    ///
    /// # Errors
    /// Why it is not there, in words for the operator. It is tried again.
    pub(crate) async fn prepare(&self, backend: &BackendConfig) -> Result<(), String> {
        let Some(package) = &backend.package else {
            self.forget(&backend.name);
            return Ok(());
        };
        let looked = self.ask(&backend.name, false).await;
        let now = Instant::now();
        let due = Due { refresh: package.refresh, at: None, failures: 0 };
        let due = match &looked {
            // The tag may have moved while nobody looked.
            Ok(found) if !found.is_new && package.reference.digest.is_none() => Due { at: Some(now), ..due },
            _ => due.after(looked.is_ok(), now),
        };
        self.lock().insert(backend.name.clone(), due);
        self.changed.notify_one();
        looked.map(drop)
    }

    /// Looks for nothing of this backend any more.
    pub(crate) fn forget(&self, name: &str) {
        self.lock().remove(name);
    }

    /// Looks now, because an operator asks; nothing is to be done where the component is no package.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub(crate) async fn look(&self, name: &str) -> Result<(), String> {
        if !self.lock().contains_key(name) {
            return Ok(());
        }
        let looked = self.ask(name, true).await;
        self.note(name, looked.is_ok());
        looked.map(drop)
    }

    /// Looks whenever it is time, until it is dropped.
    pub(crate) async fn follow(self: Arc<Self>) {
        loop {
            let next = self.lock().iter().filter_map(|(name, due)| Some((due.at?, name.clone()))).min();
            let Some((at, name)) = next else {
                self.changed.notified().await;
                continue;
            };
            tokio::select! {
                () = sleep_until(at) => {}
                () = self.changed.notified() => continue,
            }
            let looked = self.ask(&name, true).await;
            self.note(&name, looked.is_ok());
        }
    }

    fn note(&self, name: &str, is_done: bool) {
        if let Some(due) = self.lock().get_mut(name) {
            *due = due.after(is_done, Instant::now());
        }
    }

    async fn ask(&self, name: &str, now: bool) -> Result<ResolvedPackage, String> {
        let asked = match &self.keeper {
            Some(keeper) => keeper.look(name, now).await,
            None => {
                Err("no package was configured when the host started, so nothing is there that fetches them; restart \
                         the host"
                    .to_owned())
            }
        };
        match &asked {
            Ok(ResolvedPackage { reference, digest, component, is_new }) => {
                let words = if *is_new { "a package was fetched" } else { "the package is there" };
                tracing::info!(backend = name, %reference, digest = %format!("sha256:{digest}"), %component, "{words}");
            }
            Err(error) => {
                tracing::error!(backend = name, %error, "the package cannot be had; what serves is not touched");
            }
        }
        asked
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Due>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds the packages in the text of a configuration.
///
/// # Errors
/// All its mistakes: one that the host would not take over is fetched nothing for.
pub fn read(name: &str, text: &str) -> Result<Vec<Named>, String> {
    Config::parse(name, text).map(|config| Named::all(&config)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_look_is_repeated_less_and_less_often_and_a_good_one_as_configured() {
        let now = Instant::now();
        let mut due = Due { refresh: None, at: Some(now), failures: 0 };
        let mut pauses = Vec::new();
        for _ in 0..8 {
            due = due.after(false, now);
            pauses.push((due.at.unwrap() - now).as_secs());
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(due.after(true, now), Due { refresh: None, at: None, failures: 0 });
        let refresh = Some(Duration::from_mins(1));
        let due = Due { refresh, at: None, failures: 3 }.after(true, now);
        assert_eq!(due, Due { refresh, at: Some(now + Duration::from_mins(1)), failures: 0 });
    }
}
