//! Connections whose `:authority` does not parse beside sound ones, on one host at the same time (T9).
//! Both come from one client, which speaks HTTP/2 itself; the odd ones have one header changed on its
//! way to the socket, because no library here would send it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;
use tonic::Status;

use super::{calls, site};
use crate::support::{PATIENCE, TestHost};

/// So many of each sort, and so often all calls on each.
const CONNECTIONS: usize = 4;
const ROUNDS: usize = 3;

/// `:authority: localhost` as the client writes it, and a path instead, which takes as many bytes.
const SOUND: &[u8] = b"\x41\x86\xa0\xe4\x1d\x13\x9d\x09";
const PATH: &[u8] = b"\x41\x06/c.soc";

/// A code and the messages of an answer.
type Answer = (String, Vec<u8>);

/// A connection on which the authority is changed, if that is wanted.
struct Wire {
    stream: UnixStream,
    /// How often it was; none: it is not to be.
    changed: Option<Arc<AtomicUsize>>,
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let at = bytes.windows(SOUND.len()).position(|part| part == SOUND);
        let (Some(at), Some(changed)) = (at, &this.changed) else {
            return Pin::new(&mut this.stream).poll_write(context, bytes);
        };
        let mut odd = bytes.to_vec();
        odd[at..at + PATH.len()].copy_from_slice(PATH);
        let written = Pin::new(&mut this.stream).poll_write(context, &odd);
        if written.is_ready() {
            changed.fetch_add(1, Ordering::SeqCst);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

/// Every call that changes nothing, and one whose request takes several frames.
fn reading_calls() -> Vec<(String, Vec<u8>)> {
    let reads = |path: &str| ["/Probe", "/Validate", "Get", "List"].iter().any(|word| path.contains(word));
    let mut all: Vec<_> =
        calls().into_iter().filter(|(path, ..)| reads(path)).map(|(path, _, request)| (path, request)).collect();
    let mut large = Vec::new();
    // A field that nobody knows.
    prost::encoding::bytes::encode(1_000, &vec![b'x'; 48 << 10], &mut large);
    all.push(("/csi.v1.Identity/GetPluginInfo".to_owned(), large));
    all
}

async fn call(client: &mut SendRequest<Bytes>, path: &str, request: &[u8]) -> Result<Answer, h2::Error> {
    let head = http::Request::post(format!("http://localhost{path}"));
    let head = head.header("content-type", "application/grpc").header("te", "trailers").body(()).unwrap();
    let (answer, mut body) = client.send_request(head, false)?;
    let length = u32::try_from(request.len()).unwrap().to_be_bytes();
    body.send_data([&[0], length.as_slice(), request].concat().into(), true)?;
    let (parts, mut body) = answer.await?.into_parts();
    let (mut headers, mut messages) = (parts.headers, Vec::new());
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        body.flow_control().release_capacity(bytes.len())?;
        messages.extend_from_slice(&bytes);
    }
    headers.extend(body.trailers().await?.unwrap_or_default());
    let status = Status::from_header_map(&headers).expect("an answer ends with a status");
    Ok((format!("{:?}", status.code()), messages))
}

/// All calls on one connection, so many times; gives the answers in their order.
async fn answers(stream: UnixStream, changed: Option<Arc<AtomicUsize>>, rounds: usize) -> Vec<(String, Answer)> {
    let (client, connection) = h2::client::handshake(Wire { stream, changed }).await.unwrap();
    let connections = TaskTracker::new();
    connections.spawn(connection);
    let (mut client, mut all) = (client.ready().await.unwrap(), Vec::new());
    for _ in 0..rounds {
        for (path, request) in reading_calls() {
            let answer = tokio::time::timeout(PATIENCE, call(&mut client, &path, &request)).await;
            let answer = answer.unwrap_or_else(|_| panic!("{path} is not answered"));
            all.push((path.clone(), answer.unwrap_or_else(|error| panic!("{path}: {error}"))));
        }
    }
    all
}

async fn connect(host: &TestHost) -> UnixStream {
    UnixStream::connect(host.socket()).await.unwrap()
}

#[tokio::test]
async fn t9_sound_connections_beside_rewritten_ones_get_every_answer() {
    let host = site().await;
    let alone = answers(connect(&host).await, None, 1).await;
    assert!(alone.len() > 20 && alone.iter().filter(|(_, (code, _))| code == "Ok").count() > 15, "{alone:?}");
    let expected: Vec<_> = std::iter::repeat_n(alone, ROUNDS).flatten().collect();
    let (mut all, mut counts) = (JoinSet::new(), Vec::new());
    for _ in 0..CONNECTIONS {
        let changed = Arc::new(AtomicUsize::new(0));
        counts.push(Arc::clone(&changed));
        for changed in [None, Some(changed)] {
            let (stream, odd) = (connect(&host).await, changed.is_some());
            all.spawn(async move { (odd, answers(stream, changed, ROUNDS).await) });
        }
    }
    while let Some(ended) = all.join_next().await {
        let (odd, answers) = ended.unwrap();
        let first = answers.iter().zip(&expected).find(|(answer, expected)| answer != expected);
        assert!(answers.len() == expected.len() && first.is_none(), "odd: {odd}, {first:?}");
    }
    let counts: Vec<_> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    assert_eq!(counts, [1; CONNECTIONS], "authorities that were changed, by connection");
}
