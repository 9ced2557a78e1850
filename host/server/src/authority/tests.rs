//! Connections as clients make them, cut into every kind of piece, against the transport's own server.

use bytes::{BufMut, BytesMut};
use http::{Request, Response};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::Tolerant;
use super::block::{Block, Repair};
use super::filter::{Filter, Inspection};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
/// Ends the stream, ends the block, is padded, has a priority.
const FLAGS: [u8; 4] = [0x1, 0x4, 0x8, 0x20];

/// Authorities that the transport resets a stream for, as released clients send them.
const ODD: [&str; 3] = ["/run/csi.sock", "%2Frun%2Fcsi.sock", ""];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = BytesMut::new();
    frame.put_uint(payload.len() as u64, 3);
    frame.put_u8(kind);
    frame.put_u8(flags);
    frame.put_u32(stream);
    frame.put_slice(payload);
    frame.to_vec()
}

fn settings() -> Vec<u8> {
    frame(4, 0, 0, &[])
}

/// Encodes like a client: what it said before it says by its index. The library's encoder uses no
/// Huffman code.
struct Client(loona_hpack::Encoder<'static>);

impl Client {
    fn new() -> Self {
        Self(loona_hpack::Encoder::new())
    }

    fn block(&mut self, authority: &str, path: &str) -> Vec<u8> {
        let headers: [(&[u8], &[u8]); 6] = [
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", path.as_bytes()),
            (b":authority", authority.as_bytes()),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        ];
        self.0.encode(headers)
    }
}

/// The paths and authorities of the requests that the transport accepts, and how it ended.
async fn served(bytes: Vec<u8>, piece: usize) -> (Vec<(String, Option<String>)>, bool) {
    let (mut client, server) = tokio::io::duplex(1 << 20);
    let serving = tokio_util::task::TaskTracker::new().spawn(accepted(server));
    for part in bytes.chunks(piece) {
        client.write_all(part).await.unwrap();
        tokio::task::yield_now().await;
    }
    client.shutdown().await.unwrap();
    let mut answers = Vec::new();
    client.read_to_end(&mut answers).await.unwrap();
    (serving.await.unwrap(), frames(&answers).iter().any(is_refusal))
}

async fn accepted(server: DuplexStream) -> Vec<(String, Option<String>)> {
    let mut seen = Vec::new();
    let Ok(mut connection) = h2::server::handshake(Tolerant::new(server)).await else { return seen };
    while let Some(Ok((request, mut answer))) = connection.accept().await {
        let request: Request<_> = request;
        let authority = request.uri().authority().map(ToString::to_string);
        seen.push((request.uri().path().to_owned(), authority));
        answer.send_response(Response::new(()), true).unwrap();
    }
    seen
}

/// A stream that is reset, or a connection that is ended, for a reason. That a request was answered
/// before all of it was read is none.
fn is_refusal((kind, payload): &(u8, Vec<u8>)) -> bool {
    match kind {
        3 => payload[..] != [0; 4],
        7 => payload[4..8] != [0; 4],
        _ => false,
    }
}

/// Kinds and payloads.
fn frames(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut all = Vec::new();
    while bytes.len() >= 9 {
        let length = usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2]);
        all.push((bytes[3], bytes[9..9 + length].to_vec()));
        bytes = &bytes[9 + length..];
    }
    all
}

fn connection(authority: &str, requests: usize) -> Vec<u8> {
    let mut client = Client::new();
    let mut bytes = [PREFACE, &settings()].concat();
    for n in 0..requests {
        let block = client.block(authority, &format!("/s/{n}"));
        let stream = u32::try_from(2 * n + 1).unwrap();
        bytes.extend(frame(HEADERS, FLAGS[1], stream, &block));
        bytes.extend(frame(0, FLAGS[0], stream, &[0; 5]));
    }
    bytes
}

#[tokio::test]
async fn t9_an_authority_that_does_not_parse_is_served() {
    for authority in ODD {
        for piece in [1, 7, 100_000] {
            let (seen, resets) = served(connection(authority, 3), piece).await;
            let expected: Vec<_> = (0..3).map(|n| (format!("/s/{n}"), Some("localhost".to_owned()))).collect();
            assert_eq!((seen, resets), (expected, false), "{authority:?} in pieces of {piece}");
        }
    }
}

/// Without the filter the same bytes are refused; should the transport ever accept them, this is how
/// it is noticed that the filter can go.
#[tokio::test]
async fn the_transport_alone_resets_them() {
    for authority in ODD {
        let bytes = connection(authority, 1);
        let (mut client, server) = tokio::io::duplex(1 << 20);
        client.write_all(&bytes).await.unwrap();
        client.shutdown().await.unwrap();
        let mut connection = h2::server::handshake(server).await.unwrap();
        assert!(!matches!(connection.accept().await, Some(Ok(_))), "{authority:?}");
    }
}

#[tokio::test]
async fn sound_authorities_pass_as_they_are() {
    for authority in ["localhost", "a.example", "a.example:80", "[::1]:80", "user@a"] {
        let (seen, resets) = served(connection(authority, 2), 3).await;
        let expected: Vec<_> = (0..2).map(|n| (format!("/s/{n}"), Some(authority.to_owned()))).collect();
        assert_eq!((seen, resets), (expected, false));
    }
}

/// Padding, a priority, and a block in several frames.
#[tokio::test]
async fn header_blocks_of_every_form() {
    let block = Client::new().block("/run/csi.sock", "/p");
    let (first, rest) = block.split_at(10);
    let [ends, whole, padded, priority] = FLAGS;
    let all = [
        frame(HEADERS, ends | whole, 1, &block),
        frame(HEADERS, ends | whole | padded, 1, &[&[3][..], &block, &[0; 3]].concat()),
        frame(HEADERS, ends | whole | priority, 1, &[&[0, 0, 0, 0, 15][..], &block].concat()),
        frame(HEADERS, ends | whole | padded | priority, 1, &[&[1, 0, 0, 0, 0, 15][..], &block, &[0]].concat()),
        [frame(HEADERS, ends, 1, first), frame(CONTINUATION, 0, 1, &[]), frame(CONTINUATION, whole, 1, rest)].concat(),
    ];
    for (at, frames) in all.iter().enumerate() {
        let (seen, resets) = served([PREFACE, &settings(), frames].concat(), 2).await;
        assert_eq!((seen.len(), resets), (1, false), "form {at}");
    }
}

fn feed(filter: &mut Filter, bytes: &[u8]) -> (std::io::Result<Inspection>, Vec<u8>) {
    let mut on = BytesMut::new();
    let passage = filter.feed(bytes, &mut on);
    (passage, on.to_vec())
}

/// Once the first block is seen to be sound nothing is looked at any more, and not a byte is lost.
#[test]
fn a_sound_connection_is_free_after_its_first_block() {
    for authority in ["localhost", "a.example"] {
        let bytes = connection(authority, 2);
        let (passage, on) = feed(&mut Filter::default(), &bytes);
        assert_eq!(passage.unwrap(), Inspection::Free);
        assert_eq!(on, bytes);
    }
}

/// What is no HTTP/2, or breaks its rules before anything was rewritten, the transport gets as it is.
#[test]
fn what_is_broken_passes_as_it_is() {
    let open = frame(HEADERS, 0, 1, &[0x82]);
    let first = |rest: &[u8]| [PREFACE, &settings(), rest].concat();
    let broken = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        first(&frame(HEADERS, FLAGS[1], 1, &[0xff; 9])),
        first(&frame(HEADERS, FLAGS[1] | FLAGS[2], 1, &[200, 0x82])),
        first(&frame(HEADERS, FLAGS[1] | FLAGS[3], 1, &[0; 4])),
        first(&[&open[..], &settings()].concat()),
        first(&[&open[..], &frame(CONTINUATION, FLAGS[1], 3, &[0x84])].concat()),
        first(&frame(HEADERS, FLAGS[1], 1, &vec![0; 20_000])),
        first(
            &[
                frame(HEADERS, 0, 1, &[0; 16_000]),
                frame(CONTINUATION, 0, 1, &[0; 16_384]),
                frame(CONTINUATION, 0, 1, &[0; 16_384]),
            ]
            .concat(),
        ),
    ];
    for bytes in broken {
        let (passage, on) = feed(&mut Filter::default(), &bytes);
        assert_eq!(passage.unwrap(), Inspection::Free, "{:x?}", &bytes[..bytes.len().min(60)]);
        assert_eq!(on, bytes);
    }
}

/// Where rewriting has begun the client's bytes cannot pass any more: the connection ends.
#[test]
fn what_is_broken_later_ends_the_connection() {
    for bad in [frame(HEADERS, FLAGS[1], 3, &[0xff; 9]), frame(CONTINUATION, FLAGS[1], 3, &[0x82])] {
        let mut filter = Filter::default();
        assert_eq!(feed(&mut filter, &connection("/run/csi.sock", 1)).0.unwrap(), Inspection::Watched);
        let (passage, _) = feed(&mut filter, &bad);
        let is_open = bad[3] == CONTINUATION;
        assert_eq!(passage.is_ok(), is_open, "a continuation of nothing is the transport's to refuse");
    }
}

/// A short block can stand for a list without end; what is written stays bounded.
#[test]
fn short_blocks_for_long_lists_are_refused() {
    let mut block = Block::default();
    assert!(matches!(block.see(&Client::new().block("/run/csi.sock", "/p")).unwrap(), Repair::Repaired(_)));
    // One header of 3,000 bytes is put into the table, then named a thousand times.
    let mut bomb = vec![0x40, 1, b'x', 0x7f, 0xb9, 0x16];
    bomb.extend([b'y'; 3_000]);
    bomb.extend([0xbe; 1_000]);
    assert!(block.see(&bomb).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes, in whatever pieces: no panic, and what passes freely is what came.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..10_u8, flags: u8, cut in 1..50_usize, odd: bool) {
        let begin = if odd { connection("/run/csi.sock", 1) } else { [PREFACE, &settings()].concat() };
        let all = [begin, frame(kind, flags, 3, &bytes), bytes].concat();
        let (mut filter, mut on, mut is_free) = (Filter::default(), BytesMut::new(), false);
        for part in all.chunks(cut) {
            if is_free {
                on.extend_from_slice(part);
                continue;
            }
            match filter.feed(part, &mut on) {
                Ok(passage) => is_free = passage == Inspection::Free,
                Err(_) => return Ok(()),
            }
        }
        prop_assert!(odd || !is_free || on == all);
    }
}

/// A connection whose header block has this many frames, all but the first without contents, and no end.
fn endless(begin: Vec<u8>, stream: u32, frames: usize) -> Vec<u8> {
    [begin, frame(HEADERS, 0, stream, &[0x82]), frame(CONTINUATION, 0, stream, &[]).repeat(frames)].concat()
}

/// Frames without contents add nothing to a block, and would be kept until it is whole.
#[tokio::test]
async fn a_block_of_endless_frames_is_not_kept() {
    let begin = || [PREFACE, &settings()].concat();
    // Of a connection that is not rewritten the transport gets what came, soon, and ends it itself.
    let mut filter = Filter::default();
    let few = feed(&mut filter, &endless(begin(), 1, 6));
    assert_eq!(few.0.unwrap(), Inspection::Watched, "a block may have several frames");
    assert_eq!(feed(&mut filter, &frame(CONTINUATION, 0, 1, &[])).0.unwrap(), Inspection::Free);
    let (_, is_refused) = served(endless(begin(), 1, 3_000), 100_000).await;
    assert!(is_refused, "the transport closes the connection in grpc_only");
    // One that is rewritten ends here.
    let mut filter = Filter::default();
    let (passage, _) = feed(&mut filter, &endless(connection("/run/csi.sock", 1), 3, 100_000));
    assert_eq!(passage.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}
