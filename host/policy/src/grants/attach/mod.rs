//! Storage over a network that a backend may attach on this node: `attach`. Reads and checks words; what is reached by
//! it, `drivebay-node` decides from the same words.

mod iscsi;
mod nfs;
mod nvme;
mod portal;

use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::rows::{Row, Section, row};
use crate::{Problems, fields};

pub use iscsi::IscsiGrant;
pub use nfs::NfsGrant;
pub use nvme::NvmeTcpGrant;
pub use portal::{NoPortal, Portal};

/// Storage that a backend may attach: one case for each protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum AttachGrant {
    /// Directories that NFS servers export.
    Nfs(NfsGrant),
    /// Disks of arrays, by iSCSI.
    Iscsi(IscsiGrant),
    /// Namespaces of NVMe subsystems, by TCP.
    NvmeTcp(NvmeTcpGrant),
}

/// A grant as it stands in the file, with the keys of all protocols.
#[derive(Debug, Deserialize)]
pub struct AttachSection {
    protocol: String,
    #[serde(default)]
    servers: Vec<String>,
    export: Option<String>,
    #[serde(default)]
    portals: Vec<String>,
    iqn: Option<String>,
    nqn: Option<String>,
}

impl Kind for Vec<AttachGrant> {
    type Section = Vec<AttachSection>;
    /// It is asked for with node work; what is needed where, the settings say.
    type Want<'a> = ();

    const KEYS: &'static [&'static str] = &["attach"];
    const SECTIONS: &'static [Section] =
        &[Section::new(&["backend", "grants", "attach"], "a granted attachment", || {
            fields::of::<AttachSection>().to_vec()
        })];

    fn take<'de, A: MapAccess<'de>>(section: &mut Self::Section, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "attach" => *section = map.next_value()?,
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn read(section: Self::Section, place: &str, problems: &mut Problems) -> Self {
        let place = format!("{place}.attach");
        section.into_iter().filter_map(|section| grant(section, &place, problems)).collect()
    }

    fn argument(&mut self, _: &str, _: &mut Problems) {}

    fn rows() -> Vec<Row> {
        vec![row(
            "attach",
            "[{ protocol = \"nfs\", servers = [\"10.20.0.0/16\"], export = \"/exports/*\" }]",
            "Storage over a network that it may attach on this node (with `node`); wit/ATTACH.md says how. Unless\n\
             given: nothing.",
        )]
    }

    fn lacks(&self, (): ()) -> Option<String> {
        self.is_empty().then(|| "storage over a network: give it with attach in [backend.grants]".to_owned())
    }

    fn words(&self, _: &[(String, String)]) -> Vec<String> {
        self.iter().map(|grant| format!("attach {grant}")).collect()
    }

    fn warning(&self, imports: &[String]) -> Option<String> {
        let attaches = imports.iter().any(|name| name.starts_with("drivebay:host/attach@"));
        (attaches && self.is_empty()).then(|| {
            "it attaches storage over a network, and none is granted here (attach): on a node, all will be refused"
                .to_owned()
        })
    }
}

/// What is written for each protocol, and nothing else.
const PROTOCOLS: &str = "nfs has servers and export; iscsi has portals and iqn; nvme-tcp has portals and nqn";

fn grant(section: AttachSection, place: &str, problems: &mut Problems) -> Option<AttachGrant> {
    let written = [
        ("servers", !section.servers.is_empty()),
        ("export", section.export.is_some()),
        ("portals", !section.portals.is_empty()),
        ("iqn", section.iqn.is_some()),
        ("nqn", section.nqn.is_some()),
    ];
    let expect = |keys: [&str; 2], problems: &mut Problems| {
        if written.iter().any(|(key, is_written)| *is_written && !keys.contains(key)) {
            problems.add(format!("{place}: a key of another protocol: {PROTOCOLS}"));
        }
    };
    match section.protocol.as_str() {
        "nfs" => {
            expect(["servers", "export"], problems);
            nfs::read(&section.servers, section.export, place, problems).map(AttachGrant::Nfs)
        }
        "iscsi" => {
            expect(["portals", "iqn"], problems);
            iscsi::read(&section.portals, section.iqn, place, problems).map(AttachGrant::Iscsi)
        }
        "nvme-tcp" => {
            expect(["portals", "nqn"], problems);
            nvme::read(&section.portals, section.nqn, place, problems).map(AttachGrant::NvmeTcp)
        }
        other => {
            problems.add(format!(
                "{place}: \"{other}\" is no protocol that this host attaches; known: \"nfs\", \"iscsi\", \"nvme-tcp\""
            ));
            None
        }
    }
}

impl std::fmt::Display for AttachGrant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = |all: &[Portal]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Nfs(NfsGrant { servers, export }) => {
                let servers: Vec<_> = servers.iter().map(ToString::to_string).collect();
                write!(f, "nfs {export} of {}", servers.join(", "))
            }
            Self::Iscsi(IscsiGrant { portals, iqn }) => write!(f, "iscsi {iqn} at {}", words(portals)),
            Self::NvmeTcp(NvmeTcpGrant { portals, nqn }) => write!(f, "nvme-tcp {nqn} at {}", words(portals)),
        }
    }
}
