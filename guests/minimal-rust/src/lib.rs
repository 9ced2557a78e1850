//! The smallest controller: volumes are records in the host's state and nowhere else.
//!
//! It proves that the WIT text is all a backend needs, so it uses the plain generator and not the
//! SDK; its siblings in other languages do the same in the same steps. Two parameters misbehave on
//! purpose, for tests: `fail` (the word of an error code to answer) and `trap` (`1`: panic).

mod bindings;
mod records;

use bindings::drivebay::backend::types::{CapacityRange, Error, ErrorCode, StringMap, Volume};
use bindings::exports::drivebay::backend::{identity, volumes};
use bindings::wasi::logging::logging::{Level, log};
use records::Record;

/// As large as a volume is when the client does not say: 1 GiB.
const DEFAULT_BYTES: u64 = 1 << 30;

struct Minimal;

impl identity::Guest for Minimal {
    fn describe() -> Result<identity::Description, Error> {
        Ok(identity::Description {
            name: "minimal-rust.drivebay.dev".to_owned(),
            vendor_version: env!("CARGO_PKG_VERSION").to_owned(),
            manifest: vec![("language".to_owned(), "rust".to_owned())],
            features: Vec::new(),
            state_version: identity::StateVersion { writes: 1, reads_from: 1 },
            wants: Vec::new(),
        })
    }

    fn probe() -> Result<identity::Readiness, Error> {
        Ok(identity::Readiness::Ready)
    }
}

impl volumes::Guest for Minimal {
    fn create_volume(request: volumes::CreateVolumeRequest) -> Result<Volume, Error> {
        misbehave(&request.parameters)?;
        if request.volume_content_source.is_some() {
            return Err(error(ErrorCode::InvalidArgument, "this backend copies nothing"));
        }
        let range = request.capacity_range.unwrap_or(CapacityRange { required_bytes: None, limit_bytes: None });
        let record = records::find_or_create(&request.name, &request.parameters, choose(&range))?;
        if record.parameters != records::fingerprint(&request.parameters) || !contains(&range, record.capacity_bytes) {
            return Err(Error {
                reason: Some("incompatible".to_owned()),
                ..error(ErrorCode::AlreadyExists, "a volume of this name has another size or other parameters")
            });
        }
        log(Level::Info, "volumes", &format!("{} is {}", request.name, record.volume_id));
        Ok(volume(record, &request.parameters))
    }

    fn delete_volume(request: volumes::DeleteVolumeRequest) -> Result<(), Error> {
        records::delete(&request.volume_id)
    }

    fn validate_volume_capabilities(
        request: volumes::ValidateVolumeCapabilitiesRequest,
    ) -> Result<volumes::Verdict, Error> {
        let Some(record) = records::find(&request.volume_id)? else {
            return Err(error(ErrorCode::NotFound, format!("there is no volume {}", request.volume_id)));
        };
        if request.volume_context.is_empty() || is_context(&request.volume_context, &record) {
            return Ok(volumes::Verdict::Supported);
        }
        Ok(volumes::Verdict::Unsupported("the volume has another context".to_owned()))
    }
}

const LANGUAGE: (&str, &str) = ("language", "rust");
/// What the keys of a volume's context begin with that hold its parameters.
const PARAMETER: &str = "parameter.";

/// Whether this is what CreateVolume said of the volume.
fn is_context(context: &StringMap, record: &Record) -> bool {
    let (parameters, others): (StringMap, StringMap) =
        context.iter().cloned().partition(|(key, _)| key.starts_with(PARAMETER));
    let bare = |(key, value): (String, String)| (key.strip_prefix(PARAMETER).unwrap_or_default().to_owned(), value);
    let parameters: StringMap = parameters.into_iter().map(bare).collect();
    let others: Vec<_> = others.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    others == [LANGUAGE] && records::fingerprint(&parameters) == record.parameters
}

fn volume(record: Record, parameters: &StringMap) -> Volume {
    let given = parameters.iter().map(|(key, value)| (format!("{PARAMETER}{key}"), value.clone()));
    Volume {
        capacity_bytes: record.capacity_bytes,
        volume_id: record.volume_id,
        volume_context: std::iter::once((LANGUAGE.0.to_owned(), LANGUAGE.1.to_owned())).chain(given).collect(),
        content_source: None,
        accessible_topology: Vec::new(),
    }
}

fn choose(range: &CapacityRange) -> u64 {
    let most = range.limit_bytes.unwrap_or(u64::MAX);
    range.required_bytes.unwrap_or(DEFAULT_BYTES.min(most))
}

fn contains(range: &CapacityRange, bytes: u64) -> bool {
    range.required_bytes.is_none_or(|least| least <= bytes) && range.limit_bytes.is_none_or(|most| bytes <= most)
}

#[allow(clippy::panic, reason = "a trap is what the parameter asks for")]
fn misbehave(parameters: &StringMap) -> Result<(), Error> {
    for (key, value) in parameters {
        match (key.as_str(), value.as_str()) {
            ("trap", "1") => panic!("the parameter trap asks for it"),
            ("fail", word) => {
                let known = ERROR_CODES.iter().find(|(name, _)| *name == word);
                let code = known.map_or(ErrorCode::InvalidArgument, |(_, code)| *code);
                return Err(error(code, format!("the parameter fail asks for it: {word}")));
            }
            _ => {}
        }
    }
    Ok(())
}

const ERROR_CODES: [(&str, ErrorCode); 12] = [
    ("invalid-argument", ErrorCode::InvalidArgument),
    ("not-found", ErrorCode::NotFound),
    ("already-exists", ErrorCode::AlreadyExists),
    ("failed-precondition", ErrorCode::FailedPrecondition),
    ("resource-exhausted", ErrorCode::ResourceExhausted),
    ("out-of-range", ErrorCode::OutOfRange),
    ("aborted", ErrorCode::Aborted),
    ("unauthenticated", ErrorCode::Unauthenticated),
    ("permission-denied", ErrorCode::PermissionDenied),
    ("unavailable", ErrorCode::Unavailable),
    ("unimplemented", ErrorCode::Unimplemented),
    ("internal", ErrorCode::Internal),
];

fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error { code, reason: None, message: message.into() }
}
