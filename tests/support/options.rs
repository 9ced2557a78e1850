//! How a host under test is configured: what differs from the plainest one. Writes the file that an
//! operator would write.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Guest;

/// What differs from a host with one backend, one socket and all defaults.
#[derive(Debug, Clone, Default)]
pub struct Options {
    backend: String,
    limits: String,
    grants: String,
    log: Option<&'static str>,
    recovering: bool,
    programs: Option<PathBuf>,
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

    /// What is logged, if not `info`.
    #[must_use]
    pub fn log(mut self, filter: &'static str) -> Self {
        self.log = Some(filter);
        self
    }

    /// Where programs are looked for before the system's own places.
    #[must_use]
    pub fn programs(mut self, directory: &Path) -> Self {
        self.programs = Some(directory.to_owned());
        self
    }

    /// The host is not waited for until it is ready, only until it listens.
    #[must_use]
    pub fn recovering(mut self) -> Self {
        self.recovering = true;
        self
    }

    /// The search path for programs, if it is not the test's own.
    pub(super) fn search(&self) -> Option<OsString> {
        let system = std::env::var_os("PATH").unwrap_or_default();
        let first = self.programs.iter().cloned();
        self.programs.as_ref()?;
        Some(std::env::join_paths(first.chain(std::env::split_paths(&system))).expect("no colon in it"))
    }

    pub(super) fn filter(&self) -> &'static str {
        self.log.unwrap_or("info")
    }

    pub(super) fn waits_for_ready(&self) -> bool {
        !self.recovering
    }

    /// The file for a host that keeps everything below `directory`.
    pub fn file(&self, guest: Guest, directory: &Path) -> String {
        let directory = directory.display();
        let component = guest.path();
        let Self { backend, limits, grants, .. } = self;
        format!(
            "[host]\nstate = \"{directory}/state\"\n\n[[backend]]\nname = \"under-test\"\ncomponent = \"{}\"\n\
             csi = \"unix://{directory}/csi.sock\"\n{backend}\n[backend.limits]\n{limits}\n[backend.grants]\n{grants}",
            component.display()
        )
    }
}
