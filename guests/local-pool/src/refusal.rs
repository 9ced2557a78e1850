//! Errors of the pool and the host as answers to clients.
//!
//! The SDK's own conversion would mislead: a missing file of this backend is not a volume that the client named
//! wrongly.

use std::io::ErrorKind;

use drivebay_sdk::files::ErrorCode as Host;
use drivebay_sdk::{Error, Reason, files};

/// There is no such volume.
pub fn no_volume(id: &str) -> Error {
    Error::not_found(format!("there is no volume {id:?}"))
}

/// There is no such snapshot.
pub fn no_snapshot(id: &str) -> Error {
    Error::not_found(format!("there is no snapshot {id:?}"))
}

/// There is no such volume group.
pub fn no_volume_group(id: &str) -> Error {
    Error::not_found(format!("there is no volume group {id:?}"))
}

/// There is no such group snapshot.
pub fn no_group(id: &str) -> Error {
    Error::not_found(format!("there is no group snapshot {id:?}"))
}

/// A file of the pool could not be read or changed; whether it was changed is not known.
pub fn of_disk(doing: &str, path: &str, error: &std::io::Error) -> Error {
    let message = format!("cannot {doing} {path}: {error}");
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Error::resource_exhausted(message).with_reason(Reason::NoSpace)
        }
        ErrorKind::FileTooLarge => Error::out_of_range(format!("{message} (the pool takes no larger files)")),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            Error::failed_precondition(message).with_reason(Reason::ReadOnly)
        }
        _ => Error::unavailable(message),
    }
}

/// The host would not do it. Codes that speak of what the client named become codes that speak of
/// this backend's own files and devices.
pub fn of_host(error: files::Error) -> Error {
    match error.code {
        Host::NotFound | Host::Unsupported => Error::failed_precondition(error.message),
        Host::AlreadyExists => Error::unavailable(error.message),
        _ => error.into(),
    }
}

/// Undoing what this call began. Where the host does no node work for this backend, the call began nothing.
pub fn of_undoing(undone: Result<(), files::Error>) -> Result<(), Error> {
    match undone {
        Err(error) if error.code == Host::NotGranted => Ok(()),
        undone => undone.map_err(of_host),
    }
}

/// As [`of_host`], where what the host cannot do is what the client asked for.
pub fn of_host_for_good(error: files::Error) -> Error {
    match error.code {
        Host::Unsupported => Error::unimplemented(error.message),
        _ => of_host(error),
    }
}

/// Work goes on; the client repeats the request.
pub fn ask_again(what: &str, id: &str) -> Error {
    Error::unavailable(format!("{what} {id} is under way; repeat the request")).with_reason(Reason::Busy)
}

/// Somebody uses it.
pub fn in_use(message: String) -> Error {
    Error::failed_precondition(message).with_reason(Reason::InUse)
}
