//! A name server of few words: it answers any question about a name below `.test`, by what the name says.
//!
//! `v4-10-1-0-5.ZONE.test` has that address of IPv4, `v6-fd12--1.ZONE.test` that one of IPv6 (`-` for `:`). The few names
//! with more than one address, or with another one each time, stand in a table.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex};

/// Names with addresses of their own. Each question about IPv4 uses up one answer; the last one stays.
pub type Table = BTreeMap<&'static str, Vec<Vec<&'static str>>>;

const A: u16 = 1;
const AAAA: u16 = 28;

/// Answers until the socket's namespace is gone; notes what was asked for.
pub fn serve(socket: &UdpSocket, mut table: Table, asked: &Arc<Mutex<Vec<String>>>) {
    let mut buffer = [0; 512];
    while let Ok((length, client)) = socket.recv_from(&mut buffer) {
        let Some((name, kind, end)) = question(&buffer[..length]) else { continue };
        if kind == A {
            asked.lock().unwrap().push(name.clone());
        }
        let known = table.get_mut(name.as_str()).map(|answers| match kind {
            A if answers.len() > 1 => answers.remove(0),
            _ => answers[0].clone(),
        });
        let addresses: Vec<IpAddr> = match known {
            Some(texts) => texts.iter().map(|text| text.parse().unwrap()).collect(),
            None => spelled(&name).into_iter().collect(),
        };
        let _ = socket.send_to(&reply(&buffer[..end], &addresses, kind), client);
    }
}

/// The address that the first label spells.
fn spelled(name: &str) -> Option<IpAddr> {
    let label = name.split('.').next()?;
    match label.split_at_checked(3)? {
        ("v4-", rest) => rest.replace('-', ".").parse().ok(),
        ("v6-", rest) => rest.replace('-', ":").parse().ok(),
        _ => None,
    }
}

/// Name, kind and end of the one question of a message.
fn question(message: &[u8]) -> Option<(String, u16, usize)> {
    let (mut at, mut labels) = (12, Vec::new());
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

fn reply(question: &[u8], addresses: &[IpAddr], kind: u16) -> Vec<u8> {
    let records: Vec<Vec<u8>> = addresses
        .iter()
        .filter_map(|address| match (address, kind) {
            (IpAddr::V4(address), A) => Some(address.octets().to_vec()),
            (IpAddr::V6(address), AAAA) => Some(address.octets().to_vec()),
            _ => None,
        })
        .collect();
    let mut message = question.to_vec();
    message[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::try_from(records.len()).unwrap(), 0, 0, 0, 0]);
    for record in records {
        message.extend([0xc0, 12]);
        message.extend(kind.to_be_bytes());
        // Class, and no time to live: the next query comes here again.
        message.extend([0, 1, 0, 0, 0, 0, 0, u8::try_from(record.len()).unwrap()]);
        message.extend(record);
    }
    message
}
