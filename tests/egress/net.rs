//! A network of its own: a namespace in which all addresses are local, with listeners on the ports that matter, a
//! name server, and a mount namespace whose `resolv.conf` names it. Made by a process that does nothing else; when that
//! ends, all of it is gone.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto::ring};

use super::answer::{Table, serve};
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
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    asked: Arc<Mutex<Vec<String>>>,
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
        let (arrivals, asked) = (Arc::default(), Arc::default());
        let anchor = anchor(directory.path());
        let net = Self { directory, anchor, arrivals, asked };
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
        self.arrivals.lock().unwrap().clone()
    }

    /// The names that were asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Opens the sockets: a socket belongs to the namespace of the thread that opens it, whoever uses it later.
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
            let (arrivals, config) = (Arc::clone(&self.arrivals), SECURE.contains(&port).then(|| Arc::clone(&config)));
            std::thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let (arrivals, config) = (Arc::clone(&arrivals), config.clone());
                    std::thread::spawn(move || receive(stream, config, &arrivals));
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
    const SCRIPT: &str = "ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo \
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
fn receive(stream: TcpStream, config: Option<Arc<ServerConfig>>, arrivals: &Mutex<Vec<Arrival>>) {
    let Ok(address) = stream.local_addr() else { return };
    let note = |head: String| {
        arrivals.lock().unwrap().push(Arrival { to: address.ip().to_canonical(), port: address.port(), head });
    };
    match config {
        None => converse(stream, note),
        Some(config) => converse(StreamOwned::new(ServerConnection::new(config).unwrap(), stream), note),
    }
}

fn converse(mut stream: impl std::io::Read + std::io::Write, note: impl Fn(String)) {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => {
                // Whatever it was, it was sent here.
                if !bytes.is_empty() {
                    note(String::from_utf8_lossy(&bytes).into_owned());
                }
                return;
            }
            Ok(read) => bytes.extend(&piece[..read]),
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !text.contains("\r\n\r\n") {
            continue;
        }
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        note(text);
        bytes.clear();
        if stream.write_all(reply(&path).as_bytes()).and_then(|()| stream.flush()).is_err() || path == "/close" {
            return;
        }
    }
}

fn reply(path: &str) -> String {
    match path {
        "/redirect" => {
            "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n".to_owned()
        }
        "/close" => "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok".to_owned(),
        "/upgrade" => "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n".to_owned(),
        _ => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_owned(),
    }
}
