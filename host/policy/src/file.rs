//! From the TOML file to a configuration: every value is judged, and every mistake is noted. The file's own form is
//! `shape.rs`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::backend::{
    BackendConfig, BackgroundConfig, ComponentSource, DRAIN, InstancePolicy, SOCKET_MODE, Sockets, TRIAL,
};
use super::shape::{BackendSection, ConfigFile, HostSection, InstancesSection};
use super::unknown::Unknown;
use super::{
    Config, ConfigError, DEFAULT_STATE, DEFAULT_TARGETS, HostConfig, Problems, limits_section as limits, overlaps,
    package, units,
};

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// All problems together: unreadable, unknown keys, wrong values, sockets used twice.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|e| ConfigError { source_name: name.clone(), problems: vec![format!("cannot be read: {e}")] })?;
        let file = std::path::absolute(path)
            .map_err(|e| ConfigError { source_name: name.clone(), problems: vec![format!("cannot be found: {e}")] })?;
        Self::parse(&name, &text).map(|config| Self { file: Some(file), ..config })
    }

    /// Reads the text of a file called `name`.
    ///
    /// # Errors
    /// As `read`.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let mut problems = Problems::default();
        let mut unknown = Vec::new();
        let parsed = toml::Deserializer::parse(text).and_then(|file| {
            serde_ignored::deserialize::<_, _, ConfigFile>(file, |path| unknown.push(Unknown::met(&path)))
        });
        let file = match parsed {
            Ok(mut file) => {
                let backends = file.backend.iter_mut().enumerate();
                unknown.extend(backends.flat_map(|(n, backend)| limits::unknown(n, &mut backend.limits)));
                if file.backend.is_empty() {
                    problems.add("there is no backend: add a [[backend]] section");
                }
                file
            }
            Err(error) => {
                problems.add_lines(error.to_string().trim_end());
                ConfigFile { host: HostSection::default(), backend: Vec::new() }
            }
        };
        for key in unknown {
            problems.add(key.words(text));
        }
        let config = convert(file, &mut problems);
        problems.into_result(name, config)
    }
}

fn convert(file: ConfigFile, problems: &mut Problems) -> Config {
    if file.host.state.as_ref().is_some_and(|state| !state.is_absolute()) {
        problems.add("host.state: must be an absolute path: a service has no directory of its own");
    }
    let host = HostConfig {
        state: file.host.state.unwrap_or_else(|| PathBuf::from(DEFAULT_STATE)),
        admin: file.host.admin.and_then(|text| problems.take("host.admin", units::socket(&text))),
        targets: targets(file.host.targets, "host.targets", problems),
        http: file.host.http.and_then(|text| {
            let parsed =
                text.parse().map_err(|_| format!("\"{text}\" is not an address; write for example 127.0.0.1:9911"));
            problems.take::<_, String>("host.http", parsed)
        }),
        packages: file.host.packages.read(problems),
    };
    let backends: Vec<_> = file.backend.into_iter().map(|section| backend(section, &host.state, problems)).collect();
    unique(&backends, problems);
    overlaps(&host.state, &backends, problems);
    Config { host, backends, file: None }
}

/// The directories below which volumes may be mounted: those that the operator names at `place`, or kubelet's.
pub fn targets(named: Option<Vec<PathBuf>>, place: &str, problems: &mut Problems) -> Vec<PathBuf> {
    let Some(named) = named else { return DEFAULT_TARGETS.iter().map(PathBuf::from).collect() };
    let plain = |path: &Path| {
        let mut parts = path.components();
        parts.next() == Some(Component::RootDir)
            && path.parent().is_some()
            && parts.all(|part| matches!(part, Component::Normal(_)))
    };
    for wrong in named.iter().filter(|path| !plain(path)) {
        let wrong = wrong.display();
        problems.add(format!("{place}: {wrong} is not an absolute path of a directory below /, without `..`"));
    }
    named
}

fn backend(section: BackendSection, state: &Path, problems: &mut Problems) -> BackendConfig {
    let place = format!("backend \"{}\"", section.name);
    if section.name.is_empty() || !section.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        problems.add(format!("{place}: a name has letters, digits, and - _ . only, at least one"));
    }
    let sockets = sockets(&section, &place, problems);
    if let Some(digest) = &section.digest {
        problems.take(&format!("{place}.digest"), units::digest(digest));
    }
    if section.signers.iter().any(|path| !path.is_absolute()) {
        problems.add(format!("{place}.signers: each must be an absolute path of a public key"));
    }
    let settings = settings(section.settings, &place, problems);
    let package = package::package(&section.component, section.refresh.as_deref(), &format!("{place}."), problems);
    BackendConfig {
        component: match &package {
            Some(_) => ComponentSource::File(package::package_file(state, &section.name)),
            None => component(&section.component),
        },
        package,
        sockets,
        node_id: section.node_id,
        settings,
        alpha: section.alpha.unwrap_or(true),
        legacy_condition: section.legacy_condition.unwrap_or(false),
        digest: section.digest,
        grants: section.grants.read(&format!("{place}.grants"), problems),
        limits: limits::read(section.limits, &place, problems),
        instances: instances(section.instances, &place, problems),
        signers: section.signers,
        drain: time_or(section.drain.time, DRAIN, &format!("{place}.drain.time"), problems),
        trial: time_or(section.trial.time, TRIAL, &format!("{place}.trial.time"), problems),
        background: BackgroundConfig {
            budget: section.background.budget.unwrap_or(BackgroundConfig::default().budget).max(1),
        },
        name: section.name,
    }
}

/// What `component = "…"` and the command line's BACKEND mean.
pub fn source(text: &str) -> ComponentSource {
    if text == "local" { ComponentSource::Local } else { ComponentSource::File(PathBuf::from(text)) }
}

/// The same for a host: a relative path means the directory that the program was started in.
pub fn component(text: &str) -> ComponentSource {
    match source(text) {
        ComponentSource::File(path) => ComponentSource::File(std::path::absolute(&path).unwrap_or(path)),
        ComponentSource::Local => ComponentSource::Local,
    }
}

fn sockets(section: &BackendSection, place: &str, problems: &mut Problems) -> Sockets {
    let mut socket = |key: &str, text: &Option<String>| {
        text.as_deref().and_then(|text| problems.take(&format!("{place}.{key}"), units::socket(text)))
    };
    let mut sockets = Sockets {
        csi: socket("csi", &section.csi),
        controller: socket("csi-controller", &section.csi_controller),
        node: socket("csi-node", &section.csi_node),
        addons: socket("addons", &section.addons),
        mode: SOCKET_MODE,
    };
    if let Some(text) = &section.socket_mode {
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
        let mode = mode.ok_or("write permission bits in octal, for example \"0660\"");
        sockets.mode = problems.take(&format!("{place}.socket-mode"), mode).unwrap_or(SOCKET_MODE);
    }
    let given = [&section.csi, &section.csi_controller, &section.csi_node, &section.addons];
    if given.iter().all(|s| s.is_none()) {
        problems.add(format!("{place}: no socket; set csi (or csi-controller and csi-node)"));
    }
    sockets
}

fn settings(values: BTreeMap<String, toml::Value>, place: &str, problems: &mut Problems) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for (key, value) in values {
        match value {
            toml::Value::String(text) => settings.push((key, text)),
            toml::Value::Integer(_) | toml::Value::Boolean(_) | toml::Value::Float(_) => {
                settings.push((key, value.to_string()));
            }
            toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
                problems.add(format!("{place}.settings.{key}: a setting is a text, a number, or true or false"));
            }
        }
    }
    settings
}

fn instances(section: InstancesSection, place: &str, problems: &mut Problems) -> InstancePolicy {
    let Some(reuse) = section.reuse else { return InstancePolicy::Fresh };
    let place = format!("{place}.instances.reuse");
    if reuse.calls == 0 {
        problems.add(format!("{place}.calls: at least 1"));
    }
    match problems.take(&place, units::time(&reuse.idle)) {
        Some(idle) => InstancePolicy::Reuse { calls: reuse.calls, idle },
        None => InstancePolicy::Fresh,
    }
}

fn time_or(
    text: Option<String>,
    default: std::time::Duration,
    place: &str,
    problems: &mut Problems,
) -> std::time::Duration {
    text.and_then(|text| problems.take(place, units::time(&text))).unwrap_or(default)
}

/// Names and sockets belong to one backend each.
fn unique(backends: &[BackendConfig], problems: &mut Problems) {
    let mut names = std::collections::BTreeSet::new();
    let mut sockets = std::collections::BTreeSet::new();
    for backend in backends {
        if !names.insert(&backend.name) {
            problems.add(format!("two backends are called \"{}\"", backend.name));
        }
        let all = [&backend.sockets.csi, &backend.sockets.controller, &backend.sockets.node, &backend.sockets.addons];
        for socket in all.into_iter().flatten() {
            if !sockets.insert(socket) {
                problems.add(format!("two services share the socket {}", socket.display()));
            }
        }
    }
}
