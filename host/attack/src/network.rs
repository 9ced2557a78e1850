//! A network of its own: a namespace in which every address is local, with listeners of ours and a name server of ours,
//! so that whatever a host sends anywhere is seen here and goes nowhere else. Needs root, `unshare`, `nsenter` and `ip`.

use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::names::Names;

/// Where somebody listens, whatever the address, for streams and for datagrams.
const STREAMS: [u16; 4] = [22, 80, 443, 8080];
const DATAGRAMS: u16 = 9;
const NAMES: u16 = 53;
/// The longest head that is read.
const HEAD: usize = 16 * 1024;
/// Its mounts are a copy of everybody's, and a volume that is unmounted meanwhile would stay in use by it. So it lets all
/// of them go but the one of the root and those that the stage (`$1`) and the program (`$2`) lie in.
const SCRIPT: &str = "known=$(cat /proc/mounts); echo \"$known\" | while read -r source point _; do \
    case $source in /dev/*) ;; *) continue ;; esac; \
    case $point/ in //) continue ;; esac; \
    case $1/ in $point/*) continue ;; esac; case $2/ in $point/*) continue ;; esac; \
    umount -l \"$point\" 2>/dev/null; done; \
    ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo \
    && mount --bind \"$1/resolv.conf\" /etc/resolv.conf && mount --bind \"$1/hosts\" /etc/hosts && echo ready && exec cat";

/// What got through.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    /// The address that it was sent to.
    pub(super) to: IpAddr,
    pub(super) port: u16,
    /// What came.
    pub(super) head: String,
}

/// The network. When it is dropped, it and all that listens there is gone.
pub(super) struct Network {
    anchor: Child,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    asked: Arc<Mutex<Vec<String>>>,
    end: CancellationToken,
}

impl Drop for Network {
    fn drop(&mut self) {
        self.end.cancel();
        // Its standard input is closed with it, which ends it as well.
        let _ = self.anchor.start_kill();
    }
}

impl Network {
    /// Makes one, with its files in this directory.
    ///
    /// # Errors
    /// When this process may not, or the programs are missing.
    pub(super) async fn make(directory: &Path) -> Result<Self> {
        std::fs::write(directory.join("resolv.conf"), "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")?;
        std::fs::write(directory.join("hosts"), "127.0.0.1 localhost\n")?;
        let mut anchor = Command::new("unshare")
            .args(["--net", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"])
            .arg(directory)
            .arg(std::env::current_exe()?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("unshare")?;
        let mut line = String::new();
        BufReader::new(anchor.stdout.take().context("no output")?).read_line(&mut line).await?;
        if line != "ready\n" {
            bail!("a network of its own cannot be made (root, unshare and ip are needed)");
        }
        let network = Self { anchor, arrivals: Arc::default(), asked: Arc::default(), end: CancellationToken::new() };
        network.populate().await?;
        Ok(network)
    }

    /// What a program is started with so that it lives there.
    pub(super) fn prefix(&self) -> Vec<String> {
        let target = self.anchor.id().unwrap_or_default().to_string();
        ["nsenter", "--target", &target, "--net", "--mount", "--"].map(ToOwned::to_owned).to_vec()
    }

    /// What got through so far, and the names that were asked for.
    pub(super) fn seen(&self) -> (Vec<Arrival>, Vec<String>) {
        let locked = |list: &Mutex<Vec<String>>| list.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).clone(), locked(&self.asked))
    }

    /// Opens the sockets: a socket belongs to the namespace of the thread that opens it, no matter which uses it later.
    async fn populate(&self) -> Result<()> {
        let namespace = std::fs::File::open(format!("/proc/{}/ns/net", self.anchor.id().unwrap_or_default()))?;
        let (tell, told) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || tell.send(open(&namespace)));
        let (streams, datagrams, names) = told.await??;
        let tracker = TaskTracker::new();
        for (listener, port) in streams {
            let (arrivals, end) = (Arc::clone(&self.arrivals), self.end.clone());
            let (listener, inner) = (tokio::net::TcpListener::from_std(listener)?, tracker.clone());
            tracker.spawn(async move {
                while let Some(Ok((stream, _))) = end.run_until_cancelled(listener.accept()).await {
                    let (arrivals, end) = (Arc::clone(&arrivals), end.clone());
                    inner.spawn(async move { end.run_until_cancelled(receive(stream, port, &arrivals)).await });
                }
            });
        }
        let (arrivals, end) = (Arc::clone(&self.arrivals), self.end.clone());
        let datagrams = tokio::net::UdpSocket::from_std(datagrams)?;
        tracker.spawn(async move {
            let mut bytes = [0; 512];
            while let Some(Ok(_)) = end.run_until_cancelled(datagrams.recv_from(&mut bytes)).await {
                note(&arrivals, IpAddr::from([0, 0, 0, 0]), DATAGRAMS, "a datagram".to_owned());
            }
        });
        let (asked, end) = (Arc::clone(&self.asked), self.end.clone());
        let names = Names::new(tokio::net::UdpSocket::from_std(names)?, asked);
        tracker.spawn(async move { end.run_until_cancelled(names.serve()).await });
        Ok(())
    }
}

type Sockets = (Vec<(TcpListener, u16)>, UdpSocket, UdpSocket);

/// Enters the namespace with this thread, which is of no other use, and opens what listens there.
fn open(namespace: &std::fs::File) -> std::io::Result<Sockets> {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
    let listen = |port: u16| {
        let listener = TcpListener::bind(("::", port))?;
        listener.set_nonblocking(true).map(|()| (listener, port))
    };
    let streams = STREAMS.into_iter().map(listen).collect::<std::io::Result<Vec<_>>>()?;
    let (datagrams, names) = (UdpSocket::bind(("0.0.0.0", DATAGRAMS))?, UdpSocket::bind(("0.0.0.0", NAMES))?);
    datagrams.set_nonblocking(true)?;
    names.set_nonblocking(true)?;
    Ok((streams, datagrams, names))
}

fn note(arrivals: &Mutex<Vec<Arrival>>, to: IpAddr, port: u16, head: String) {
    arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(Arrival { to: to.to_canonical(), port, head });
}

/// Notes a connection's requests and answers them. A connection alone is an arrival as well.
async fn receive(mut stream: TcpStream, port: u16, arrivals: &Mutex<Vec<Arrival>>) {
    let Ok(address) = stream.local_addr() else { return };
    let (mut bytes, mut requests) = (Vec::new(), 0);
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap_or(0);
        bytes.extend(piece.iter().take(read));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if read == 0 || bytes.len() > HEAD {
            if !bytes.is_empty() || requests == 0 {
                note(arrivals, address.ip(), port, text);
            }
            return;
        }
        if !text.contains("\r\n\r\n") {
            continue;
        }
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        note(arrivals, address.ip(), port, text);
        bytes.clear();
        requests += 1;
        if stream.write_all(reply(&path).as_bytes()).await.is_err() || path == "/close" {
            return;
        }
    }
}

fn reply(path: &str) -> &'static str {
    match path {
        "/redirect" => "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n",
        "/close" => "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        _ => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    }
}
