//! The command line. It knows words and paths; what they mean for the driver stands in `layout`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// An in-memory CSI and csi-addons driver with two sites, for trying conformance suites: it keeps every
/// rule, and breaks the one that `--break` names. Prints `ready` when it serves; SIGTERM ends it, and then it prints how much is
/// left of all that was made.
#[derive(Clone, Debug, Parser)]
#[command(name = "liar")]
pub(crate) struct Options {
    /// What the driver offers and how it is spread over sockets.
    #[arg(long, value_enum, default_value_t = Shape::Unified)]
    pub(crate) layout: Shape,
    /// The CSI socket: a path or a unix:// URI.
    #[arg(long, value_name = "URI", required_unless_present = "list")]
    pub(crate) csi: Option<String>,
    /// The add-ons socket.
    #[arg(long, value_name = "URI")]
    pub(crate) addons: Option<String>,
    /// A node's own socket, once per node. In the split layout the first is the node `liar-1`; elsewhere
    /// that one is served on `--csi`, and the first here is `liar-2`.
    #[arg(long, value_name = "URI")]
    pub(crate) node: Vec<String>,
    /// The CSI socket of the second site.
    #[arg(long, value_name = "URI")]
    pub(crate) b_csi: Option<String>,
    /// The add-ons socket of the second site.
    #[arg(long, value_name = "URI")]
    pub(crate) b_addons: Option<String>,
    /// A secret that every call with secrets must carry.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) secret: Vec<(String, String)>,
    /// The id of a volume that is there from the start.
    #[arg(long, value_name = "ID")]
    pub(crate) existing: Option<String>,
    /// Most members of a volume group.
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    pub(crate) group_limit: usize,
    /// How long a call that changes something holds its objects, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 7)]
    pub(crate) work: u64,
    /// The one rule to break.
    #[arg(long = "break", value_name = "ID", value_parser = crate::lies::known)]
    pub(crate) broken: Option<&'static str>,
    /// Answer so many calls and hang from then on: calls are taken and get no answer, and it prints `hangs`.
    #[arg(long, value_name = "CALLS")]
    pub(crate) hang: Option<u64>,
    /// End at once, without a word, when `ListSnapshots` is asked for fewer than no entries, as a driver does that panics.
    #[arg(long)]
    pub(crate) dies: bool,
    /// Take the liberties that csi-driver-host-path takes, none of which breaks a rule: a capability is named twice, every
    /// parameter and every length of a name is taken, a reader may have what a writer has attached, only block volumes
    /// have metadata, and a node grows a volume to a size that it is told.
    #[arg(long)]
    pub(crate) loose: bool,
    /// While this file is there, the two sites do not hear each other.
    #[arg(long, value_name = "FILE")]
    pub(crate) cut_by: Option<PathBuf>,
    /// Once this file is there, the driver counts as killed and started again. It forgets nothing, as a driver with a disk.
    #[arg(long, value_name = "FILE")]
    pub(crate) killed_by: Option<PathBuf>,
    /// Print what can be broken, and how, and end.
    #[arg(long)]
    pub(crate) list: bool,
}

/// The ways in which such drivers are deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// Everything on one socket.
    Unified,
    /// The controller on one socket, each node on its own; volumes grow only while nobody uses them.
    Split,
    /// A node and no controller.
    NodeOnly,
    /// Volumes are made and deleted, and nothing else is offered.
    Bare,
    /// Neither volume groups nor group snapshots nor snapshot metadata.
    NoGroups,
    /// A group that has volumes cannot be deleted.
    KeepVolumes,
    /// As unified; together with `--secret`.
    Secrets,
    /// As unified, and a second node.
    TwoNodes,
    /// As unified, and a second site.
    TwoSites,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is wanted")?;
    Ok((key.to_owned(), value.to_owned()))
}
