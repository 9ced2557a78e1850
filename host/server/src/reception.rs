//! How connections are accepted: within the door's places, and without spinning when the process has no
//! descriptor left. Owns both decisions and no protocol.

use std::io;
use std::time::Duration;

use futures_util::stream::{Stream, unfold};
use tokio::net::{UnixListener, UnixStream};

use crate::seats::{Seated, Seats};

/// How long is waited when the system has no descriptor or memory for another connection: the one that came stays in
/// the listener's queue, so accepting it again at once would fail again at once.
const PAUSE: Duration = Duration::from_millis(100);

/// What follows from an attempt to accept.
#[derive(Debug)]
enum Then<S> {
    Serve(Seated<S>),
    /// The next one: this one found no place, or gave up meanwhile.
    Next,
    /// The next one after a pause.
    Rest,
}

fn decide<S>(accepted: io::Result<S>, seats: &Seats) -> Then<S> {
    match accepted {
        Ok(stream) => seats.seat(stream).map_or(Then::Next, Then::Serve),
        Err(error) if is_of_client(&error) => Then::Next,
        Err(_) => Then::Rest,
    }
}

/// The next connection that finds a place. One that does not is closed at once, so that its client hears of it.
pub async fn next(listener: &UnixListener, seats: &Seats) -> Seated<UnixStream> {
    loop {
        match decide(listener.accept().await.map(|(stream, _)| stream), seats) {
            Then::Serve(seated) => return seated,
            Then::Next => {}
            Then::Rest => pause().await,
        }
    }
}

/// All of them, one after the other.
pub fn incoming(listener: UnixListener, seats: Seats) -> impl Stream<Item = io::Result<Seated<UnixStream>>> {
    unfold((listener, seats), |(listener, seats)| async {
        let seated = next(&listener, &seats).await;
        Some((Ok(seated), (listener, seats)))
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
        let seats = Seats::new(2);
        let mut clients = Vec::new();
        let mut seated = Vec::new();
        for _ in 0..2 {
            clients.push(UnixStream::connect(&path).await.unwrap());
            seated.push(next(&listener, &seats).await);
        }
        let mut third = UnixStream::connect(&path).await.unwrap();
        let waiting = next(&listener, &seats);
        tokio::pin!(waiting);
        let mut byte = [0];
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("there is no place"),
            read = third.read(&mut byte) => assert!(matches!(read, Ok(0) | Err(_)), "{read:?}"),
        }
        assert_eq!(seats.free(), 0);
        // A place is free again as soon as its connection is gone.
        drop(seated.pop());
        let _fourth = UnixStream::connect(&path).await.unwrap();
        let _seated = waiting.await;
        assert_eq!(seats.free(), 0);
    }

    #[test]
    fn a_process_without_descriptors_rests_and_does_not_spin() {
        let seats = Seats::new(1);
        for number in [EMFILE, ENFILE, ENOMEM] {
            let failed = Err::<(), _>(io::Error::from_raw_os_error(number));
            assert!(matches!(decide(failed, &seats), Then::Rest), "{number}");
        }
        let gave_up = Err::<(), _>(io::ErrorKind::ConnectionAborted.into());
        assert!(matches!(decide(gave_up, &seats), Then::Next), "a client that gave up delays nobody");
        let seated = decide(Ok(()), &seats);
        assert!(matches!(seated, Then::Serve(_)) && matches!(decide(Ok(()), &seats), Then::Next));
    }
}
