//! Packages: components that come from a registry, as a configuration names them, and how they are fetched. Owns their
//! keys and where a backend's package lies. Below it a package is a file like any other: fetching is a process of its
//! own, which this does not know.

mod reference;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use reference::{Reference, SCHEME};

use crate::rows::{Row, quoted, row};
use crate::{Problems, fields, units};

/// The shortest time between two looks at a tag: registries count requests.
const SHORTEST_REFRESH: Duration = Duration::from_secs(10);

/// A backend's package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageConfig {
    /// Which.
    pub reference: Reference,
    /// How often the tag is looked up again; none: at the start, by `reload`, and when the configuration changes.
    pub refresh: Option<Duration>,
}

/// How packages are fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registries {
    /// The file with credentials, in the form of the container tools; none: where those look for it.
    pub credentials: Option<PathBuf>,
    /// Certificates of authorities that are trusted beside the system's.
    pub ca: Vec<PathBuf>,
    /// Where a registry's packages are fetched instead: a host, and a path before the repository.
    pub mirrors: BTreeMap<String, String>,
    /// Registries without TLS.
    pub plain_http: Vec<String>,
    /// An OCI image layout, from which packages are read instead of any registry.
    pub layout: Option<PathBuf>,
}

/// `[host.packages]` as it is written.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct PackagesSection {
    credentials: Option<PathBuf>,
    #[serde(default)]
    ca: Vec<PathBuf>,
    #[serde(default)]
    mirrors: BTreeMap<String, String>,
    #[serde(default)]
    plain_http: Vec<String>,
    layout: Option<PathBuf>,
}

impl PackagesSection {
    pub(crate) fn keys() -> &'static [&'static str] {
        fields::of::<Self>()
    }

    pub(crate) fn read(self, problems: &mut Problems) -> Registries {
        let Self { credentials, ca, mirrors, plain_http, layout } = self;
        let registries = Registries { credentials, ca, mirrors, plain_http, layout };
        registries.judge("host.packages.", problems);
        registries
    }
}

impl Registries {
    /// Notes what is wrong; `place` is what stands before the keys.
    pub fn judge(&self, place: &str, problems: &mut Problems) {
        let files = self.credentials.iter().chain(&self.ca).chain(&self.layout);
        for path in files.filter(|path| !path.is_absolute()) {
            problems.add(format!("{place}: {} must be an absolute path", path.display()));
        }
        for (registry, mirror) in &self.mirrors {
            let host = mirror.split_once('/').map_or(&**mirror, |(host, _)| host);
            if !reference::is_host(registry) || !reference::is_host(host) {
                problems.add(format!(
                    "{place}mirrors: write \"registry\" = \"mirror\" or \"mirror/path\", as hosts: {mirror}"
                ));
            }
        }
        for host in self.plain_http.iter().filter(|host| !reference::is_host(host)) {
            problems.add(format!("{place}plain-http: \"{host}\" is no host"));
        }
    }
}

/// Where the package of a backend lies: a link to a directory that is made whole before it is shown, with the component
/// and what vouches for it.
pub fn package_file(state: &Path, backend: &str) -> PathBuf {
    package_place(state, backend).join("current").join("component.wasm")
}

/// The directory of a backend's packages.
pub fn package_place(state: &Path, backend: &str) -> PathBuf {
    packages_of(state).join(backend)
}

/// The directory of all of them.
pub fn packages_of(state: &Path) -> PathBuf {
    state.join("packages")
}

/// What `component` and `refresh` say of a package; none: it is none.
pub fn package(component: &str, refresh: Option<&str>, place: &str, problems: &mut Problems) -> Option<PackageConfig> {
    let refresh = refresh.and_then(|text| problems.take(&format!("{place}refresh"), time(text)));
    if !component.starts_with(SCHEME) {
        return None;
    }
    let reference: Reference = problems.take(&format!("{place}component"), component.parse())?;
    if reference.digest.is_some() && refresh.is_some() {
        problems.add(format!("{place}refresh: what is named by its digest never changes; leave one of them out"));
    }
    Some(PackageConfig { reference, refresh })
}

fn time(text: &str) -> Result<Duration, String> {
    let time = units::time(text)?;
    if time < SHORTEST_REFRESH {
        return Err("at least 10s: registries count requests".to_owned());
    }
    Ok(time)
}

/// `[host.packages]` in words.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        row(
            "credentials",
            quoted("/etc/drivebay/registries.json"),
            "File with credentials for registries, as `docker login` and `podman login` write it. Unless given:\n\
             where those look for it. The process that runs backends does not see it.",
        ),
        row("ca", "[\"/etc/drivebay/registry-ca.pem\"]", "Authorities that are trusted beside the system's."),
        row(
            "mirrors",
            "{ \"registry.example\" = \"mirror.example:5000/cache\" }",
            "Where the packages of a registry are fetched instead. Digests are checked all the same.",
        ),
        row("plain-http", "[\"localhost:5000\"]", "Registries without TLS. Unless given: none."),
        row(
            "layout",
            quoted("/srv/packages"),
            "An OCI image layout that packages are read from instead of any registry: for machines without a\n\
             network. `drivebay pull --into` writes one.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::{ComponentSource, Config};

    fn file(backend: &str, host: &str) -> String {
        format!("[host]\nstate = '/s'\n{host}\n[[backend]]\nname = 'b'\ncsi = 'unix:///run/b.sock'\n{backend}\n")
    }

    #[test]
    fn a_package_is_a_file_below_the_state() {
        let text = file("component = 'oci://r.example/a:1'\nrefresh = '5m'", "[host.packages]\nlayout = '/l'");
        let config = Config::parse("test", &text).unwrap();
        let backend = &config.backends[0];
        assert_eq!(backend.component, ComponentSource::File("/s/packages/b/current/component.wasm".into()));
        let package = backend.package.as_ref().unwrap();
        assert_eq!(package.reference.tag.as_deref(), Some("1"));
        assert_eq!(package.refresh, Some(std::time::Duration::from_mins(5)));
        assert_eq!(config.host.packages.layout.as_deref(), Some(std::path::Path::new("/l")));
    }

    #[test]
    fn mistakes_are_told_with_their_keys() {
        let pinned = format!("component = 'oci://r/a@sha256:{}'\nrefresh = '1m'", "00".repeat(32));
        for (backend, host, words) in [
            ("component = 'oci://r.example/a'", "", "component: \"oci://r.example/a\": give a tag or a digest"),
            ("component = 'oci://r/a:1'\nrefresh = '1s'", "", "refresh: at least 10s"),
            (&pinned, "", "refresh: what is named by its digest never changes"),
            ("component = 'local'", "[host.packages]\nca = ['ca.pem']", "ca.pem must be an absolute path"),
            ("component = 'local'", "[host.packages]\nplain-http = ['http://r']", "\"http://r\" is no host"),
            ("component = 'local'", "[host.packages]\nmirrors = { 'r' = 'https://m' }", "mirrors: write"),
        ] {
            let refused = Config::parse("test", &file(backend, host)).unwrap_err().to_string();
            assert!(refused.contains(words), "{words}\n{refused}");
        }
    }
}
