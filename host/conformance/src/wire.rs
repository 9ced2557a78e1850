//! One call on a connection: bytes out, bytes or a status back. It knows every RPC by its path and
//! judges nothing. Messages pass as bytes, so that a rule can send what no generated client would.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use prost::Message;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Status};
use tower::ServiceExt as _;

/// The messages of the contracts.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "made from the .proto files"
)]
pub(crate) mod proto {
    include!(concat!(env!("OUT_DIR"), "/contracts.rs"));
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

/// The contracts as descriptors, for showing messages.
pub(crate) static DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/contracts.bin"));

/// The last part of a call's path; all of a word that is none.
pub(crate) fn method(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, method)| method)
}

/// Parameters, contexts and secrets.
pub(crate) type Words = BTreeMap<String, String>;

/// Which of a driver's sockets serves a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The first CSI socket.
    Controller,
    /// A node's CSI socket.
    Node,
    /// The add-ons socket.
    Addons,
}

/// What is known of a call without making it.
#[derive(Debug)]
pub(crate) struct Row {
    /// `package.Service/Method`.
    pub(crate) path: &'static str,
}

/// A request, and with it the call that it belongs to.
pub(crate) trait Rpc: Message + Clone + Default + std::fmt::Debug + 'static {
    /// What answers it (each message, where the answer is a stream).
    type Reply: Message + Default + 'static;
    /// `package.Service/Method`.
    const PATH: &'static str;
    /// The socket that serves it.
    const SIDE: Side;
    /// The secrets, where it has such a field.
    fn secrets(&mut self) -> Option<&mut Words>;
}

/// Sends one request and gathers the answer's messages until the stream ends.
///
/// # Errors
/// The driver's status, `UNAVAILABLE` when the connection was lost, or `DEADLINE_EXCEEDED` when it has not
/// answered within `deadline`.
pub(crate) async fn send(
    channel: Channel,
    path: &'static str,
    body: Bytes,
    deadline: Duration,
) -> Result<Vec<Bytes>, Status> {
    let answer = tokio::time::timeout(deadline, exchange(channel, path, body));
    answer.await.unwrap_or_else(|_| Err(Status::deadline_exceeded(format!("no answer within {deadline:?}"))))
}

/// What happens to the connection is no answer of the driver's: clients in every language call it `UNAVAILABLE`.
fn lost(error: tonic::transport::Error) -> Status {
    let mut status = Status::unavailable(format!("the connection was lost: {}", words(&error)));
    status.set_source(Arc::new(error));
    status
}

/// An error with all that is below it.
pub(crate) fn words(error: &(dyn Error + 'static)) -> String {
    let all: Vec<_> = chain(error).map(ToString::to_string).collect();
    all.join(": ")
}

fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// What happened to the connection of a call that has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionLoss {
    /// It was there when the call was sent, and broke.
    Broken,
    /// There was none.
    Refused,
}

/// What happened to the connection, if a status tells of that and not of the driver's answer.
pub(crate) fn loss(status: &Status) -> Option<ConnectionLoss> {
    let cause = status.source()?;
    let is_refusal = |error: &(dyn Error + 'static)| {
        let error = error.downcast_ref::<io::Error>();
        error.is_some_and(|error| matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound))
    };
    Some(if chain(cause).any(is_refusal) { ConnectionLoss::Refused } else { ConnectionLoss::Broken })
}

async fn exchange(channel: Channel, path: &'static str, body: Bytes) -> Result<Vec<Bytes>, Status> {
    let mut client = tonic::client::Grpc::new(channel.map_err(lost));
    client.ready().await?;
    let path = http::uri::PathAndQuery::from_maybe_shared(format!("/{path}"));
    let path = path.map_err(|e| Status::internal(e.to_string()))?;
    let mut stream = client.server_streaming(Request::new(body), path, BytesCodec).await?.into_inner();
    let mut messages = Vec::new();
    while let Some(message) = stream.message().await? {
        messages.push(message);
    }
    Ok(messages)
}

/// Appends a field that no contract has, so that the receiver does not know it.
pub(crate) fn with_unknown_field(mut body: Vec<u8>) -> Vec<u8> {
    const FIELD: u32 = 1900;
    const LENGTH_DELIMITED: u32 = 2;
    prost::encoding::encode_varint(u64::from(FIELD << 3 | LENGTH_DELIMITED), &mut body);
    prost::encoding::encode_varint(7, &mut body);
    body.extend_from_slice(b"unknown");
    body
}

/// Passes messages as they are.
#[derive(Debug, Clone, Copy, Default)]
struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(message);
        Ok(())
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
