//! What the array is told when it starts.
//!
//! It owns names, defaults and meaning of the options and of their help.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use crate::luns::Luns;
use crate::model::Host;
use crate::replica::Peer;

const EXAMPLES: &str = "\
Examples:
  An array for trying things out; the CA that clients must trust is ./array/ca.pem:
    drivebay-array --data ./array --listen 127.0.0.1:8443 --user demo:demo-password --host worker-1=192.0.2.11

  Two arrays that replicate to each other:
    drivebay-array --data ./a --listen 127.0.0.1:8443 --user demo:pw --peer https://127.0.0.1:9443 --peer-ca ./b/ca.pem --link-secret link
    drivebay-array --data ./b --listen 127.0.0.1:9443 --user demo:pw --peer https://127.0.0.1:8443 --peer-ca ./a/ca.pem --link-secret link

  One request of ten meets a fault; more can be ordered while it runs:
    drivebay-array --data ./array --user demo:pw --fault-rate 100 --fault-seed 7 --admin 127.0.0.1:8444
    curl -X POST http://127.0.0.1:8444/faults -d '{\"kind\": \"lost-answer\", \"method\": \"POST\", \"path\": \"/v1/volumes\", \"times\": 1}'
    curl -X POST http://127.0.0.1:8444/faults -d '{\"kind\": \"partition\"}'
    curl -X DELETE http://127.0.0.1:8444/faults
  Kinds: slow, error, drop, lost-answer, error-after, expired-token, full-pool, partition.";

/// A storage array as one process: REST over TLS, real blocks in a folder.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "drivebay-array", version, after_help = EXAMPLES)]
pub struct Options {
    /// The array's folder: catalogue, blocks, keys and certificates. Made when it is not there.
    #[arg(long, value_name = "DIR", default_value = "array-data")]
    pub data: PathBuf,
    /// Where to serve HTTPS; port 0 takes a free one, and the line at the start says which.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    pub listen: SocketAddr,
    /// A further name of the server's certificate, beside localhost and the loopback addresses.
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Where to serve faults on demand, in plain HTTP; only for loopback addresses. Off by default.
    #[arg(long, value_name = "ADDRESS")]
    pub admin: Option<SocketAddr>,
    /// A user who may log in.
    #[arg(long = "user", value_name = "NAME:PASSWORD")]
    pub users: Vec<Account>,
    /// A host that volumes can be exported to, with its addresses.
    #[arg(long = "host", value_name = "NAME[=IP,IP]", value_parser = parse_host)]
    pub(crate) hosts: Vec<Host>,
    /// Presents exported volumes as disks of this iSCSI target, in the kernel of this machine; their blocks are not encrypted
    /// then. Needs root, --portal and --chap.
    #[arg(long, value_name = "NAME", requires_all = ["portals", "chap"])]
    pub iqn: Option<String>,
    /// Where the target is served, as ADDRESS:PORT.
    #[arg(long = "portal", value_name = "ADDRESS")]
    pub portals: Vec<SocketAddr>,
    /// With what initiators prove themselves.
    #[arg(long, value_name = "NAME:SECRET")]
    pub chap: Option<Account>,
    /// The initiator of a host.
    #[arg(long = "initiator", value_name = "HOST=NAME", value_parser = parse_initiator)]
    pub(crate) initiators: Vec<(String, String)>,
    /// Bytes of the pool.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 40)]
    pub capacity: u64,
    /// Seconds after which a token that nobody uses ends.
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub token_time: u64,
    /// As many volumes as a host can have.
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    pub host_limit: usize,
    /// The other array, for replication.
    #[arg(long, value_name = "URL", requires_all = ["peer_ca", "link_secret"])]
    pub peer: Option<String>,
    /// The other array's CA; read when it is needed.
    #[arg(long, value_name = "FILE")]
    pub peer_ca: Option<PathBuf>,
    /// What the two arrays know of each other and nobody else knows.
    #[arg(long, value_name = "WORD")]
    pub link_secret: Option<String>,
    /// Seconds between two looks at the other array.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    pub beat: Duration,
    /// So many requests of a thousand meet a fault.
    #[arg(long, value_name = "PER MILLE", default_value_t = 0)]
    pub fault_rate: u32,
    /// Decides which requests meet which faults.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub fault_seed: u64,
}

/// A user and the password.
#[derive(Clone)]
pub struct Account {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("user", &self.user).finish_non_exhaustive()
    }
}

impl FromStr for Account {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((user, password)) if !user.is_empty() && !password.is_empty() => {
                Ok(Self { user: user.to_owned(), password: password.to_owned() })
            }
            _ => Err("write it as NAME:PASSWORD".to_owned()),
        }
    }
}

impl Options {
    /// The target that volumes are presented by, if one was named.
    pub(crate) fn luns(&self) -> Option<Luns> {
        let (iqn, chap) = self.iqn.clone().zip(self.chap.clone())?;
        let initiators = self.initiators.iter().cloned().collect();
        let chap = (chap.user, chap.password);
        Some(Luns { iqn, portals: self.portals.clone(), chap, initiators, turn: Mutex::default() })
    }

    /// The other array, if one was named.
    pub(crate) fn peer(&self) -> Option<Peer> {
        match (&self.peer, &self.peer_ca) {
            (Some(url), Some(ca)) => Some(Peer::new(url.clone(), ca.clone())),
            _ => None,
        }
    }
}

fn parse_host(text: &str) -> Result<Host, String> {
    let (name, addresses) = text.split_once('=').unwrap_or((text, ""));
    let addresses: Result<Vec<IpAddr>, _> =
        addresses.split(',').filter(|address| !address.is_empty()).map(str::parse).collect();
    let addresses = addresses.map_err(|error| format!("{text}: {error}"))?;
    Ok(Host { id: name.to_owned(), addresses })
}

fn parse_initiator(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or_else(|| "write it as HOST=NAME".to_owned())?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
