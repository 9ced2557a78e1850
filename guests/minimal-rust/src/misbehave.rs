//! Two parameters that misbehave on purpose, for the project's tests: `fail` (the word of an error code to answer)
//! and `trap` (`1`: panic). Projects that begin with this backend are made without it.

use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, ErrorCode, Result};

/// Does what the parameters for tests ask for.
#[allow(clippy::panic, reason = "a trap is what the parameter asks for")]
pub(crate) fn where_asked(parameters: &StringMap) -> Result<()> {
    for (key, value) in parameters {
        match (key.as_str(), value.as_str()) {
            ("trap", "1") => panic!("the parameter trap asks for it"),
            ("fail", word) => {
                let known = ERROR_CODES.iter().find(|(name, _)| *name == word);
                let code = known.map_or(ErrorCode::InvalidArgument, |(_, code)| *code);
                return Err(Error { code, reason: None, message: format!("the parameter fail asks for it: {word}") });
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
