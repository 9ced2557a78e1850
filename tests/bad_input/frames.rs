//! Below the messages: what arrives on the socket and is no call, or no whole one. Speaks HTTP/2 frame
//! by frame, because no gRPC client sends any of it.

use bytes::Bytes;
use http::{HeaderMap, Method};
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio_util::task::TaskTracker;

use super::{Site, caught_up, directory};
use crate::support::{PATIENCE, TestHost};

const CREATE: &str = "/csi.v1.Controller/CreateVolume";

/// What came back.
#[derive(Debug)]
struct Reply {
    http: u16,
    headers: HeaderMap,
}

impl Reply {
    /// The gRPC status and its words, decoded as clients do.
    fn status(&self) -> (String, String) {
        let status = tonic::Status::from_header_map(&self.headers).expect("every refusal is a gRPC status");
        (format!("{:?}", status.code()), status.message().to_owned())
    }
}

/// How a request differs from a proper one.
struct Odd {
    path: &'static str,
    method: Method,
    headers: Vec<(&'static str, &'static str)>,
    /// Frames of the body, the last of which ends it.
    body: Vec<u8>,
}

impl Default for Odd {
    fn default() -> Self {
        let headers = vec![("content-type", "application/grpc"), ("te", "trailers")];
        Self { path: CREATE, method: Method::POST, headers, body: framed(0, &message()) }
    }
}

fn message() -> Vec<u8> {
    directory("odd").encode_to_vec()
}

/// A message as gRPC puts it on the wire.
fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[flag], length.as_slice(), message].concat()
}

async fn send(host: &TestHost, odd: Odd) -> Reply {
    let stream = UnixStream::connect(host.socket()).await.unwrap();
    let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
    let connections = TaskTracker::new();
    connections.spawn(connection);
    let mut request = http::Request::builder().method(odd.method).uri(format!("http://localhost{}", odd.path));
    for (name, value) in odd.headers {
        request = request.header(name, value);
    }
    let (answer, mut body) = client.send_request(request.body(()).unwrap(), false).unwrap();
    // A refusal may come before the body was read; then nobody takes it, and that is no error here.
    let _ = body.send_data(Bytes::from(odd.body), true);
    let answer = tokio::time::timeout(PATIENCE, answer).await.expect("an answer comes").unwrap();
    let (parts, mut body) = answer.into_parts();
    let mut headers = parts.headers;
    while let Some(Ok(bytes)) = body.data().await {
        let _ = body.flow_control().release_capacity(bytes.len());
    }
    if let Ok(Some(trailers)) = body.trailers().await {
        headers.extend(trailers);
    }
    Reply { http: parts.status.as_u16(), headers }
}

#[tokio::test]
async fn frames_that_are_no_call() {
    let site = Site::new().await;
    let before = site.everything().await;
    caught_up(&site).await;
    let begun = site.host.log.with("call begins").len();
    let whole = framed(0, &message());
    let with = |name, value| {
        let mut headers = Odd::default().headers;
        headers.push((name, value));
        headers
    };
    let odd = [
        ("a message that is cut off", Odd { body: whole[..whole.len() - 1].to_vec(), ..Odd::default() }, "Internal"),
        ("the head of a message alone", Odd { body: whole[..3].to_vec(), ..Odd::default() }, "Internal"),
        ("no message", Odd { body: Vec::new(), ..Odd::default() }, "Internal"),
        ("an oversized message", Odd { body: framed(0, &vec![0; 5 << 20]), ..Odd::default() }, "OutOfRange"),
        ("the head of an endless one", Odd { body: vec![0, 0xff, 0xff, 0xff, 0xff], ..Odd::default() }, "OutOfRange"),
        ("compressed without a name for it", Odd { body: framed(1, &message()), ..Odd::default() }, "Internal"),
        ("a flag that there is not", Odd { body: framed(7, &message()), ..Odd::default() }, "Internal"),
        (
            "a compression that is not served",
            Odd { headers: with("grpc-encoding", "gzip"), ..Odd::default() },
            "Unimplemented",
        ),
        ("an unknown method", Odd { path: "/csi.v1.Controller/CreateVolumes", ..Odd::default() }, "Unimplemented"),
        ("an unknown service", Odd { path: "/csi.v2.Controller/CreateVolume", ..Odd::default() }, "Unimplemented"),
        ("no path", Odd { path: "/", ..Odd::default() }, "Unimplemented"),
    ];
    for (what, request, code) in odd {
        let reply = send(&site.host, request).await;
        let (status, words) = reply.status();
        assert_eq!((reply.http, status.as_str()), (200, code), "{what}: {reply:?}");
        assert!(words.contains(' '), "{what}: {words:?}");
    }
    assert_eq!(site.host.log.with("call begins").len(), begun, "nothing of it was a call");
    assert_eq!(site.everything().await, before);
    let reply = send(&site.host, Odd::default()).await;
    assert_eq!(reply.status().0, "Ok", "the same without oddities is served: {reply:?}");
}

#[tokio::test]
async fn requests_that_are_no_grpc() {
    let site = Site::new().await;
    let before = site.everything().await;
    caught_up(&site).await;
    let begun = site.host.log.with("call begins").len();
    for kind in ["text/plain", "application/json", "application/grpc+json", "application/grpcx", ""] {
        let headers = if kind.is_empty() { Vec::new() } else { vec![("content-type", kind)] };
        let reply = send(&site.host, Odd { headers, ..Odd::default() }).await;
        assert_eq!(reply.http, 415, "{kind:?}: {reply:?}");
        let (status, words) = reply.status();
        assert!(status != "Ok" && words.contains("application/grpc"), "{kind:?}: {reply:?}");
    }
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let reply = send(&site.host, Odd { method: method.clone(), ..Odd::default() }).await;
        assert_eq!(reply.http, 405, "{method}: {reply:?}");
        assert!(reply.status().1.contains("POST"), "{method}: {reply:?}");
    }
    assert_eq!(site.host.log.with("call begins").len(), begun, "nothing of it was a call");
    assert_eq!(site.everything().await, before);
    for kind in ["application/grpc", "application/grpc+proto"] {
        let reply = send(&site.host, Odd { headers: vec![("content-type", kind)], ..Odd::default() }).await;
        assert_eq!(reply.status().0, "Ok", "{kind}: {reply:?}");
    }
}

/// Each is on a connection of its own, as a port scanner's would be; only that one is closed.
#[tokio::test]
async fn bytes_that_are_no_http() {
    const END_HEADERS: u8 = 4;
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let site = Site::new().await;
    let mut other = site.host.controller().await;
    let frame = |length: u32, kind: u8, stream: u32, body: &[u8]| {
        [&length.to_be_bytes()[1..], &[kind, END_HEADERS], &stream.to_be_bytes(), body].concat()
    };
    let settings = frame(0, 4, 0, &[]);
    let garbage = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        vec![0xff; 4096],
        vec![0; 4096],
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_vec(),
        [PREFACE, &[0xff; 100]].concat(),
        [PREFACE, &settings, &frame(0x00ff_ffff, 0, 1, &[])].concat(),
        [PREFACE, &settings, &frame(4, 1, 1, &[0xff; 4])].concat(),
        [PREFACE, &settings, &frame(1, 0, 1, b"x")].concat(),
    ];
    for bytes in garbage {
        let mut stream = UnixStream::connect(site.host.socket()).await.unwrap();
        // The host may close the connection before all is written.
        let _ = stream.write_all(&bytes).await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "the connection is closed: {:?}", bytes.escape_ascii().to_string());
    }
    for cut in [&[][..], b"P", PREFACE, &[PREFACE, &settings[..4]].concat()] {
        let mut stream = UnixStream::connect(site.host.socket()).await.unwrap();
        stream.write_all(cut).await.unwrap();
    }
    other.create_volume(directory("after")).await.expect("other connections do not notice");
    assert!(!site.host.log.text().contains("panicked"));
}
