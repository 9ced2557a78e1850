//! An array for a test, and a client that is logged in to it.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser as _;
use drivebay_array::client::{Call, Client, Failure, Reply};
use drivebay_array::{Options, Running};
use serde_json::{Value, json};

pub(crate) const USER: &str = "tester:correct-horse";
pub(crate) const GIB: u64 = 1 << 30;

/// An array in this process.
pub(crate) struct World {
    pub(crate) running: Running,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) client: Api,
}

/// A client with a token.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) client: Client,
    pub(crate) token: String,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(further: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut words = vec!["array", "--listen", "127.0.0.1:0", "--user", USER, "--beat", "0.05"];
        words.extend(["--host", "n1=192.0.2.1", "--host", "n2=192.0.2.2", "--admin", "127.0.0.1:0"]);
        words.extend(["--data", data.to_str().unwrap(), "--link-secret", "the link"]);
        words.extend(further);
        let running = drivebay_array::start(Options::try_parse_from(words).unwrap()).await.unwrap();
        let client = Api::log_in(&running.url(), &running.ca()).await;
        Self { running, folder, client }
    }

    /// Two arrays that know each other.
    pub(crate) async fn pair() -> (Self, Self) {
        let (a, b) = (Self::new().await, Self::new().await);
        a.running.set_peer(b.running.url(), b.running.ca());
        b.running.set_peer(a.running.url(), a.running.ca());
        (a, b)
    }

    /// Orders a fault, or something else from the other door.
    pub(crate) async fn order(&self, method: &str, path: &str, body: &Value) -> Value {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(self.running.admin.unwrap()).await.unwrap();
        let body = body.to_string();
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).unwrap()
    }

    pub(crate) async fn fault(&self, fault: Value) {
        self.order("POST", "/faults", &fault).await;
    }

    pub(crate) async fn heal(&self) {
        self.order("DELETE", "/faults", &Value::Null).await;
    }
}

impl Api {
    pub(crate) async fn log_in(url: &str, ca: &Path) -> Self {
        let client = Client::new(url, &std::fs::read_to_string(ca).unwrap(), None).unwrap();
        let mut api = Self { client, token: String::new() };
        let (user, password) = USER.split_once(':').unwrap();
        let login = api.ok("POST", "/v1/session", &json!({ "user": user, "password": password })).await;
        login["token"].as_str().unwrap().clone_into(&mut api.token);
        api
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Bytes) -> Result<Reply, Failure> {
        let login = (!self.token.is_empty()).then(|| ("authorization", format!("Bearer {}", self.token)));
        let headers = login.into_iter().collect();
        let call = Call { method, path, headers, body, patience: Duration::from_secs(30) };
        self.client.send(&call).await
    }

    /// A request that must succeed.
    pub(crate) async fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let reply = self.send(method, path, body).await.unwrap();
        assert!(reply.status.is_success(), "{method} {path}: {} {:?}", reply.status, reply.body);
        serde_json::from_slice(&reply.body).unwrap_or(Value::Null)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ok("GET", path, &Value::Null).await
    }

    /// A request that must be refused; the code.
    pub(crate) async fn refused(&self, method: &str, path: &str, body: &Value) -> String {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let reply = self.send(method, path, body).await.unwrap();
        assert!(!reply.status.is_success(), "{method} {path}: {:?}", reply.body);
        let refusal: Value = serde_json::from_slice(&reply.body).unwrap();
        assert!(!refusal["message"].as_str().unwrap().is_empty());
        refusal["code"].as_str().unwrap().to_owned()
    }

    /// A volume that is ready.
    pub(crate) async fn volume(&self, name: &str, bytes: u64) -> String {
        let made = self.ok("POST", "/v1/volumes", &json!({ "name": name, "bytes": bytes })).await;
        made["id"].as_str().unwrap().to_owned()
    }

    /// Waits for the job of an object.
    pub(crate) async fn finish(&self, made: &Value) -> String {
        if let Some(job) = made["job"].as_str() {
            self.until(&format!("/v1/jobs/{job}"), |job| job["state"] != "running").await;
        }
        made["id"].as_str().unwrap().to_owned()
    }

    /// Asks until it is so; the test's own limit ends it otherwise.
    pub(crate) async fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let asking = async {
            loop {
                last = self.get(path).await;
                if is_so(&last) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_mins(1), asking).await;
        assert!(ended.is_ok(), "{path} stays {last}");
        last
    }

    pub(crate) async fn write(&self, volume: &str, offset: u64, bytes: &[u8]) {
        let path = format!("/v1/volumes/{volume}/data?offset={offset}");
        let reply = self.send("PUT", &path, Bytes::copy_from_slice(bytes)).await.unwrap();
        assert!(reply.status.is_success(), "{:?}", reply.body);
    }

    /// `what` is `volumes/ID` or `snapshots/ID`.
    pub(crate) async fn read(&self, what: &str, offset: u64, length: usize) -> Vec<u8> {
        let path = format!("/v1/{what}/data?offset={offset}&length={length}");
        let reply = self.send("GET", &path, Bytes::new()).await.unwrap();
        assert!(reply.status.is_success(), "{:?}", reply.body);
        reply.body.to_vec()
    }
}
