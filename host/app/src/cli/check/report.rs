//! What `check` found, as JSON for programs and as a table for people. Both are made from the same
//! facts; nothing is found out here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

/// The width of the table's first column.
const MARGIN: usize = 18;
/// Where lines of many names are broken.
const WIDTH: usize = 100;

/// What was checked.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Report {
    /// A component by itself.
    Component(Box<ComponentReport>),
    /// A configuration.
    Configuration(ConfigReport),
}

/// What is known of a component.
#[derive(Debug, Default, Serialize)]
pub(super) struct ComponentReport {
    /// The operator's name of the backend; none: there is no configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Where it was read from.
    pub file: String,
    /// Bytes.
    pub size: Option<usize>,
    /// `sha256:` and hexadecimal digits.
    pub digest: Option<String>,
    /// Its own name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its format of the state.
    pub state_version: Option<StateVersion>,
    /// What it exports of the contract.
    pub interfaces: Vec<String>,
    /// Its registered features.
    pub features: Vec<String>,
    /// What clients would be told, by service.
    pub capabilities: BTreeMap<&'static str, Vec<String>>,
    /// What it imports.
    pub imports: Vec<String>,
    /// What it asks for.
    pub grants: Vec<Grant>,
    /// What is odd.
    pub warnings: Vec<String>,
    /// Why it would be rejected.
    pub problems: Vec<String>,
}

/// Which formats of the state the code knows.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct StateVersion {
    /// What it writes.
    pub writes: u32,
    /// The oldest that it reads.
    pub reads_from: u32,
}

/// A grant that a component asks for.
#[derive(Debug, Serialize)]
pub(super) struct Grant {
    /// Which.
    pub what: String,
    /// Whether it is rejected without.
    pub required: bool,
    /// Whether the configuration gives it.
    pub given: bool,
    /// Its reason.
    pub why: String,
}

/// What is known of a configuration.
#[derive(Debug, Default, Serialize)]
pub(super) struct ConfigReport {
    /// The file.
    pub file: String,
    /// Its backends.
    pub backends: Vec<ComponentReport>,
    /// What is odd.
    pub warnings: Vec<String>,
    /// What is wrong with the file itself.
    pub problems: Vec<String>,
}

impl ComponentReport {
    /// A report on this file that knows nothing yet.
    pub(super) fn of(file: String) -> Self {
        Self { file, ..Self::default() }
    }

    fn write(&self, text: &mut String) {
        let size = self.size.map(|bytes| bytesize::ByteSize(u64::try_from(bytes).unwrap_or(u64::MAX)));
        let state = self.state_version.map(|v| format!("writes format {}, reads from {}", v.writes, v.reads_from));
        row(text, "backend", self.backend.as_deref());
        row(text, "component", Some(&self.file));
        row(text, "size", size.map(|size| size.display().iec().to_string()).as_deref());
        row(text, "digest", self.digest.as_deref());
        row(text, "name", self.name.as_deref());
        row(text, "version", self.version.as_deref());
        row(text, "state", state.as_deref());
        names(text, "interfaces", self.interfaces.iter().map(|name| short(name)));
        names(text, "features", self.features.iter().cloned());
        for (service, capabilities) in &self.capabilities {
            names(text, service, capabilities.iter().cloned());
        }
        names(text, "imports", packages(&self.imports));
        for grant in &self.grants {
            let need = if grant.required { "required" } else { "optional" };
            let given = if grant.given { "given" } else { "not given" };
            row(text, "grant", Some(&format!("{need}, {given}: {}\n{}", grant.what, grant.why)));
        }
        findings(text, &self.warnings, &self.problems);
    }
}

impl Report {
    /// Whether nothing would be rejected.
    pub(super) fn is_well(&self) -> bool {
        match self {
            Self::Component(component) => component.problems.is_empty(),
            Self::Configuration(config) => {
                config.problems.is_empty() && config.backends.iter().all(|backend| backend.problems.is_empty())
            }
        }
    }

    /// One JSON object; `ok` stands beside the facts.
    pub(super) fn json(&self) -> String {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = json.as_object_mut() {
            object.insert("ok".to_owned(), self.is_well().into());
        }
        format!("{json:#}")
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Component(component) => component.write(&mut text),
            Self::Configuration(config) => {
                row(&mut text, "configuration", Some(&config.file));
                findings(&mut text, &config.warnings, &config.problems);
                for backend in &config.backends {
                    text.push('\n');
                    backend.write(&mut text);
                }
            }
        }
        text.push_str(if self.is_well() { "\nNothing is wrong.\n" } else { "\nThis would be rejected.\n" });
        text
    }
}

fn row(text: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        let value = value.replace('\n', &format!("\n{:MARGIN$}", ""));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key:MARGIN$}{value}");
    }
}

/// A row of names, broken where it gets long; no row where there are none.
fn names(text: &mut String, key: &str, names: impl Iterator<Item = String>) {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for name in names {
        if !line.is_empty() && MARGIN + line.len() + name.len() > WIDTH {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(&name);
    }
    if !line.is_empty() {
        lines.push(line);
        row(text, key, Some(&lines.join("\n")));
    }
}

fn findings(text: &mut String, warnings: &[String], problems: &[String]) {
    for warning in warnings {
        row(text, "warning", Some(warning));
    }
    for problem in problems {
        row(text, "PROBLEM", Some(problem));
    }
}

/// `volumes` for an interface of this contract, the whole name for one of another version.
fn short(name: &str) -> String {
    let inner = name.strip_prefix("drivebay:backend/").and_then(|name| name.strip_suffix("@0.1.0"));
    inner.unwrap_or(name).to_owned()
}

/// Imports as people want them: WASI, which every toolchain brings along, by package only.
fn packages(imports: &[String]) -> impl Iterator<Item = String> {
    let name = |import: &String| match import.split_once('/') {
        Some((package, _)) if package.starts_with("wasi:") => package.to_owned(),
        _ => import.clone(),
    };
    imports.iter().map(name).collect::<BTreeSet<_>>().into_iter()
}
