//! The command line, the same for `drivebay conform` and for a program of somebody else.

use std::path::PathBuf;

use clap::Parser;

use crate::catalogue::Choice;
use crate::site::Addresses;

/// Judge a driver in any language by the rules of CSI and csi-addons, over its sockets.
#[derive(Debug, Clone, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The controller's CSI socket (<unix:///PATH>), or the only one.
    #[arg(long, value_name = "URI", required_unless_present = "list")]
    pub csi: Option<String>,
    /// A node's CSI socket, where it is another one; may be given for several nodes.
    #[arg(long, value_name = "URI")]
    pub csi_node: Vec<String>,
    /// The csi-addons socket.
    #[arg(long, value_name = "URI")]
    pub addons: Option<String>,
    /// The second site's CSI socket, for replication between sites.
    #[arg(long, value_name = "URI", requires = "addons_b")]
    pub csi_b: Option<String>,
    /// The second site's csi-addons socket.
    #[arg(long, value_name = "URI", requires = "csi_b")]
    pub addons_b: Option<String>,
    /// Parameters, secrets, sizes, directories and what the driver cannot do.
    #[arg(long, value_name = "FILE.toml")]
    pub with: Option<PathBuf>,
    /// Show the rules and run none.
    #[arg(long)]
    pub list: bool,
    /// Rules and ranges with commas, for example R-01..R-10,G-16b.
    #[arg(long, value_name = "IDS")]
    pub only: Option<Choice>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Write `JUnit`'s XML to a file, too.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  drivebay conform --csi unix:///run/csi.sock
  drivebay conform --csi unix:///run/c.sock --csi-node unix:///run/n.sock --addons unix:///run/a.sock --with driver.toml
  drivebay conform --list --only R-01..R-48

Exit status: 0 every rule that was judged is kept, 1 one is not or the run ended early, 2 wrong usage or nobody answers.";

impl Args {
    /// The rules that are asked for; all, unless `--only` says otherwise.
    pub fn choice(&self) -> Choice {
        self.only.clone().unwrap_or_default()
    }

    /// The addresses of one site or two.
    ///
    /// # Errors
    /// When there is no `--csi`.
    pub fn sites(&self) -> Result<Vec<Addresses>, String> {
        let csi = self.csi.clone().ok_or("--csi is missing")?;
        let mut sites = vec![Addresses { csi, nodes: self.csi_node.clone(), addons: self.addons.clone() }];
        if let Some(csi) = self.csi_b.clone() {
            sites.push(Addresses { csi, nodes: Vec::new(), addons: self.addons_b.clone() });
        }
        Ok(sites)
    }
}

#[cfg(test)]
mod tests;
