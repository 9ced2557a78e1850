//! The storage array as a process, and its other door: faults, and what the catalogue holds. It knows
//! nothing of hosts and backends.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::Log;

/// The port on which arrays serve; each has an address of its own.
const PORT: u16 = 8443;

/// An array's address and folder, before it runs.
#[derive(Debug)]
pub struct Plan {
    address: Ipv4Addr,
    directory: TempDir,
}

/// A running array.
#[derive(Debug)]
pub struct ArrayProcess {
    child: Child,
    /// What it has said on its standard output and error.
    pub out: Log,
    pub err: Log,
    door: SocketAddr,
    plan: Plan,
}

/// Where the program is. Its absence is said aloud, and is a failure where everything must have been built.
pub fn program() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_BIN_EXE_drivebay")).with_file_name("drivebay-array");
    if path.is_file() {
        return Some(path);
    }
    let words = "drivebay-array is not built (cargo build --release --bin drivebay-array)";
    assert!(std::env::var("CI").is_err(), "{words}, and with CI=true it must be");
    // Past the test harness, which keeps what a passing test prints to itself.
    let _ = writeln!(std::io::stderr(), "skipped: {words}");
    None
}

impl Plan {
    /// An address of the loopback network that no other test has.
    pub fn new() -> Self {
        static NEXT: AtomicU8 = AtomicU8::new(1);
        let [.., high, low] = std::process::id().to_be_bytes();
        let address = Ipv4Addr::new(127, high, low, NEXT.fetch_add(1, Ordering::Relaxed));
        Self { address, directory: tempfile::tempdir().unwrap() }
    }

    pub fn url(&self) -> String {
        format!("https://{}:{PORT}", self.address)
    }

    /// A file that the array makes in its folder.
    pub fn file(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }
}

impl ArrayProcess {
    /// Starts an array; it serves.
    pub async fn start(program: &Path, plan: Plan, user: &str, further: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(["--data", plan.directory.path().to_str().unwrap(), "--user", user, "--admin", "127.0.0.1:0"]);
        command.arg("--listen").arg(format!("{}:{PORT}", plan.address));
        command.args(["--host", "n1=192.0.2.1", "--host", "n2=192.0.2.2", "--beat", "0.05"]).args(further);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let (out, err) = (Log::of(child.stdout.take().unwrap()), Log::of(child.stderr.take().unwrap()));
        let said = out.wait("faults on http://", 1).await.text;
        let door = said.rsplit_once('/').unwrap().1.parse().expect("an address");
        Self { child, out, err, door, plan }
    }

    pub fn url(&self) -> String {
        self.plan.url()
    }

    pub fn file(&self, name: &str) -> String {
        self.plan.file(name)
    }

    /// The folder of its catalogue, keys and blocks.
    pub fn folder(&self) -> &Path {
        self.plan.directory.path()
    }

    /// Asks at the other door, which no fault is at.
    pub async fn ask(&self, method: &str, path: &str, body: &Json) -> Json {
        let mut stream = TcpStream::connect(self.door).await.unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n");
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{method} {path}: {answer}");
        serde_json::from_str(body).unwrap()
    }

    /// An object as the catalogue has it; null: there is none.
    pub async fn object(&self, kind: &str, id: &str) -> Json {
        self.ask("GET", &format!("/objects/{}/{id}", kind.replace(' ', "%20")), &Json::Null).await
    }

    /// All objects of a kind.
    pub async fn objects(&self, kind: &str) -> Vec<Json> {
        let all = self.ask("GET", &format!("/objects/{}", kind.replace(' ', "%20")), &Json::Null).await;
        all.as_array().unwrap().clone()
    }
}

impl Drop for ArrayProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("--- the array's log\n{}\n---", self.err.tail());
        }
    }
}
