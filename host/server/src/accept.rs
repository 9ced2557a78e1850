//! How connections are accepted: within the socket's limit, and without spinning when the process has no
//! descriptor left. Owns both decisions and no protocol.

use std::io;
use std::time::Duration;

use futures_util::stream::{Stream, unfold};
use tokio::net::{UnixListener, UnixStream};

use crate::connection_limit::{Admitted, ConnectionLimit};

/// How long is waited when the system has no descriptor or memory for another connection: the one that came stays in
/// the listener's queue, so accepting it again at once would fail again at once.
const PAUSE: Duration = Duration::from_millis(100);

/// What follows from an attempt to accept.
#[derive(Debug)]
enum Accepted<S> {
    Serve(Admitted<S>),
    /// The next one: the limit is reached, or this client gave up meanwhile.
    Next,
    /// The next one after a pause.
    Pause,
}

fn decide<S>(accepted: io::Result<S>, connection_limit: &ConnectionLimit) -> Accepted<S> {
    match accepted {
        Ok(stream) => connection_limit.admit(stream).map_or(Accepted::Next, Accepted::Serve),
        Err(error) if is_of_client(&error) => Accepted::Next,
        Err(_) => Accepted::Pause,
    }
}

/// The next connection within the limit. One above it is closed at once, so that its client hears of it.
pub async fn next(listener: &UnixListener, connection_limit: &ConnectionLimit) -> Admitted<UnixStream> {
    loop {
        match decide(listener.accept().await.map(|(stream, _)| stream), connection_limit) {
            Accepted::Serve(admitted) => return admitted,
            Accepted::Next => {}
            Accepted::Pause => pause().await,
        }
    }
}

/// All of them, one after the other.
pub fn incoming(
    listener: UnixListener,
    connection_limit: ConnectionLimit,
) -> impl Stream<Item = io::Result<Admitted<UnixStream>>> {
    unfold((listener, connection_limit), |(listener, connection_limit)| async {
        let admitted = next(&listener, &connection_limit).await;
        Some((Ok(admitted), (listener, connection_limit)))
    })
}

/// Whether a failure to accept is that of one client, which gave up meanwhile.
pub fn is_of_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// Waits after a failure that is the system's.
pub async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::listener::listen;

    const ENOMEM: i32 = 12;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;

    #[tokio::test]
    async fn who_finds_no_place_is_told_and_others_keep_theirs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("csi.sock");
        let listener = listen(&path, 0o600).unwrap();
        let connection_limit = ConnectionLimit::new(2);
        let mut clients = Vec::new();
        let mut admitted = Vec::new();
        for _ in 0..2 {
            clients.push(UnixStream::connect(&path).await.unwrap());
            admitted.push(next(&listener, &connection_limit).await);
        }
        let mut third = UnixStream::connect(&path).await.unwrap();
        let waiting = next(&listener, &connection_limit);
        tokio::pin!(waiting);
        let mut byte = [0];
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("there is no place"),
            read = third.read(&mut byte) => assert!(matches!(read, Ok(0) | Err(_)), "{read:?}"),
        }
        assert_eq!(connection_limit.free(), 0);
        // A place is free again as soon as its connection is gone.
        drop(admitted.pop());
        let _fourth = UnixStream::connect(&path).await.unwrap();
        let _seated = waiting.await;
        assert_eq!(connection_limit.free(), 0);
    }

    #[test]
    fn a_process_without_descriptors_rests_and_does_not_spin() {
        let connection_limit = ConnectionLimit::new(1);
        for number in [EMFILE, ENFILE, ENOMEM] {
            let failed = Err::<(), _>(io::Error::from_raw_os_error(number));
            assert!(matches!(decide(failed, &connection_limit), Accepted::Pause), "{number}");
        }
        let gave_up = Err::<(), _>(io::ErrorKind::ConnectionAborted.into());
        assert!(matches!(decide(gave_up, &connection_limit), Accepted::Next), "a client that gave up delays nobody");
        let admitted = decide(Ok(()), &connection_limit);
        assert!(matches!(admitted, Accepted::Serve(_)) && matches!(decide(Ok(()), &connection_limit), Accepted::Next));
    }
}
