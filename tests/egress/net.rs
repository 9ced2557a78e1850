//! A network of its own: a namespace in which all addresses are local, with listeners on the ports that matter, a
//! name server, and a mount namespace whose `resolv.conf` names it. Made by a process that does nothing else; when that
//! ends, all of it is gone.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto::ring};

use super::answer::{Table, serve};
use crate::support::PATIENCE;
use crate::support::place::may_mount;

/// Where somebody listens, whatever the address. The secure ones speak TLS.
const PORTS: [u16; 7] = [22, 80, 443, 2375, 8080, 8443, 9443];
const SECURE: [u16; 2] = [443, 8443];

/// A request that got through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The address that it was sent to.
    pub to: IpAddr,
    pub port: u16,
    /// What came: the head, or the first bytes of whatever it was.
    pub head: String,
}

/// The network.
#[derive(Debug)]
pub struct Net {
    directory: TempDir,
    anchor: Child,
    seen: Arc<Seen>,
    asked: Arc<Mutex<Vec<String>>>,
}

/// What all listeners share.
#[derive(Debug, Default)]
struct Seen {
    arrivals: watch::Sender<Vec<Arrival>>,
    /// Whether `/hold` is answered.
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Seen {
    fn note(&self, arrival: Arrival) {
        self.arrivals.send_modify(|arrivals| arrivals.push(arrival));
    }

    fn hold(&self) {
        drop(self.opened.wait_while(self.is_open.lock().unwrap(), |is_open| !*is_open));
    }
}

impl Net {
    /// None: this process may not make one, which is said aloud.
    pub fn make(table: Table) -> Option<Self> {
        if !may_mount() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("resolv.conf"), "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
            .unwrap();
        std::fs::write(directory.path().join("hosts"), "127.0.0.1 localhost\n").unwrap();
        let anchor = anchor(directory.path());
        let net = Self { directory, anchor, seen: Arc::default(), asked: Arc::default() };
        net.populate(table);
        Some(net)
    }

    /// What a program is started with so that it lives there.
    pub fn prefix(&self) -> Vec<String> {
        let target = self.anchor.id().to_string();
        ["nsenter", "--target", &target, "--net", "--mount", "--"].map(ToOwned::to_owned).to_vec()
    }

    /// The certificate of the authority that vouches for every secure listener.
    pub fn ca(&self) -> std::path::PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// What got through so far.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.seen.arrivals.borrow().clone()
    }

    /// Waits until `count` requests to this path, `closed` ends of `/watch` among them, got through.
    pub async fn arrived(&self, path: &str, count: usize) {
        let is_one = |arrival: &&Arrival| arrival.head.split(' ').nth(1) == Some(path);
        let mut arrivals = self.seen.arrivals.subscribe();
        let enough = arrivals.wait_for(|arrivals| arrivals.iter().filter(is_one).count() >= count);
        let found = tokio::time::timeout(PATIENCE, enough).await.is_ok();
        assert!(found, "{path} did not arrive {count} times: {:?}", self.arrivals());
    }

    /// From now on `/hold` is answered.
    pub fn open(&self) {
        *self.seen.is_open.lock().unwrap() = true;
        self.seen.opened.notify_all();
    }

    /// The names that were asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Opens the sockets: a socket belongs to the namespace of the thread that opens it, no matter which uses it later.
    fn populate(&self, table: Table) {
        let config = tls(&self.ca());
        let namespace = std::fs::File::open(format!("/proc/{}/ns/net", self.anchor.id())).unwrap();
        let opened = std::thread::spawn(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may enter it");
            let listeners = PORTS.map(|port| TcpListener::bind(("::", port)).expect("nobody else is there"));
            (listeners, UdpSocket::bind(("0.0.0.0", 53)).expect("nobody else is there"))
        });
        let (listeners, names) = opened.join().unwrap();
        let asked = Arc::clone(&self.asked);
        std::thread::spawn(move || serve(&names, table, &asked));
        for (listener, port) in listeners.into_iter().zip(PORTS) {
            let (seen, config) = (Arc::clone(&self.seen), SECURE.contains(&port).then(|| Arc::clone(&config)));
            std::thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let (seen, config) = (Arc::clone(&seen), config.clone());
                    std::thread::spawn(move || receive(stream, config, &seen));
                }
            });
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let _ = self.anchor.kill();
        let _ = self.anchor.wait();
    }
}

/// A process in namespaces of its own, ready.
fn anchor(directory: &Path) -> Child {
    // Its mounts are a copy of everybody's: a volume that another test unmounts would stay in use by it.
    const SCRIPT: &str = "known=$(cat /proc/mounts); echo \"$known\" | while read -r source point _; do \
        case $source in /dev/loop*) umount -l \"$point\" ;; esac; done; \
        ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo \
        && mount --bind \"$1/resolv.conf\" /etc/resolv.conf && mount --bind \"$1/hosts\" /etc/hosts && echo ready && exec cat";
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"]).arg(directory);
    let mut anchor = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("util-linux is installed");
    let mut line = String::new();
    BufReader::new(anchor.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "the namespace was not made");
    anchor
}

/// Certificates for the names and addresses of secure listeners.
fn tls(ca: &Path) -> Arc<ServerConfig> {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    std::fs::write(ca, params.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = rcgen::Issuer::new(params, key);
    let names = ["array.test", "*.wild.test", "10.1.0.5"].map(ToOwned::to_owned).to_vec();
    let own = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(names).unwrap().signed_by(&own, &issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivateKeyDer::try_from(own.serialize_der()).unwrap();
    Arc::new(config.with_single_cert(vec![certificate.der().clone()], key).unwrap())
}

/// Notes the connection's requests and answers them.
fn receive(stream: TcpStream, config: Option<Arc<ServerConfig>>, seen: &Seen) {
    let Ok(address) = stream.local_addr() else { return };
    let (to, port) = (address.ip().to_canonical(), address.port());
    let note = |head: String| seen.note(Arrival { to, port, head });
    match config {
        None => converse(stream, seen, note),
        Some(config) => converse(StreamOwned::new(ServerConnection::new(config).unwrap(), stream), seen, note),
    }
}

fn converse(mut stream: impl std::io::Read + std::io::Write, seen: &Seen, note: impl Fn(String)) {
    let (mut bytes, mut is_watched) = (Vec::new(), false);
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => {
                // Whatever it was, it was sent here.
                if !bytes.is_empty() {
                    note(String::from_utf8_lossy(&bytes).into_owned());
                } else if is_watched {
                    note("watched closed".to_owned());
                }
                return;
            }
            Ok(read) => bytes.extend(&piece[..read]),
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !is_whole(&text) {
            continue;
        }
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        note(text);
        bytes.clear();
        match path.as_str() {
            "/watch" => {
                is_watched = true;
                continue;
            }
            "/hold" => seen.hold(),
            _ => {}
        }
        if stream.write_all(reply(&path).as_bytes()).and_then(|()| stream.flush()).is_err() || path == "/close" {
            return;
        }
    }
}

/// Whether the head has come, and the body that it promises.
fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let promised = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    promised.is_none_or(|promised| promised.parse().is_ok_and(|promised: usize| body.len() >= promised))
}

fn reply(path: &str) -> String {
    match path {
        "/redirect" => {
            "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n".to_owned()
        }
        "/close" => "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok".to_owned(),
        "/kilobyte" => format!("HTTP/1.1 200 OK\r\ncontent-length: 1024\r\n\r\n{}", "x".repeat(1024)),
        "/more" => format!("HTTP/1.1 200 OK\r\ncontent-length: 1025\r\n\r\n{}", "x".repeat(1025)),
        "/pieces" => {
            let piece = format!("258\r\n{}\r\n", "x".repeat(600));
            format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{piece}{piece}{piece}0\r\n\r\n")
        }
        "/upgrade" => "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n".to_owned(),
        _ => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_owned(),
    }
}
