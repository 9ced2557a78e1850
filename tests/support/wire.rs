//! Calls with bytes instead of messages, to any path: what no generated client would send.

use std::time::Duration;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use serde_json::Value as Json;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

/// All served contracts.
pub fn contracts() -> DescriptorPool {
    DescriptorPool::decode(drivebay_proto::FILE_DESCRIPTOR_SET).expect("the descriptors are whole")
}

/// Sends bytes to a path such as `/csi.v1.Identity/Probe`; gives the bytes of the answer.
pub async fn send(channel: Channel, path: &str, bytes: Vec<u8>) -> Result<Response<Vec<u8>>, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.expect("the host listens");
    client.unary(Request::new(bytes), path.parse().unwrap(), Bytes).await
}

/// Sends one message to a path that streams; gives the messages of the answer.
pub async fn stream(channel: Channel, path: &str, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.expect("the host listens");
    let mut stream = client.server_streaming(Request::new(bytes), path.parse().unwrap(), Bytes).await?.into_inner();
    let mut messages = Vec::new();
    while let Some(message) = stream.message().await? {
        messages.push(message);
    }
    Ok(messages)
}

/// Sends a request of a method, whether it has one answer or a stream; gives the messages.
pub async fn call(
    channel: Channel,
    method: &MethodDescriptor,
    request: &DynamicMessage,
) -> Result<Vec<DynamicMessage>, Status> {
    call_within(channel, method, request, None).await
}

/// The same with a deadline of the client's.
pub async fn call_within(
    channel: Channel,
    method: &MethodDescriptor,
    request: &DynamicMessage,
    within: Option<Duration>,
) -> Result<Vec<DynamicMessage>, Status> {
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.expect("the host listens");
    let mut request = Request::new(request.encode_to_vec());
    if let Some(within) = within {
        request.set_timeout(within);
    }
    let mut stream = client.server_streaming(request, path.parse().unwrap(), Bytes).await?.into_inner();
    let mut messages = Vec::new();
    while let Some(bytes) = stream.message().await? {
        messages.push(DynamicMessage::decode(method.output(), bytes.as_slice()).expect("answers are well-formed"));
    }
    Ok(messages)
}

/// Calls `service/Method` with a request written as JSON.
pub async fn ask(channel: Channel, contracts: &DescriptorPool, method: &str, request: Json) -> Result<Json, Status> {
    let (service, name) = method.split_once('/').unwrap();
    let service = contracts.get_service_by_name(service).expect(service);
    let method = service.methods().find(|method| method.name() == name).expect(name);
    let request = DynamicMessage::deserialize(method.input(), request).expect("a request of this method");
    let mut answers = call(channel, &method, &request).await?;
    Ok(serde_json::to_value(answers.pop().expect("one answer")).unwrap())
}

/// A codec that neither encodes nor decodes.
#[derive(Debug, Clone, Copy)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, bytes: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(into, &bytes);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut message = vec![0; bytes::Buf::remaining(bytes)];
        bytes::Buf::copy_to_slice(bytes, &mut message);
        Ok(Some(message))
    }
}
