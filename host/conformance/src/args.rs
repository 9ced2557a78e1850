//! The command line, the same for `drivebay conform` and for a program of somebody else.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

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
    /// Fail a driver for what the specifications only advise (SHOULD) or allow (MAY), too.
    #[arg(long)]
    pub strict: bool,
    /// A command for the shell that starts the driver again when it has ended; the run then goes on.
    #[arg(long, value_name = "COMMAND")]
    pub restart: Option<String>,
    /// What is printed: text for people, JSON, or HTML as one file.
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub report: Form,
    /// Print JSON, as --report json does.
    #[arg(long, conflicts_with = "report")]
    pub json: bool,
    /// Write `JUnit`'s XML to a file, too.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Form {
    /// For people, on a terminal.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For people, in a browser.
    Html,
}

const EXAMPLES: &str = "Examples:
  drivebay conform --csi unix:///run/csi.sock
  drivebay conform --csi unix:///run/c.sock --csi-node unix:///run/n.sock --addons unix:///run/a.sock --with driver.toml
  drivebay conform --csi unix:///run/csi.sock --report html > report.html
  drivebay conform --list --only R-01..R-48

Exit status: 0 every rule that was judged is kept, 1 one is not or the run ended early, 2 wrong usage or nobody answers.";

impl Args {
    /// The rules that are asked for; all, unless `--only` says otherwise.
    pub fn choice(&self) -> Choice {
        self.only.clone().unwrap_or_default()
    }

    /// What is printed.
    pub fn form(&self) -> Form {
        if self.json { Form::Json } else { self.report }
    }

    /// The words that judge this driver again, for a shell, without the choice of rules and the form of the report.
    pub fn again(&self) -> String {
        let mut words = vec!["drivebay conform".to_owned()];
        let with = self.with.as_ref().map(|file| file.display().to_string());
        let mut say = |key: &str, value: Option<&String>| {
            words.extend(value.map(|value| format!("{key} {}", quoted(value))));
        };
        say("--csi", self.csi.as_ref());
        for node in &self.csi_node {
            say("--csi-node", Some(node));
        }
        say("--addons", self.addons.as_ref());
        say("--csi-b", self.csi_b.as_ref());
        say("--addons-b", self.addons_b.as_ref());
        say("--with", with.as_ref());
        say("--restart", self.restart.as_ref());
        if self.strict {
            words.push("--strict".to_owned());
        }
        words.join(" ")
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

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests;
