//! Frames over a packet socket.
//!
//! A frame is cut into packets, because a packet must fit the socket's buffer while the answer to
//! a listing may be larger. The first byte of a packet says whether more follow. The sender must
//! see to it that the packets of two frames do not mix.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Payload of a packet. Well below the smallest default socket buffer.
const PAYLOAD: usize = 32 * 1024;
/// A frame larger than this is not ours.
const LARGEST_FRAME: usize = 64 * 1024 * 1024;
/// Along with one packet.
const MOST_DESCRIPTORS: usize = 2;
const LAST: u8 = 0;
const MORE: u8 = 1;

/// Sends one value. Blocks while the other side does not read.
pub(super) fn send<T: Serialize>(socket: impl AsFd, value: &T) -> io::Result<()> {
    send_frame(socket, &serde_json::to_vec(value)?)
}

/// A frame of one value, of at most so many bytes. What is longer is not written to its end.
pub(super) fn within<T: Serialize>(value: &T, most: usize) -> io::Result<Vec<u8>> {
    let mut frame = Bounded { bytes: Vec::new(), most };
    serde_json::to_writer(&mut frame, value)?;
    Ok(frame.bytes)
}

/// Sends a frame. Blocks while the other side does not read.
pub(super) fn send_frame(socket: impl AsFd, frame: &[u8]) -> io::Result<()> {
    let mut chunks = frame.chunks(PAYLOAD).peekable();
    while let Some(chunk) = chunks.next() {
        let mark = if chunks.peek().is_some() { MORE } else { LAST };
        let mut packet = Vec::with_capacity(chunk.len() + 1);
        packet.push(mark);
        packet.extend_from_slice(chunk);
        rustix::io::retry_on_intr(|| rustix::net::send(socket.as_fd(), &packet, SendFlags::NOSIGNAL))?;
    }
    Ok(())
}

/// Sends a frame without waiting. False: nothing was sent, because it does not fit into one packet or the other side does not
/// read.
pub(super) fn try_send_frame(socket: impl AsFd, frame: &[u8]) -> bool {
    if frame.len() > PAYLOAD {
        return false;
    }
    let head = [LAST];
    let parts = [IoSlice::new(&head), IoSlice::new(frame)];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let mut nothing_along = SendAncillaryBuffer::default();
    rustix::io::retry_on_intr(|| rustix::net::sendmsg(&socket, &parts, &mut nothing_along, flags)).is_ok()
}

/// Bytes up to a bound.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.most - self.bytes.len() {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than it may be"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Receives one value; none at the end of the stream.
pub(super) fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<T>> {
    let mut frame = Vec::new();
    let mut packet = vec![0; PAYLOAD + 1];
    loop {
        let length = receive_packet(&socket, &mut packet)?;
        let Some((mark, payload)) = packet.get(..length).and_then(<[u8]>::split_first) else {
            return if length == 0 { Ok(None) } else { Err(malformed("oversized packet")) };
        };
        frame.extend_from_slice(payload);
        match *mark {
            LAST => return Ok(Some(serde_json::from_slice(&frame)?)),
            MORE if frame.len() <= LARGEST_FRAME => {}
            _ => return Err(malformed("frame without an end")),
        }
    }
}

/// Returns the packet's length, which is 0 at the end of the stream.
fn receive_packet(socket: impl AsFd, packet: &mut [u8]) -> io::Result<usize> {
    let mut receive = || {
        let flags = RecvFlags::TRUNC;
        rustix::io::retry_on_intr(|| rustix::net::recv(socket.as_fd(), &mut *packet, flags))
    };
    let received = match receive() {
        // The other side has ended without reading everything. The system says so once, and before
        // it hands out what that side had still sent.
        Err(Errno::CONNRESET) => receive(),
        other => other,
    };
    Ok(received.map(|(_, length)| length)?)
}

/// Sends one packet as it is, with descriptors.
pub(super) fn send_with(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut along = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        along.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    rustix::io::retry_on_intr(|| {
        rustix::net::sendmsg(socket.as_fd(), &[IoSlice::new(bytes)], &mut along, SendFlags::NOSIGNAL)
    })?;
    Ok(())
}

/// Receives one packet as it is: its length, 0 at the end of the stream, and the descriptors that came along.
pub(super) fn receive_with(socket: impl AsFd, bytes: &mut [u8]) -> rustix::io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut along = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        let flags = RecvFlags::CMSG_CLOEXEC;
        rustix::net::recvmsg(socket.as_fd(), &mut [IoSliceMut::new(bytes)], &mut along, flags)
    })?;
    let descriptors = along.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok((received.bytes, descriptors.flatten().collect()))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
