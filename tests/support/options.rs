//! How a host under test is configured: what differs from the plainest one. Writes the file that an
//! operator would write.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Guest;
use super::tap::Tap;

/// Whether a host may do node work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    Granted,
    Withheld,
}

/// How the sockets of CSI are cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Layout {
    #[default]
    Unified,
    Split,
}

/// What differs from a host with one backend, one socket and all defaults.
#[derive(Debug, Clone, Default)]
pub struct Options {
    backend: String,
    limits: String,
    grants: String,
    settings: String,
    state: Option<PathBuf>,
    environment: Vec<(String, String)>,
    format: Option<&'static str>,
    log: Option<&'static str>,
    recovering: bool,
    addons: bool,
    component: Option<PathBuf>,
    metrics: bool,
    sections: String,
    layout: Layout,
    prefix: Vec<String>,
    targets: Option<PathBuf>,
    pub(super) tap: Option<Tap>,
}

impl Options {
    /// A key of `[backend.limits]`.
    #[must_use]
    pub fn limit(mut self, key: &str, value: &str) -> Self {
        writeln!(self.limits, "{key} = \"{value}\"").expect("a string grows");
        self
    }

    /// A line of `[[backend]]`, before its sections.
    #[must_use]
    pub fn backend(mut self, line: &str) -> Self {
        writeln!(self.backend, "{line}").expect("a string grows");
        self
    }

    /// A line of `[backend.grants]`.
    #[must_use]
    pub fn grant(mut self, line: &str) -> Self {
        writeln!(self.grants, "{line}").expect("a string grows");
        self
    }

    /// The reference backend on a pool: a node of its own, with the grants that it wants.
    #[must_use]
    pub fn pool(self, pool: &Path, node: Node) -> Self {
        self.directories(&[(pool, "/pool")], node)
    }

    /// The same with a link directory, so that it can replicate.
    #[must_use]
    pub fn pool_and_link(self, pool: &Path, link: &Path, node: Node) -> Self {
        self.directories(&[(pool, "/pool"), (link, "/link")], node).setting("link", "/link")
    }

    fn directories(self, directories: &[(&Path, &str)], node: Node) -> Self {
        let granted = directories
            .iter()
            .map(|(host, guest)| format!("{{ host = \"{}\", guest = \"{guest}\", write = true }}", host.display()));
        let granted = format!("directories = [{}]", granted.collect::<Vec<_>>().join(", "));
        let options = self.backend("node-id = \"n1\"").grant(&granted);
        if node == Node::Granted { options.grant("node = true") } else { options }
    }

    /// A key of `settings`.
    #[must_use]
    pub fn setting(mut self, key: &str, value: &str) -> Self {
        write!(self.settings, "{key} = \"{value}\", ").expect("a string grows");
        self
    }

    /// The component, if not the guest's own file.
    #[must_use]
    pub fn component(mut self, file: &Path) -> Self {
        self.component = Some(file.to_owned());
        self
    }

    /// The page for metrics is served, on a port that the system chooses.
    #[must_use]
    pub fn metrics(mut self) -> Self {
        self.metrics = true;
        self
    }

    /// Sections after all others, as they stand in the file.
    #[must_use]
    pub fn section(mut self, text: &str) -> Self {
        writeln!(self.sections, "{text}").expect("a string grows");
        self
    }

    /// Where the host keeps its state, if not in its directory.
    #[must_use]
    pub fn state(mut self, path: &Path) -> Self {
        self.state = Some(path.to_owned());
        self
    }

    /// Where volumes may be mounted, if not wherever temporary files are.
    #[must_use]
    pub fn targets(mut self, path: &Path) -> Self {
        self.targets = Some(path.to_owned());
        self
    }

    /// A variable of the program's environment.
    #[must_use]
    pub fn variable(mut self, key: &str, value: &str) -> Self {
        self.environment.push((key.to_owned(), value.to_owned()));
        self
    }

    /// How log lines are written, if not as text.
    #[must_use]
    pub fn log_format(mut self, format: &'static str) -> Self {
        self.format = Some(format);
        self
    }

    /// What is logged, if not `info`.
    #[must_use]
    pub fn log(mut self, filter: &'static str) -> Self {
        self.log = Some(filter);
        self
    }

    /// Where programs are looked for before the system's own places.
    #[must_use]
    pub fn programs(self, directory: &Path) -> Self {
        let system = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(directory.to_owned()).chain(std::env::split_paths(&system));
        let all = std::env::join_paths(all).expect("no colon in it");
        self.variable("PATH", all.to_str().expect("paths are text"))
    }

    /// The host is not waited for until it is ready, only until it listens.
    #[must_use]
    pub fn recovering(mut self) -> Self {
        self.recovering = true;
        self
    }

    /// There is a socket for csi-addons, too.
    #[must_use]
    pub fn with_addons(mut self) -> Self {
        self.addons = true;
        self
    }

    /// The controller has one socket and the node another.
    #[must_use]
    pub fn split(mut self) -> Self {
        self.layout = Layout::Split;
        self
    }

    /// The program is started by another one, which is to become it.
    #[must_use]
    pub fn started_by(mut self, prefix: Vec<String>) -> Self {
        self.prefix = prefix;
        self
    }

    /// What the host does is seen, and may be ended, by this tap.
    #[must_use]
    pub fn tapped(mut self, tap: &Tap) -> Self {
        self.tap = Some(tap.clone());
        self
    }

    pub(super) fn prefix(&self) -> &[String] {
        &self.prefix
    }

    pub(super) fn filter(&self) -> &'static str {
        self.log.unwrap_or("info")
    }

    pub(super) fn format(&self) -> &'static str {
        self.format.unwrap_or("text")
    }

    pub(super) fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// How many sockets there are.
    pub(super) fn sockets(&self) -> usize {
        1 + usize::from(self.addons) + usize::from(self.layout == Layout::Split)
    }

    pub(super) fn waits_for_ready(&self) -> bool {
        !self.recovering
    }

    /// The file for a host that keeps everything below `directory`.
    pub fn file(&self, guest: Guest, directory: &Path) -> String {
        let state = self.state.clone().unwrap_or_else(|| directory.join("state"));
        let targets = self.targets.clone().unwrap_or_else(std::env::temp_dir);
        let (directory, state, targets) = (directory.display(), state.display(), targets.display());
        let component = self.component.clone().unwrap_or_else(|| guest.path());
        let Self { backend, limits, grants, settings, sections, .. } = self;
        let http = if self.metrics { "http = \"127.0.0.1:0\"\n" } else { "" };
        let addons = if self.addons { format!("addons = \"unix://{directory}/addons.sock\"\n") } else { String::new() };
        let csi = if self.layout == Layout::Split {
            format!("csi-controller = \"unix://{directory}/csi.sock\"\ncsi-node = \"unix://{directory}/node.sock\"\n")
        } else {
            format!("csi = \"unix://{directory}/csi.sock\"\n")
        };
        format!(
            "[host]\nstate = \"{state}\"\ntargets = [\"{targets}\"]\nadmin = \"unix://{directory}/admin.sock\"\n{http}\n[[backend]]\nname = \"under-test\"\ncomponent = \"{}\"\n\
             {csi}settings = {{ {} }}\n{addons}{backend}\n[backend.limits]\n{limits}\n[backend.grants]\n{grants}\n{sections}",
            component.display(),
            settings.trim_end_matches(", "),
        )
    }
}
