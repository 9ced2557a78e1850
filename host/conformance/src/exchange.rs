//! One request and what came back, kept as bytes and turned into words only when somebody reads it.
//! Secrets never leave it: fields marked as secret are hidden, and known secret values wherever they
//! appear, because the driver under test may be the one that leaks them.

use bytes::Bytes;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, ReflectMessage, SerializeOptions, Value};
use serde::Serialize;
use tonic::Code;

/// What stands for a secret.
const HIDDEN: &str = "(hidden)";
/// How many messages of a stream are shown.
const SHOWN: usize = 8;

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// `package.Service/Method`.
    pub(crate) path: &'static str,
    /// Where it was sent: the site, and the node for calls of nodes.
    pub(crate) place: String,
    /// The request.
    pub(crate) request: Bytes,
    /// How it ended.
    pub(crate) code: Code,
    /// The status' message.
    pub(crate) message: String,
    /// The status' details.
    pub(crate) details: Bytes,
    /// The answer's messages.
    pub(crate) replies: Vec<Bytes>,
}

/// A call for a report.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    /// `package.Service/Method`.
    pub rpc: &'static str,
    /// Where it was sent.
    pub place: String,
    /// The request as JSON, secrets hidden.
    pub request: serde_json::Value,
    /// The canonical name of the code.
    pub code: String,
    /// The status' message, secrets hidden.
    pub message: String,
    /// The answer's messages as JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reply: Vec<serde_json::Value>,
}

/// Turns exchanges into words.
#[derive(Debug)]
pub(crate) struct Words {
    pool: DescriptorPool,
    secrets: Vec<String>,
}

impl Words {
    /// For these contracts and secret values.
    pub(crate) fn new(descriptors: &[u8], secrets: Vec<String>) -> Result<Self, String> {
        let pool = DescriptorPool::decode(descriptors).map_err(|e| format!("the contracts cannot be read: {e}"))?;
        Ok(Self { pool, secrets })
    }

    /// The exchange as a report shows it.
    pub(crate) fn show(&self, exchange: &Exchange) -> Shown {
        let types = self.types(exchange.path);
        let json = |bytes: &Bytes, side: Option<MessageDescriptor>| match side {
            Some(message) => self.json(bytes, message),
            None => serde_json::Value::Null,
        };
        let (request, reply) = types.unzip();
        Shown {
            rpc: exchange.path,
            place: exchange.place.clone(),
            request: json(&exchange.request, request),
            code: name_of(exchange.code).to_owned(),
            message: self.mask(&exchange.message),
            reply: exchange.replies.iter().take(SHOWN).map(|bytes| json(bytes, reply.clone())).collect(),
        }
    }

    /// Text without any known secret value.
    pub(crate) fn mask(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN))
    }

    /// Whether text holds a secret value.
    pub(crate) fn tells_a_secret(&self, text: &str) -> bool {
        self.secrets.iter().any(|secret| text.contains(secret.as_str()))
    }

    fn types(&self, path: &str) -> Option<(MessageDescriptor, MessageDescriptor)> {
        let (service, name) = path.split_once('/')?;
        let service = self.pool.get_service_by_name(service)?;
        let method = service.methods().find(|method| method.name() == name)?;
        Some((method.input(), method.output()))
    }

    fn json(&self, bytes: &Bytes, message: MessageDescriptor) -> serde_json::Value {
        let Ok(mut message) = DynamicMessage::decode(message, bytes.clone()) else {
            return serde_json::Value::String(format!("({} bytes that cannot be read)", bytes.len()));
        };
        self.hide(&mut message);
        let options = SerializeOptions::new().use_proto_field_name(true);
        let json = message.serialize_with_options(serde_json::value::Serializer, &options);
        json.map_or(serde_json::Value::Null, |json| self.mask_all(json))
    }

    fn mask_all(&self, json: serde_json::Value) -> serde_json::Value {
        use serde_json::Value as Json;
        match json {
            Json::String(text) => Json::String(self.mask(&text)),
            Json::Array(items) => Json::Array(items.into_iter().map(|item| self.mask_all(item)).collect()),
            Json::Object(fields) => {
                Json::Object(fields.into_iter().map(|(key, value)| (key, self.mask_all(value))).collect())
            }
            other => other,
        }
    }

    /// Hides the fields that are marked as secret or called so. Requests keep theirs at the top.
    fn hide(&self, message: &mut DynamicMessage) {
        let mark = self.pool.get_extension_by_name("csi.v1.csi_secret");
        for field in message.descriptor().fields() {
            let options = field.options();
            let marked = mark.as_ref().is_some_and(|mark| options.get_extension(mark).as_bool() == Some(true));
            if !(marked || field.name() == "secrets") || !message.has_field(&field) {
                continue;
            }
            match message.get_field_mut(&field) {
                Value::String(text) => HIDDEN.clone_into(text),
                Value::Map(entries) => {
                    for value in entries.values_mut() {
                        *value = Value::String(HIDDEN.to_owned());
                    }
                }
                _ => message.clear_field(&field),
            }
        }
    }
}

/// The name that the protocol gives a code.
pub(crate) const fn name_of(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests;
