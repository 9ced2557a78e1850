//! A client's connection to a driver's socket, and what to do when there is none.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

/// A socket on this machine answers at once, or its process is stuck.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Whose socket it is, for the words on what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Whose {
    /// A driver's.
    Driver,
    /// The one on which a host listens for operators.
    Host,
}

impl Whose {
    const fn absent(self) -> &'static str {
        match self {
            Self::Driver => "start the driver first, for example with `drivebay demo`, or correct --socket",
            Self::Host => {
                "start a host with an admin socket there (`admin` in [host], or `drivebay serve ... --admin PATH`), or \
                 say where it is with --admin or DRIVEBAY_ADMIN; `drivebay demo` prints its own"
            }
        }
    }

    const fn forbidden(self) -> &'static str {
        match self {
            Self::Driver => "run this as the driver's user, or start the driver with a wider --socket-mode",
            Self::Host => "run this as the host's user",
        }
    }
}

/// Connects to a driver's socket at `path`.
///
/// # Errors
/// Words that say what to do.
pub(in crate::cli) async fn connect(path: &Path) -> Result<Channel, String> {
    connect_to(path, Whose::Driver).await
}

/// Connects to the socket at `path`.
///
/// # Errors
/// Words that say what to do.
pub(in crate::cli) async fn connect_to(path: &Path, whose: Whose) -> Result<Channel, String> {
    let socket = path.display();
    let endpoint = Endpoint::from_shared(format!("unix://{socket}")).map_err(|e| format!("{socket}: {e}"))?;
    endpoint.connect_timeout(CONNECT_WITHIN).connect().await.map_err(|error| {
        match io_cause(&error).map(io::Error::kind) {
            Some(io::ErrorKind::NotFound) => format!("{socket}: there is no socket; {}", whose.absent()),
            Some(io::ErrorKind::ConnectionRefused) => {
                format!("{socket}: nobody is listening; the process that made the socket has ended, start it again")
            }
            Some(io::ErrorKind::PermissionDenied) => format!("{socket}: you may not open it; {}", whose.forbidden()),
            _ => format!("{socket}: no connection: {}", chain(&error)),
        }
    })
}

/// What the system said, wherever in the chain of causes it stands.
fn io_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        next = cause.source();
    }
    None
}

fn chain(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words = format!("{words}: {cause}");
        next = cause.source();
    }
    words
}
