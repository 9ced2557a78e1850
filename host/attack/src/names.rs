//! A name server of few words, for a network of its own: it answers any question about a name by what the name says.
//!
//! `v4-10-1-0-5.…` has that address of IPv4, `v6-fd12--1.…` that one of IPv6 (`-` for `:`). `array.test` is the granted
//! one; `rebind.test` is, too, but only for the first question.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::UdpSocket;

const A: u16 = 1;
const AAAA: u16 = 28;
/// Bytes before the question, and the longest message.
const HEAD: usize = 12;
const MESSAGE: usize = 512;

/// The address that the grant is for.
pub(super) const ARRAY: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 5);
/// Where credentials are served.
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// Everybody else.
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 6, 6, 6);

/// The server, and what it was asked.
pub(super) struct Names {
    socket: UdpSocket,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    pub(super) const fn new(socket: UdpSocket, asked: Arc<Mutex<Vec<String>>>) -> Self {
        Self { socket, asked }
    }

    /// Answers until it is dropped.
    pub(super) async fn serve(self) {
        let (mut buffer, mut rebound) = ([0; MESSAGE], false);
        while let Ok((length, client)) = self.socket.recv_from(&mut buffer).await {
            let message = buffer.get(..length).unwrap_or_default();
            let Some((name, kind, end)) = question(message) else { continue };
            if kind == A {
                self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
            }
            let address = address_of(&name, rebound);
            rebound |= name == "rebind.test" && kind == A;
            let answer = reply(message.get(..end).unwrap_or_default(), address, kind);
            // Who asked may have gone away.
            let _ = self.socket.send_to(&answer, client).await;
        }
    }
}

fn address_of(name: &str, rebound: bool) -> Option<IpAddr> {
    match name {
        "array.test" => return Some(ARRAY.into()),
        "rebind.test" => return Some(if rebound { METADATA } else { ARRAY }.into()),
        _ => {}
    }
    let label = name.split('.').next()?;
    match label.split_at_checked(3) {
        Some(("v4-", rest)) => rest.replace('-', ".").parse().ok(),
        Some(("v6-", rest)) => rest.replace('-', ":").parse().ok(),
        _ => Some(OTHER.into()),
    }
}

/// Name, kind and end of the one question of a message.
fn question(message: &[u8]) -> Option<(String, u16, usize)> {
    let (mut at, mut labels) = (HEAD, Vec::new());
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    Some((labels.join("."), kind, at + 4))
}

fn reply(question: &[u8], address: Option<IpAddr>, kind: u16) -> Vec<u8> {
    let record = match (address, kind) {
        (Some(IpAddr::V4(address)), A) => Some(address.octets().to_vec()),
        (Some(IpAddr::V6(address)), AAAA) => Some(address.octets().to_vec()),
        _ => None,
    };
    let mut message = question.get(..2).unwrap_or_default().to_vec();
    // An answer, with one question and so many records.
    message.extend([0x81, 0x80, 0, 1, 0, u8::from(record.is_some()), 0, 0, 0, 0]);
    message.extend(question.get(HEAD..).unwrap_or_default());
    if let Some(record) = record {
        message.extend([0xc0, 12]);
        message.extend(kind.to_be_bytes());
        // Class, and no time to live: the next query comes here again.
        message.extend([0, 1, 0, 0, 0, 0, 0, u8::try_from(record.len()).unwrap_or(0)]);
        message.extend(record);
    }
    message
}
