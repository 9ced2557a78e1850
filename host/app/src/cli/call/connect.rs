//! A client's connection to a driver's socket, and what to do when there is none.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

/// A socket on this machine answers at once, or its process is stuck.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Connects to the socket at `path`.
///
/// # Errors
/// Words that say what to do.
pub(in crate::cli) async fn connect(path: &Path) -> Result<Channel, String> {
    let socket = path.display();
    let endpoint = Endpoint::from_shared(format!("unix://{socket}")).map_err(|e| format!("{socket}: {e}"))?;
    endpoint.connect_timeout(CONNECT_WITHIN).connect().await.map_err(|error| {
        match io_cause(&error).map(io::Error::kind) {
            Some(io::ErrorKind::NotFound) => format!(
                "{socket}: there is no socket; start the driver first, for example with `drivebay demo`, \
             or correct --socket"
            ),
            Some(io::ErrorKind::ConnectionRefused) => {
                format!("{socket}: nobody is listening; the process that made the socket has ended, start it again")
            }
            Some(io::ErrorKind::PermissionDenied) => format!(
                "{socket}: you may not open it; run this as the driver's user, or start the driver with a \
             wider --socket-mode"
            ),
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
