//! What the caller tells about the driver (`--with FILE.toml`). Every key has a default; an unknown
//! one is an error, because a misspelt input would silently skip the rules that need it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::catalogue;
use crate::wire::{self, ROWS, Words};

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WithFile {
    /// Parameters of the requests, by what they make.
    pub parameters: Parameters,
    /// Secrets by call (`CreateVolume` or `csi.v1.Controller/CreateVolume`); `all` is for the others.
    pub secrets: BTreeMap<String, Words>,
    /// How volumes are asked for.
    pub capabilities: Capabilities,
    /// How large they are.
    pub sizes: Sizes,
    /// Where volumes are staged and published.
    pub directories: Directories,
    /// Volumes that are there already.
    pub volumes: Volumes,
    /// Volume groups.
    pub groups: Groups,
    /// Replication.
    pub replication: Replication,
    /// Node ids for attaching, in place of those that the node sockets tell.
    pub nodes: Vec<String>,
    /// What the driver cannot do: rule ids and calls (`replication.Controller/ResyncVolume`).
    pub cannot: Vec<String>,
    /// How long one answer may take.
    #[serde(deserialize_with = "duration")]
    pub deadline: Duration,
    /// How long a call is repeated that may be repeated (ABORTED, UNAVAILABLE, not ready).
    #[serde(deserialize_with = "duration")]
    pub patience: Duration,
    /// How many rules run at once.
    pub parallel: usize,
    /// Whether what the specifications only advise or allow is demanded.
    pub strict: bool,
    /// A command for the shell that starts the driver again when it has ended.
    pub restart: Option<String>,
    /// A command for the shell that kills the driver, as a power failure does, and starts it again.
    pub kill: Option<String>,
}

impl Default for WithFile {
    fn default() -> Self {
        Self {
            parameters: Parameters::default(),
            secrets: BTreeMap::new(),
            capabilities: Capabilities::default(),
            sizes: Sizes::default(),
            directories: Directories::default(),
            volumes: Volumes::default(),
            groups: Groups::default(),
            replication: Replication::default(),
            nodes: Vec::new(),
            cannot: Vec::new(),
            deadline: Duration::from_secs(10),
            patience: Duration::from_secs(10),
            parallel: 8,
            strict: false,
            restart: None,
            kill: None,
        }
    }
}

/// Parameters by what they make.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// `CreateVolume`.
    pub volume: Words,
    /// `CreateSnapshot`.
    pub snapshot: Words,
    /// `CreateVolumeGroupSnapshot`.
    pub group_snapshot: Words,
    /// `CreateVolumeGroup`.
    pub group: Words,
    /// `EnableVolumeReplication`.
    pub replication: Words,
    /// The fence calls.
    pub fence: Words,
    /// `ControllerReclaimSpace`.
    pub reclaim_space: Words,
    /// `EncryptionKeyRotate`.
    pub key_rotation: Words,
}

/// The access type of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// A file system.
    #[default]
    Mount,
    /// A raw block device.
    Block,
}

/// How volumes are asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    /// Mount (default) or block.
    pub access: Access,
    /// The file system; empty leaves it to the driver.
    pub fs_type: String,
    /// Mount options.
    pub mount_flags: Vec<String>,
    /// The access type with which `MULTI_NODE_MULTI_WRITER` works, where it does.
    pub multi_node: Option<Access>,
    /// A group id for `VOLUME_MOUNT_GROUP`.
    pub mount_group: Option<String>,
}

/// Sizes in bytes.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sizes {
    /// A volume. Default 16 MiB.
    pub volume: i64,
    /// What a volume grows to. Default twice as much.
    pub grown: i64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { volume: 16 << 20, grown: 32 << 20 }
    }
}

/// Directories on the machine where the node sockets' driver runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Directories {
    /// Where the suite makes its staging and target directories; default: one of its own in the
    /// system's place for such. The driver must see the same directory under the same path.
    pub work: Option<PathBuf>,
}

/// Volumes that are there already.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Volumes {
    /// The id of a volume that the suite may publish; it is never deleted.
    pub existing: Option<String>,
    /// Its `volume_context`.
    pub existing_context: Words,
}

/// What is known of volume groups.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Groups {
    /// Parameters that are valid but incompatible with `parameters.group`.
    pub other_parameters: Option<Words>,
    /// The largest number of members (tried when it is at most 20), with `limit_parameters`.
    pub limit: Option<usize>,
    /// Parameters that bring about the limit, in place of `parameters.group`.
    pub limit_parameters: Option<Words>,
    /// The parameter of `CreateVolume` that names a group to join.
    pub parameter: Option<String>,
}

/// What is known of replication.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replication {
    /// Parameters that are valid but other than `parameters.replication`.
    pub other_parameters: Option<Words>,
    /// Whether `replication_id` may be set.
    pub ids: bool,
    /// Whether a snapshot can be a source.
    pub snapshot_source: bool,
    /// A command for the shell after which the sites do not hear each other.
    pub cut: Option<String>,
    /// A command after which they do again.
    pub mend: Option<String>,
}

/// What is wrong with the file.
#[derive(Debug, thiserror::Error)]
pub enum WithError {
    /// It is no such TOML.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A key of `secrets` or an entry of `cannot` names nothing.
    #[error("{table}: {name:?} is neither a call{also}; calls are like CreateVolume or csi.v1.Controller/CreateVolume")]
    Name {
        /// Where it stands.
        table: &'static str,
        /// What stands there.
        name: String,
        /// What else may stand there.
        also: &'static str,
    },
    /// A number is out of its range.
    #[error("{0}")]
    Range(&'static str),
}

impl WithFile {
    /// Reads the file's text.
    ///
    /// # Errors
    /// Names the key or the value that is wrong.
    pub fn parse(text: &str) -> Result<Self, WithError> {
        let with: Self = toml::from_str(text)?;
        if let Some(name) = with.secrets.keys().find(|name| *name != "all" && !is_call(name)) {
            return Err(WithError::Name { table: "secrets", name: name.clone(), also: " nor `all`" });
        }
        let rules = catalogue::rules();
        let unknown = |name: &&String| !is_call(name) && !rules.iter().any(|rule| rule.id == name.as_str());
        if let Some(name) = with.cannot.iter().find(unknown) {
            return Err(WithError::Name { table: "cannot", name: name.clone(), also: " nor a rule's id" });
        }
        if with.sizes.volume <= 0 || with.sizes.grown <= with.sizes.volume {
            return Err(WithError::Range("sizes: `volume` is positive and `grown` is larger"));
        }
        if with.parallel == 0 || with.parallel > 64 {
            return Err(WithError::Range("parallel is 1 to 64"));
        }
        Ok(with)
    }

    /// Whether volumes are asked for as raw block devices.
    pub fn asks_for_block(&self) -> bool {
        self.capabilities.access == Access::Block
    }

    /// The secrets of a call.
    pub(crate) fn secrets_of(&self, path: &str) -> Words {
        let found =
            self.secrets.get(path).or_else(|| self.secrets.get(wire::method(path))).or_else(|| self.secrets.get("all"));
        found.cloned().unwrap_or_default()
    }

    /// Every secret value, for looking for it where it must not be.
    pub(crate) fn secret_values(&self) -> Vec<String> {
        let values = self.secrets.values().flat_map(|words| words.values());
        values.filter(|value| value.len() >= 4).cloned().collect()
    }

    /// Whether the driver is said not to do this: a rule's id, or a call by path or name.
    pub(crate) fn is_declared_impossible(&self, what: &str) -> bool {
        self.cannot.iter().any(|name| name == what || name == wire::method(what))
    }
}

fn is_call(name: &str) -> bool {
    ROWS.iter().any(|row| row.path == name || wire::method(row.path) == name)
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    humantime::parse_duration(&text).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests;
