//! Whole exchanges with a server on this machine: what goes out, what comes back, what is kept, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::time::Instant;

use super::server::{Call, Reply, Server, Told, granted, limits, ok, request, subject};
use crate::error::DenyReason;
use crate::{Allowance, Answer, Egress, EgressError, Grant, HttpLimits, Mode, Presence, Resolve};

/// A short time that passes in the test.
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_request_goes_out_as_it_should() {
    let server = Server::start([], None).await;
    let call = Call::to(&server);
    let mut request = request("GET", &server.url("/a/b?c=d"), "");
    request.headers_mut().insert("host", "evil.example".parse().unwrap());
    request.headers_mut().insert("accept", "x".parse().unwrap());
    let answer = call.egress.send(request, call.ask()).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "ok");
    let seen = server.seen();
    let port = server.address.port();
    assert!(seen[0].starts_with("GET /a/b?c=d HTTP/1.1\r\n"), "{seen:?}");
    assert!(seen[0].contains(&format!("\r\nhost: array.test:{port}\r\n")) && !seen[0].contains("evil"), "{seen:?}");
}

#[tokio::test]
async fn redirects_are_answers() {
    let away = "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start([Reply::Say(away.to_owned())], None).await;
    assert_eq!(Call::to(&server).fetch("GET", &server.url("/"), "").await, Ok((302, String::new())));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::start([], None).await;
    let resolver = Told::new(&[&["127.0.0.1"]]);
    let call = Call::new(granted(&server), limits(), resolver.clone());
    for method in ["GET", "POST", "PUT", "DELETE", "GET"] {
        let body = if method == "GET" { "" } else { "body" };
        assert_eq!(call.fetch(method, &server.url("/"), body).await, Ok((200, "ok".to_owned())));
    }
    assert_eq!((server.seen().len(), server.connections(), resolver.times()), (5, 1, 1));
    // A guest's body, whose length is in a header alone.
    for _ in 0..2 {
        let part = futures_util::stream::iter([Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"part")))]);
        let request = Request::builder().method("POST").uri(server.url("/")).header("content-length", "4");
        let answer = call.egress.send(request.body(StreamBody::new(part)).unwrap(), call.ask()).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "ok");
    }
    assert_eq!((server.seen().len(), server.connections()), (7, 1));
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_costs_nothing() {
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned();
    let server = Server::start([Reply::Last(last.clone()), Reply::Last(last.clone()), Reply::Last(last)], None).await;
    let call = Call::to(&server);
    for _ in 0..3 {
        assert_eq!(call.fetch("POST", &server.url("/"), "body").await.unwrap().0, 200);
        while call.egress.pool.has_waiting() {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((server.seen().len(), server.connections()), (3, 3));
}

#[tokio::test]
async fn only_granted_addresses_are_dialled() {
    let server = Server::start([], None).await;
    for (answers, expected) in [
        (&["10.0.0.1"][..], Err(EgressError::Address("10.0.0.1".parse().unwrap()))),
        (&["169.254.169.254", "::1"], Err(EgressError::Address("169.254.169.254".parse().unwrap()))),
        (&["10.0.0.1", "127.0.0.1"], Ok(())),
        (&["::ffff:127.0.0.1"], Ok(())),
        (&[], Err(EgressError::Name)),
    ] {
        let before = server.connections();
        let call = Call::new(granted(&server), limits(), Told::new(&[answers]));
        assert_eq!(call.fetch("GET", &server.url("/"), "").await.map(drop), expected, "{answers:?}");
        assert_eq!(server.connections() - before, usize::from(expected.is_ok()));
    }
    let public = Grant { addresses: Vec::new(), ..granted(&server) };
    let call = Call::new(public, limits(), Told::new(&[&["127.0.0.1"]]));
    let refused = EgressError::Address("127.0.0.1".parse().unwrap());
    assert_eq!(call.fetch("GET", &server.url("/"), "").await, Err(refused));
}

/// The name is asked for once a connection; a second answer is judged like the first.
#[tokio::test]
async fn a_name_that_changes_its_address_is_caught() {
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned();
    let server = Server::start([Reply::Last(last)], None).await;
    let resolver = Told::new(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let call = Call::new(granted(&server), limits(), resolver.clone());
    assert!(call.fetch("GET", &server.url("/"), "").await.is_ok());
    let refused = EgressError::Address("169.254.169.254".parse().unwrap());
    assert_eq!(call.fetch("GET", &server.url("/"), "").await, Err(refused));
    assert_eq!((server.seen().len(), resolver.times()), (1, 2));
}

#[tokio::test]
async fn bodies_are_bounded() {
    let big = "x".repeat(1001);
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3e9\r\n{big}\r\n0\r\n\r\n");
    let server = Server::start([ok(&big), Reply::Say(chunked), ok(&"x".repeat(1000))], None).await;
    let call = Call::to(&server);
    assert_eq!(call.fetch("GET", &server.url("/"), "").await, Err(EgressError::ResponseSize));
    assert_eq!(call.fetch("GET", &server.url("/"), "").await, Err(EgressError::ResponseSize));
    assert_eq!(call.fetch("GET", &server.url("/"), "").await.unwrap().1.len(), 1000);
    assert_eq!(call.fetch("POST", &server.url("/"), &big).await, Err(EgressError::RequestSize));
    assert_eq!(server.seen().len(), 3, "nothing of the last one came in whole");
}

#[tokio::test]
async fn a_call_has_so_many_bytes_and_requests() {
    let server = Server::start([], None).await;
    let mut call = Call::to(&server);
    call.allowance = Allowance::new(7, 3).into();
    assert!(call.fetch("POST", &server.url("/"), "abc").await.is_ok());
    assert_eq!(call.fetch("POST", &server.url("/"), "abc").await, Err(EgressError::RequestSize));
    assert_eq!(call.fetch("GET", "http://other.example/", "").await, Err(EgressError::Refused(DenyReason::Origin)));
    assert_eq!(call.fetch("GET", &server.url("/"), "").await, Err(EgressError::Refused(DenyReason::Number)));
}

#[tokio::test]
async fn nobody_is_waited_for_longer_than_allowed() {
    let part = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_owned();
    for reply in [Reply::Hang(String::new()), Reply::Hang("HTTP/1.1 200 OK\r\n".to_owned()), Reply::Hang(part)] {
        let server = Server::start([reply.clone(), reply.clone(), reply], None).await;
        let short = HttpLimits { time: SHORT, ..limits() };
        let call = Call::new(granted(&server), short, Told::new(&[&["127.0.0.1"]]));
        assert_eq!(call.fetch("GET", &server.url("/"), "").await, Err(EgressError::Time));
        // The end of the call comes before the limit.
        let mut call = Call::to(&server);
        call.ends = Instant::now() + SHORT;
        let came = call.fetch("GET", &server.url("/"), "").await;
        assert!(matches!(came, Err(EgressError::Time | EgressError::ConnectTime | EgressError::NameTime)), "{came:?}");
        // And so does the guest's patience.
        let call = Call::to(&server);
        let mut ask = call.ask();
        (ask.timeouts.head, ask.timeouts.pause) = (Some(SHORT), Some(SHORT));
        let came = match call.egress.send(request("GET", &server.url("/"), ""), ask).await {
            Ok(answer) => answer.into_body().collect().await.map(drop),
            Err(error) => Err(error),
        };
        assert_eq!(came, Err(EgressError::Time));
    }
}

#[tokio::test]
async fn connections_are_so_many() {
    let server = Server::start([], None).await;
    let one = HttpLimits { connections: 1, ..limits() };
    let call = Call::new(granted(&server), one, Told::new(&[&["127.0.0.1"]]));
    let held = call.egress.send(request("GET", &server.url("/"), ""), call.ask()).await.unwrap();
    let mut ask = call.ask();
    ask.timeouts.connect = Some(SHORT);
    let came = call.egress.send(request("GET", &server.url("/"), ""), ask).await;
    assert_eq!(came.map(drop), Err(EgressError::Busy));
    drop(held);
    assert!(call.fetch("GET", &server.url("/"), "").await.is_ok());
    assert_eq!(server.connections(), 2, "an answer that was not read closes its connection");
}

/// Asked for a name, it never answers.
#[derive(Debug)]
struct Silent;

impl Resolve for Silent {
    fn resolve(&self, _: String) -> Answer {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_connection_takes_no_longer_than_allowed() {
    let short = HttpLimits { connect_time: SHORT, ..limits() };
    let (subject, grant) = (subject(), Grant::of("http://array.test".parse().unwrap()));
    let egress = Egress::with_resolver(subject, &[grant], Mode::Enforce, short, Arc::new(Silent)).unwrap();
    let call = Call { egress, ..Call::to(&Server::start([], None).await) };
    assert_eq!(call.fetch("GET", "http://array.test/", "").await, Err(EgressError::NameTime));
}

#[tokio::test]
async fn what_is_no_answer_is_said() {
    for (reply, expected) in [
        (Reply::Last(String::new()), EgressError::Cut),
        (Reply::Last("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_owned()), EgressError::Cut),
        (Reply::Last("SSH-2.0-server\r\n\r\n".to_owned()), EgressError::Protocol),
        (
            Reply::Say("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n".to_owned()),
            EgressError::Upgrade,
        ),
        (
            Reply::Say(format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: {}\r\n\r\n", "y".repeat(300_000))),
            EgressError::Protocol,
        ),
    ] {
        let server = Server::start([reply.clone()], None).await;
        assert_eq!(Call::to(&server).fetch("GET", &server.url("/"), "").await, Err(expected), "{reply:?}");
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut server = Server::start([], None).await;
    server.address = free;
    assert_eq!(Call::to(&server).fetch("GET", &server.url("/"), "").await, Err(EgressError::ConnectionRefused));
}

/// A body whose guest was ended looks like one that has come to its end.
#[tokio::test]
async fn a_body_that_its_guest_left_is_not_sent_as_a_whole_one() {
    let server = Server::start([], None).await;
    let mut call = Call::to(&server);
    for (is_there, expected) in [(true, Ok(())), (false, Err(EgressError::Unfinished))] {
        let part = futures_util::stream::iter([Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"part")))]);
        let request = Request::builder().method("POST").uri(server.url("/")).body(StreamBody::new(part)).unwrap();
        let ask = call.ask();
        if !is_there {
            call.guest = Presence::new();
        }
        assert_eq!(call.egress.send(request, ask).await.map(drop), expected);
    }
    assert_eq!(server.seen().len(), 1);
}
