//! The record of requests: bounded, however many there are.

use std::io::Write;
use std::sync::{Arc, Mutex};

use drivebay_observe::GuestLog;
use tracing::subscriber::set_default;

use super::server::{Call, Server, Told, granted, limits};
use crate::{Allowance, Egress, Mode, Subject};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_flood_of_refused_requests_is_a_short_record() {
    const BURST: u64 = 16 << 10;
    let written = Written::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = set_default(subscriber);
    let server = Server::start([], None).await;
    let (grant, resolver) = (granted(&server), Told::new(&[&["127.0.0.1"]]));
    let mut call = Call::to(&server);
    call.allowance = Arc::new(Allowance::new(1 << 20, 2_000));
    let log = Arc::new(GuestLog::new("b", 1, BURST));
    let subject = Subject { backend: "b".to_owned(), generation: "1".to_owned(), log };
    call.egress = Egress::with_resolver(subject, &[grant], Mode::Enforce, limits(), resolver).unwrap();
    for turn in 0..3_000 {
        // Names as long as they can be, and requests beyond the number.
        let name = "n".repeat(if turn % 2 == 0 { 60 } else { 1 });
        assert!(call.fetch("DELETE", &format!("http://{name}.example/"), "").await.is_err());
    }
    // They hide none of the others.
    call.allowance = Arc::new(Allowance::new(1 << 20, 1));
    call.fetch("GET", &server.url("/"), "").await.unwrap();
    let said = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let (refused, others): (Vec<_>, Vec<_>) = said.lines().partition(|line| line.contains("verdict=\"refused\""));
    let (written, most) = (refused.join("\n").len(), usize::try_from(BURST).unwrap());
    assert!((most / 4..=most).contains(&written), "{written} bytes");
    assert_eq!((others.len(), others[0].contains("verdict=\"allowed\"")), (1, true), "{others:?}");
}
