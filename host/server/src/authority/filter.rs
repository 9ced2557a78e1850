//! The frames of a connection on their way to the transport: header blocks are put together, all else
//! passes as it comes. Owns the framing of HTTP/2 (RFC 9113, 4 and 6.2) and no more of it: what breaks
//! a rule is handed on, for the transport to say so, unless the connection is being rewritten.

use std::io;

use bytes::{Buf, BufMut, BytesMut};

use super::block::{Block, Repair};

/// What every client begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Length, kind, flags and stream of a frame.
const HEAD: usize = 9;
/// The longest frame that the transport takes, in bytes, as long as it does not announce more.
const FRAME: usize = 16 * 1024;
/// The longest header block that is put together, in bytes: twice what the transport accepts.
const BLOCK: usize = 32 * 1024;

/// Most frames of a header block: more than the longest block fills, and more than the transport takes. Frames without
/// contents count, too: what has come is kept until the block is whole.
const FRAMES: usize = 8;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;
/// A priority that is said with a header block: a stream and a weight.
const PRIORITY_BYTES: usize = 5;

/// Whether more of a connection must be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inspection {
    /// The next bytes, too.
    Watched,
    /// Nothing more: what comes passes as it is.
    Free,
}

/// What is known of a connection.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// Bytes that came and were not handed on yet.
    held: BytesMut,
    /// How many bytes of the present frame pass as they are.
    passing: usize,
    has_begun: bool,
    /// The block that is being put together.
    open: Option<Open>,
    block: Block,
}

/// A header block of which not all has come.
#[derive(Debug)]
struct Open {
    stream: u32,
    ends_stream: bool,
    /// Its frames as they came; at most [`FRAMES`] of at most [`FRAME`] bytes.
    raw: BytesMut,
    frames: usize,
    /// The block alone.
    bytes: BytesMut,
}

/// The head of a frame.
#[derive(Debug, Clone, Copy)]
struct Head {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Head {
    fn read(mut bytes: &[u8]) -> Option<Self> {
        if bytes.len() < HEAD {
            return None;
        }
        let length = usize::try_from(bytes.get_uint(3)).ok()?;
        Some(Self { length, kind: bytes.get_u8(), flags: bytes.get_u8(), stream: bytes.get_u32() & (u32::MAX >> 1) })
    }
}

impl Filter {
    /// Takes what came and hands on what is known to be sound, or made so.
    ///
    /// # Errors
    /// A connection that is being rewritten breaks the rules of frames or header blocks.
    pub(super) fn feed(&mut self, came: &[u8], on: &mut BytesMut) -> io::Result<Inspection> {
        self.held.extend_from_slice(came);
        loop {
            let passes = self.passing.min(self.held.len());
            on.extend_from_slice(&self.held.split_to(passes));
            self.passing -= passes;
            if self.held.is_empty() {
                return Ok(Inspection::Watched);
            }
            match self.step(on)? {
                Step::On => {}
                Step::Wait => return Ok(Inspection::Watched),
                Step::Free => {
                    if let Some(open) = self.open.take() {
                        on.extend_from_slice(&open.raw);
                    }
                    on.extend_from_slice(&self.held.split());
                    return Ok(Inspection::Free);
                }
            }
        }
    }

    fn step(&mut self, on: &mut BytesMut) -> io::Result<Step> {
        if !self.has_begun {
            return Ok(self.begin());
        }
        let Some(head) = Head::read(&self.held) else { return Ok(Step::Wait) };
        if head.length > FRAME {
            return self.give_up("a frame is too long");
        }
        match (head.kind, &self.open) {
            (HEADERS, None) | (CONTINUATION, Some(_)) => {}
            (_, None) => {
                self.passing = HEAD + head.length;
                return Ok(Step::On);
            }
            (_, Some(_)) => return self.give_up("a header block is interrupted"),
        }
        if self.held.len() < HEAD + head.length {
            return Ok(Step::Wait);
        }
        let frame = self.held.split_to(HEAD + head.length);
        self.gather(head, &frame, on)
    }

    fn begin(&mut self) -> Step {
        let both = self.held.len().min(PREFACE.len());
        if self.held.get(..both) != PREFACE.get(..both) {
            return Step::Free;
        }
        if both < PREFACE.len() {
            return Step::Wait;
        }
        self.has_begun = true;
        self.passing = PREFACE.len();
        Step::On
    }

    /// Adds a frame to its block, which may be whole with it.
    fn gather(&mut self, head: Head, frame: &[u8], on: &mut BytesMut) -> io::Result<Step> {
        let part = frame.get(HEAD..).and_then(|payload| fragment(head, payload));
        let open = self.open.get_or_insert_with(|| Open {
            stream: head.stream,
            ends_stream: head.flags & END_STREAM != 0,
            raw: BytesMut::new(),
            frames: 0,
            bytes: BytesMut::new(),
        });
        open.frames += 1;
        open.raw.extend_from_slice(frame);
        open.bytes.extend_from_slice(part.unwrap_or_default());
        let is_sound = part.is_some()
            && open.stream == head.stream
            && open.bytes.len() <= BLOCK
            && (open.frames < FRAMES || head.flags & END_HEADERS != 0);
        if !is_sound {
            return self.give_up("a header block breaks the rules of frames");
        }
        if head.flags & END_HEADERS == 0 {
            return Ok(Step::On);
        }
        self.close(on)
    }

    fn close(&mut self, on: &mut BytesMut) -> io::Result<Step> {
        let Some(open) = &self.open else { return Ok(Step::On) };
        match self.block.see(&open.bytes)? {
            Repair::Sound => Ok(Step::Free),
            Repair::Repaired(block) => {
                put(on, open.stream, open.ends_stream, &block);
                self.open = None;
                Ok(Step::On)
            }
        }
    }

    /// What breaks a rule is the transport's business, unless the client's bytes no longer reach it as
    /// they are.
    fn give_up(&self, grpc_only: &'static str) -> io::Result<Step> {
        if self.block.is_rewriting() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, grpc_only));
        }
        Ok(Step::Free)
    }
}

/// What to do after a step.
enum Step {
    /// Go on with what is there.
    On,
    /// Not enough has come.
    Wait,
    /// Look no further.
    Free,
}

/// The part of a header block that a frame carries; none: its length and its flags disagree.
fn fragment(head: Head, payload: &[u8]) -> Option<&[u8]> {
    if head.kind == CONTINUATION {
        return Some(payload);
    }
    let (padding, payload) = if head.flags & PADDED == 0 {
        (0, payload)
    } else {
        payload.split_first().map(|(n, rest)| (usize::from(*n), rest))?
    };
    let before = if head.flags & PRIORITY == 0 { 0 } else { PRIORITY_BYTES };
    payload.get(before..payload.len().checked_sub(padding)?)
}

/// Writes a header block as frames.
fn put(on: &mut BytesMut, stream: u32, ends_stream: bool, block: &[u8]) {
    let mut parts = block.chunks(FRAME).peekable();
    let mut kind = HEADERS;
    while let Some(part) = parts.next() {
        let last = if parts.peek().is_none() { END_HEADERS } else { 0 };
        let ends = if kind == HEADERS && ends_stream { END_STREAM } else { 0 };
        // At most `FRAME`.
        on.put_uint(u64::try_from(part.len()).unwrap_or(0), 3);
        on.put_u8(kind);
        on.put_u8(last | ends);
        on.put_u32(stream);
        on.put_slice(part);
        kind = CONTINUATION;
    }
}
