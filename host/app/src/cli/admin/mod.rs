//! The commands to a running host: one connection, one request, one answer. Owns finding the host and the
//! exit status; what the host makes of it is its own.

pub(super) mod command;
pub(super) mod history;
pub(super) mod record;
pub(super) mod status;
pub(super) mod table;

use std::path::PathBuf;

use tonic::Status;
use tonic::transport::Channel;

use super::call::{Whose, connect_to};
use super::{Exit, say};
use drivebay_policy::units;
use drivebay_proto::admin::admin_client::AdminClient;

/// Where the host listens for operators.
#[derive(Debug, clap::Args)]
pub(super) struct Socket {
    /// The host's admin socket, a path or a unix:// URI.
    #[arg(long, env = "DRIVEBAY_ADMIN", default_value = "/run/drivebay/admin.sock", value_name = "PATH")]
    admin: String,
}

/// A failure, and whose fault it is.
enum Failure {
    Usage(String),
    Failed(String),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let words = drivebay_observe::text::tame(status.message(), 4096);
        match status.code() {
            tonic::Code::InvalidArgument | tonic::Code::NotFound => Self::Usage(words),
            _ => Self::Failed(words),
        }
    }
}

impl Socket {
    /// Runs work with a client of the host.
    fn run<F>(&self, work: F) -> Exit
    where
        F: AsyncFnOnce(AdminClient<Channel>) -> Result<Exit, Failure>,
    {
        let done = super::runtime().map_err(|error| Failure::Failed(error.to_string())).and_then(|runtime| {
            runtime.block_on(async {
                let path = self.path().map_err(Failure::Usage)?;
                let channel = connect_to(&path, Whose::Host).await.map_err(Failure::Failed)?;
                work(AdminClient::new(channel)).await
            })
        });
        match done {
            Ok(exit) => exit,
            Err(Failure::Usage(words)) => {
                say(&words);
                Exit::Usage
            }
            Err(Failure::Failed(words)) => {
                say(&words);
                Exit::Failed
            }
        }
    }

    /// Unlike in a configuration it may be relative to where the person stands.
    fn path(&self) -> Result<PathBuf, String> {
        if self.admin.starts_with("unix:") {
            return units::socket(&self.admin);
        }
        let path = std::path::absolute(&self.admin).map_err(|error| format!("--admin {}: {error}", self.admin))?;
        units::socket(&path.to_string_lossy())
    }
}

/// A moment as people and programs read it; none: never.
fn moment(milliseconds: u64) -> Option<String> {
    let since = std::time::Duration::from_millis(milliseconds);
    let time = std::time::UNIX_EPOCH.checked_add(since).filter(|_| milliseconds > 0)?;
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

/// As much of a digest as tells components apart; `pin` takes it as it stands here.
fn short(digest: &str) -> String {
    let digits = digest.strip_prefix("sha256:").unwrap_or(digest);
    format!("sha256:{}", digits.chars().take(12).collect::<String>())
}
