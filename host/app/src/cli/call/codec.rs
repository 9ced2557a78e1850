//! A codec for messages whose types are known only while the program runs. Owns no transport and no
//! names; the generated codec cannot be used because it makes its messages from nothing.

use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// Encodes any request, decodes answers of one type.
#[derive(Debug, Clone)]
pub(super) struct DynamicCodec {
    answer: MessageDescriptor,
}

impl DynamicCodec {
    /// For a method that answers with this message.
    pub(super) const fn new(answer: MessageDescriptor) -> Self {
        Self { answer }
    }
}

impl Codec for DynamicCodec {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        self.clone()
    }

    fn decoder(&mut self) -> Self {
        self.clone()
    }
}

impl Encoder for DynamicCodec {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, message: DynamicMessage, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode(to).map_err(|e| Status::internal(format!("the request cannot be encoded: {e}")))
    }
}

impl Decoder for DynamicCodec {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        let answer = DynamicMessage::decode(self.answer.clone(), from);
        answer
            .map(Some)
            .map_err(|e| Status::internal(format!("the driver's answer is no {}: {e}", self.answer.full_name())))
    }
}
