//! What `dev` builds, watches and serves: `dev.toml`, and the configuration of the host that serves it. Pure.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use toml::{Table, Value};

/// What the backend is called there.
pub(super) const BACKEND: &str = "dev";

/// A `dev.toml`. Paths are from the project's folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// The file that the build leaves.
    pub(super) component: PathBuf,
    /// Commands of a shell, one after the other; none: something else builds.
    #[serde(default)]
    pub(super) build: Vec<String>,
    /// What a build is made of.
    #[serde(default = "everything")]
    pub(super) watch: Vec<PathBuf>,
    /// Keys of `[[backend]]`.
    #[serde(default)]
    backend: Table,
    /// Keys of `[host]`.
    #[serde(default)]
    host: Table,
}

/// Where a host serves while its backend is worked on.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The folder, absolute.
    pub(super) folder: PathBuf,
}

fn everything() -> Vec<PathBuf> {
    vec![PathBuf::from(".")]
}

impl Plan {
    /// Reads a `dev.toml`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(super) fn read(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }

    /// Without a file: one command, and what it leaves.
    pub(super) fn of(component: PathBuf) -> Self {
        Self { component, build: Vec::new(), watch: everything(), backend: Table::new(), host: Table::new() }
    }

    /// The configuration of a host that serves `component` as suits somebody at work: calls are never refused for what
    /// those before them did, a new version stays however it behaves, and the end waits for nobody.
    ///
    /// # Errors
    /// When the place cannot be written in a configuration.
    pub(super) fn configuration(&self, place: &Place, component: &Path) -> Result<String> {
        let mut backend = self.backend.clone();
        backend.insert("name".to_owned(), BACKEND.into());
        backend.insert("component".to_owned(), path(component)?);
        backend.insert("csi".to_owned(), path(&place.csi())?);
        backend.insert("addons".to_owned(), path(&place.addons())?);
        unless_given(&mut backend, "node-id", "dev".into());
        within(&mut backend, "limits", "failures", i64::from(u32::MAX).into());
        within(&mut backend, "trial", "time", "1ms".into());
        within(&mut backend, "drain", "time", "2s".into());
        let mut host = self.host.clone();
        host.insert("state".to_owned(), path(&place.state())?);
        host.insert("admin".to_owned(), path(&place.admin())?);
        let mut file = Table::new();
        file.insert("host".to_owned(), host.into());
        file.insert("backend".to_owned(), Value::Array(vec![backend.into()]));
        Ok(format!("{MARK}\n{}", toml::to_string(&file)?))
    }
}

/// The first line of a configuration that `dev` wrote: its folder may be made empty.
pub(super) const MARK: &str = "# Written by `drivebay dev`, and removed when it ends.";

impl Place {
    pub(super) fn csi(&self) -> PathBuf {
        self.folder.join("csi.sock")
    }

    pub(super) fn addons(&self) -> PathBuf {
        self.folder.join("addons.sock")
    }

    pub(super) fn admin(&self) -> PathBuf {
        self.folder.join("admin.sock")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub(super) fn configuration(&self) -> PathBuf {
        self.folder.join("host.toml")
    }

    /// The component of one build. Each has a name of its own, so none changes under a host that reads it.
    pub(super) fn component(&self, number: u32) -> PathBuf {
        self.folder.join(format!("build-{number}.wasm"))
    }
}

fn path(path: &Path) -> Result<Value> {
    let text = path.to_str().with_context(|| format!("{}: a configuration holds text", path.display()))?;
    Ok(text.into())
}

fn unless_given(table: &mut Table, key: &str, value: Value) {
    table.entry(key).or_insert(value);
}

/// A key of a section, unless the vendor's file has it. What is no section, the host complains about.
fn within(table: &mut Table, section: &str, key: &str, value: Value) {
    if let Some(section) = table.entry(section).or_insert_with(|| Table::new().into()).as_table_mut() {
        unless_given(section, key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Plan};
    use toml::Table;

    const FILE: &str = "component = 'a.wasm'\n[backend]\nnode-id = 'n'\nsettings = { pool = '/p' }\n\
                        [backend.limits]\nmemory = '1GiB'\n[backend.trial]\ntime = '5s'\n";

    #[test]
    fn the_vendors_keys_are_kept_and_the_breaker_never_opens() {
        let plan = Plan::read(FILE).unwrap();
        let place = Place { folder: "/p/.dev".into() };
        let text = plan.configuration(&place, &place.component(7)).unwrap();
        let file: Table = text.parse().unwrap();
        let backend = &file["backend"][0];
        assert_eq!(backend["component"].as_str(), Some("/p/.dev/build-7.wasm"));
        assert_eq!(backend["settings"]["pool"].as_str(), Some("/p"));
        assert_eq!((backend["node-id"].as_str(), backend["limits"]["memory"].as_str()), (Some("n"), Some("1GiB")));
        assert_eq!(backend["limits"]["failures"].as_integer(), Some(i64::from(u32::MAX)));
        assert_eq!((backend["trial"]["time"].as_str(), backend["drain"]["time"].as_str()), (Some("5s"), Some("2s")));
        assert_eq!(file["host"]["state"].as_str(), Some("/p/.dev/state"));
    }

    #[test]
    fn a_key_that_nobody_reads_is_a_mistake() {
        let refused = Plan::read("component = 'a'\nbiuld = []\n").unwrap_err().to_string();
        assert!(refused.contains("biuld") && refused.contains("build"), "{refused}");
    }
}
