//! Work on the node, and what mounts may have: `node`, `mount-options` and `--node`.

use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Serialize};

use super::{CommandOption, Kind};
use crate::Problems;
use crate::rows::{Row, row};

/// Work on the node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeWork {
    /// Whether there may be any.
    #[serde(rename = "node")]
    pub is_granted: bool,
    /// What mounts forbid otherwise and its clients may ask for.
    #[serde(default)]
    pub mount_options: Vec<MountOption>,
}

/// What a mount forbids unless the client asks for it and the operator allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MountOption {
    /// Programs that run as their owner.
    Suid,
    /// Device nodes.
    Dev,
}

/// Its keys as they stand in the file.
#[derive(Debug, Default)]
pub struct NodeSection {
    node: bool,
    mount_options: Vec<String>,
}

impl Kind for NodeWork {
    type Section = NodeSection;
    type Want<'a> = ();

    const KEYS: &'static [&'static str] = &["node", "mount-options"];
    const OPTION: Option<CommandOption> =
        Some(CommandOption { name: "node", value: None, help: "Allow node work: loop devices and mounts" });

    fn take<'de, A: MapAccess<'de>>(section: &mut NodeSection, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "node" => section.node = map.next_value()?,
            "mount-options" => section.mount_options = map.next_value()?,
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn read(section: NodeSection, place: &str, problems: &mut Problems) -> Self {
        let known = |option: &String| match option.as_str() {
            "suid" => Ok(MountOption::Suid),
            "dev" => Ok(MountOption::Dev),
            _ => Err(format!("\"{option}\" is neither \"suid\" nor \"dev\"; other mount options need no grant")),
        };
        let place = format!("{place}.mount-options");
        let mount_options = section.mount_options.iter().filter_map(|option| problems.take(&place, known(option)));
        Self { mount_options: mount_options.collect(), is_granted: section.node }
    }

    fn argument(&mut self, _: &str, _: &mut Problems) {
        self.is_granted = true;
    }

    fn rows() -> Vec<Row> {
        vec![
            row("node", "false", "Node work: loop devices and mounts. Needs root, and a restart of the host."),
            row(
                "mount-options",
                "[\"suid\", \"dev\"]",
                "What mounts forbid otherwise and clients may ask for. Unless given: nothing.",
            ),
        ]
    }

    fn lacks(&self, (): ()) -> Option<String> {
        (!self.is_granted).then(|| "node work: give it with --node or node = true".to_owned())
    }

    fn words(&self, _: &[(String, String)]) -> Vec<String> {
        self.is_granted.then(|| "node".to_owned()).into_iter().collect()
    }
}
