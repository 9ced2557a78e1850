//! What the operator allows a backend beyond computing. Each kind of grant is a folder here and one row of `kinds!`,
//! from which the configuration, the command line, `status` and `check` take everything. Opens nothing; what carries a
//! grant out lies above (`drivebay-files`, `drivebay-egress`, `drivebay-node`).

pub mod attach;
pub mod directories;
pub mod http;
mod kind;
pub mod node;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

pub use self::kind::{CommandOption, Kind, NeededPath, PathUse};
use crate::Problems;
use crate::limits::Limits;
use crate::rows::{Row, Section};

/// The kinds of grants. The order is that of the configuration page, of `status` and of what is written down with a
/// generation; a kind that is added later is left out of the latter while nothing of it is granted
/// (`skip_serializing_if`), so that older generations stay what they were.
macro_rules! kinds {
    ($($(#[$attribute:meta])* $name:ident: $kind:ty,)*) => {
        /// What the operator allows, a field for each kind of grant.
        #[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
        pub struct Grants {
            $($(#[$attribute])* pub $name: $kind,)*
        }

        /// `[backend.grants]` as it stands in the file.
        #[derive(Default)]
        pub(super) struct GrantsSection {
            $($name: <$kind as Kind>::Section,)*
        }

        /// All keys of `[backend.grants]`.
        pub(super) fn keys() -> Vec<&'static str> {
            [$(<$kind as Kind>::KEYS,)*].concat()
        }

        impl GrantsSection {
            /// Reads a value into the kind that has this key.
            fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
                $(if <$kind as Kind>::KEYS.contains(&key) {
                    return <$kind as Kind>::take(&mut self.$name, key, map);
                })*
                map.next_value::<IgnoredAny>().map(drop)
            }

            /// Judges what was read at this place.
            pub(super) fn read(self, place: &str, problems: &mut Problems) -> Grants {
                Grants { $($name: Kind::read(self.$name, place, problems),)* }
            }
        }

        impl Grants {
            /// The options of `serve` that grant something.
            pub fn options() -> impl Iterator<Item = CommandOption> {
                [$(<$kind as Kind>::OPTION,)*].into_iter().flatten()
            }

            /// Adds what one of the options was given.
            pub fn argument(&mut self, option: CommandOption, text: &str, problems: &mut Problems) {
                $(if <$kind as Kind>::OPTION == Some(option) {
                    self.$name.argument(text, problems);
                })*
            }

            /// What is granted, in the words of the configuration. `absent` has what cannot be used now, with the
            /// reason.
            pub fn words(&self, absent: &[(String, String)]) -> Vec<String> {
                [$(self.$name.words(absent),)*].concat()
            }

            /// What of the machine's files the host must see.
            pub fn paths(&self) -> Vec<NeededPath> {
                [$(self.$name.paths(),)*].concat()
            }

            /// What the operator should know before a component with these imports is served.
            pub fn warnings(&self, imports: &[String]) -> Vec<String> {
                [$(self.$name.warning(imports),)*].into_iter().flatten().collect()
            }
        }

        /// `[backend.grants]` in words.
        pub(super) fn rows() -> Vec<Row> {
            [$(<$kind as Kind>::rows(),)*].concat()
        }

        /// The limits of all kinds in words.
        pub(super) fn limit_rows(limits: &Limits) -> Vec<Row> {
            [$(<$kind as Kind>::limit_rows(limits),)*].concat()
        }

        /// Sets a limit of any kind; false: there is none with this key.
        ///
        /// # Errors
        /// When the value cannot be used.
        pub(super) fn set_limit(limits: &mut Limits, key: &str, text: &str) -> Result<bool, String> {
            Ok($(<$kind as Kind>::set_limit(limits, key, text)? ||)* false)
        }

        /// The sections below `[backend.grants]`.
        pub(super) fn sections() -> impl Iterator<Item = &'static Section> {
            [$(<$kind as Kind>::SECTIONS,)*].into_iter().flatten()
        }
    };
}

kinds! {
    /// Directories that the component sees.
    directories: Vec<directories::DirectoryGrant>,
    /// Origins that it may send HTTP requests to.
    #[serde(flatten)]
    http: http::Http,
    /// Work on the node.
    #[serde(flatten)]
    node: node::NodeWork,
    /// Storage over a network that it may attach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attach: Vec<attach::AttachGrant>,
}

impl<'de> Deserialize<'de> for GrantsSection {
    /// By hand, because serde would lose the places of unknown keys in a section that several types share.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = GrantsSection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a section of grants")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GrantsSection, A::Error> {
                let mut section = GrantsSection::default();
                while let Some(key) = map.next_key::<String>()? {
                    section.take(&key, &mut map)?;
                }
                Ok(section)
            }
        }
        from.deserialize_map(Keys)
    }
}
