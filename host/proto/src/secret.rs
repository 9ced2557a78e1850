//! What must not be shown: where it stands in requests, and how to get at every secret value.
//!
//! The places are generated from the marks in the descriptors, so a new secret field is covered by
//! being marked. Masking itself belongs to those who write logs.

/// The key under which kubelet puts the tokens of a workload's service account into a volume's context.
const TOKENS: &str = "csi.storage.k8s.io/serviceAccount.tokens";

/// Shorter mount flags (`ro`, `dev`) are ordinary words; masking them would garble every log line.
const SHORTEST_MASKED_FLAG: usize = 4;

/// Why a value is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// It is a secret.
    Secret,
    /// A mount flag, which may hold one.
    MountFlag,
    /// A volume's context as a client sends it, which may hold tokens; only those are secret.
    Token,
}

/// How the values stand in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretShape {
    /// The values of a map; its keys may be shown.
    Map,
    /// A single text.
    Text,
    /// All elements of a list.
    List,
}

/// A field of a request that must not be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretField {
    /// For example `secrets` or `volume_capabilities[].mount.mount_flags`.
    pub path: &'static str,
    /// How its values stand there.
    pub shape: SecretShape,
    /// Why it is hidden.
    pub sensitivity: Sensitivity,
}

/// A message that can tell its secrets.
pub trait Secrets {
    /// Shows every secret value once, nested messages included, empty ones too.
    fn each_secret(&self, see: &mut dyn FnMut(Sensitivity, &str));

    /// Collects what log lines must be searched for: all secrets that are not empty, and mount flags
    /// from 4 bytes on.
    fn collect_secrets(&self, into: &mut Vec<String>) {
        self.each_secret(&mut |sensitivity, value| {
            let shortest = match sensitivity {
                Sensitivity::Secret | Sensitivity::Token => 1,
                Sensitivity::MountFlag => SHORTEST_MASKED_FLAG,
            };
            if value.len() >= shortest {
                into.push(value.to_owned());
            }
        });
    }
}

/// Whether what stands under this key of a volume's context is a secret.
pub(super) fn is_token(key: &str) -> bool {
    key == TOKENS
}

/// Stands for a value in `Debug` output.
pub(super) struct Hidden;

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// `Debug` for a message that holds secrets. A row: message, its name, and for each field `show` or `hide`.
macro_rules! hide {
    ($message:path, $name:literal; $($field:ident: $what:ident,)*) => {
        impl std::fmt::Debug for $message {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name)$(.field(stringify!($field), hide!(@$what self.$field)))*.finish()
            }
        }
    };
    (@show $value:expr) => { &$value };
    (@hide $value:expr) => { &crate::secret::Hidden };
}

/// `Secrets` for a message. An entry: a secret field, a message that holds secrets, or a member of a oneof.
macro_rules! secrets {
    ($message:path; $($entry:tt,)*) => {
        impl crate::Secrets for $message {
            fn each_secret(&self, _see: &mut dyn FnMut(crate::Sensitivity, &str)) {
                $(secrets!(@entry self, _see, $entry);)*
            }
        }
    };
    (@entry $this:expr, $see:ident, ($field:ident, Map, Token)) => {
        $this.$field.iter().filter(|(key, _)| crate::secret::is_token(key))
            .for_each(|(_, value)| $see(crate::Sensitivity::Token, value))
    };
    (@entry $this:expr, $see:ident, ($field:ident, Map, $sensitivity:ident)) => {
        $this.$field.values().for_each(|value| $see(crate::Sensitivity::$sensitivity, value))
    };
    (@entry $this:expr, $see:ident, ($field:ident, List, $sensitivity:ident)) => {
        $this.$field.iter().for_each(|value| $see(crate::Sensitivity::$sensitivity, value))
    };
    (@entry $this:expr, $see:ident, ($field:ident, Text, $sensitivity:ident)) => {
        $see(crate::Sensitivity::$sensitivity, &$this.$field)
    };
    (@entry $this:expr, $see:ident, ($field:ident)) => {
        $this.$field.iter().for_each(|inner| crate::Secrets::each_secret(inner, $see))
    };
    (@entry $this:expr, $see:ident, ($field:ident, $member:path)) => {
        if let Some($member(inner)) = &$this.$field {
            crate::Secrets::each_secret(inner, $see);
        }
    };
}

pub(super) use {hide, secrets};
