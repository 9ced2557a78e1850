//! Directories of the machine that a component sees: `directories` and `--directory`.

mod overlap;

use std::path::PathBuf;

use drivebay_observe::text::tame;
use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Serialize};

pub use self::overlap::overlaps;
use super::{CommandOption, Kind, NeededPath, PathUse};
use crate::rows::{Row, Section, row};
use crate::{Problems, fields};

/// Bytes of a component's word in words of the host's.
const SAID: usize = 512;

/// A directory of the host under a path of the component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryGrant {
    /// Where it is.
    pub host: PathBuf,
    /// Where the component sees it.
    pub guest: String,
    /// Whether it may write there.
    pub write: bool,
}

/// A directory as it stands in the file.
#[derive(Debug, Deserialize)]
pub struct DirectorySection {
    host: PathBuf,
    guest: String,
    #[serde(default)]
    write: bool,
}

/// A directory that a component asks for.
#[derive(Debug, Clone, Copy)]
pub struct WantedDirectory<'a> {
    /// Where it wants to see it.
    pub path: &'a str,
    /// Whether it wants to write there.
    pub write: bool,
}

impl Kind for Vec<DirectoryGrant> {
    type Section = Vec<DirectorySection>;
    type Want<'a> = WantedDirectory<'a>;

    const KEYS: &'static [&'static str] = &["directories"];
    const SECTIONS: &'static [Section] =
        &[Section::new(&["backend", "grants", "directories"], "a granted directory", || {
            fields::of::<DirectorySection>().to_vec()
        })];
    const OPTION: Option<CommandOption> = Some(CommandOption {
        name: "directory",
        value: Some("HOST:GUEST[:ro]"),
        help: "A directory that the backend sees; read-only with `:ro`; may be given many times",
    });

    fn take<'de, A: MapAccess<'de>>(section: &mut Self::Section, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "directories" => *section = map.next_value()?,
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn read(section: Self::Section, place: &str, problems: &mut Problems) -> Self {
        let grant = |DirectorySection { host, guest, write }| {
            if !host.is_absolute() || !guest.starts_with('/') {
                problems.add(format!("{place}.directories: host and guest must be absolute paths"));
            }
            DirectoryGrant { host, guest, write }
        };
        section.into_iter().map(grant).collect()
    }

    fn argument(&mut self, text: &str, problems: &mut Problems) {
        self.extend(problems.take("--directory", argument(text)));
    }

    fn rows() -> Vec<Row> {
        vec![row(
            "directories",
            "[{ host = \"/srv/pool\", guest = \"/pool\", write = true }]",
            "Directories that the backend sees: `host` here, `guest` there. Read-only unless `write` is true.",
        )]
    }

    fn lacks(&self, want: WantedDirectory<'_>) -> Option<String> {
        let path = tame(want.path, SAID);
        match self.iter().find(|grant| grant.guest == want.path) {
            None => {
                let writable = if want.write { ", writable" } else { "" };
                Some(format!("directory {path}{writable}: give it with --directory HOST:{path} or [backend.grants]"))
            }
            Some(grant) if want.write && !grant.write => Some(format!("directory {path}, writable")),
            Some(_) => None,
        }
    }

    fn words(&self, absent: &[(String, String)]) -> Vec<String> {
        let words = |DirectoryGrant { host, guest, write }: &DirectoryGrant| {
            let access = if *write { "" } else { ":ro" };
            let absent = absent.iter().find(|(absent, _)| absent == guest);
            let absent = absent.map(|(_, why)| format!(" (absent: {why})")).unwrap_or_default();
            format!("directory {}:{guest}{access}{absent}", host.display())
        };
        self.iter().map(words).collect()
    }

    fn paths(&self) -> Vec<NeededPath> {
        let used = |write| if write { PathUse::Write } else { PathUse::Read };
        self.iter().map(|grant| NeededPath { path: grant.host.clone(), used: used(grant.write) }).collect()
    }
}

/// `HOST:GUEST[:ro]`.
fn argument(text: &str) -> Result<DirectoryGrant, String> {
    let wrong = || format!("\"{text}\" is not HOST:GUEST or HOST:GUEST:ro, with GUEST beginning with /");
    let (paths, write) = match text.strip_suffix(":ro") {
        Some(paths) => (paths, false),
        None => (text, true),
    };
    let (host, guest) = paths.rsplit_once(':').ok_or_else(wrong)?;
    if host.is_empty() || !guest.starts_with('/') {
        return Err(wrong());
    }
    let host = std::path::absolute(host).map_err(|e| format!("{host}: {e}"))?;
    Ok(DirectoryGrant { host, guest: guest.to_owned(), write })
}
