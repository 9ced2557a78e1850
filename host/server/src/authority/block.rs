//! Header blocks: whether the authority in one parses, and the same block with one that does. Reading
//! them is a library's work (HPACK, RFC 7541); they are written without any compression, so that the
//! transport's own table stays out of it.

use std::borrow::Cow;
use std::io;

use bytes::{BufMut, BytesMut};
use http::uri::Authority;
use loona_hpack::Decoder;

const NAME: &[u8] = b":authority";
/// What stands there instead.
const SOUND: &[u8] = b"localhost";
/// How nearly all clients say `localhost`: as an indexed literal, plain or in Huffman's code. Finding
/// that spares them the reading.
const USUAL: [&[u8]; 2] = [b"\x41\x09localhost", b"\x41\x86\xa0\xe4\x1d\x13\x9d\x09"];
/// The size of the table that clients may fill, in bytes (RFC 9113, `SETTINGS_HEADER_TABLE_SIZE`).
const TABLE: usize = 4096;
/// The longest list of headers that is written, in bytes: a short block can stand for a long list.
const LIST: usize = 64 * 1024;

/// What a look at a block says.
#[derive(Debug)]
pub(super) enum Repair {
    /// It can go on as it came.
    Sound,
    /// This goes on instead.
    Repaired(BytesMut),
}

/// The reader of a connection's blocks.
#[derive(Default)]
pub(super) struct Block {
    /// There once the connection is being rewritten.
    reader: Option<Decoder<'static>>,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Block").field("rewriting", &self.is_rewriting()).finish()
    }
}

impl Block {
    /// Whether blocks no longer go on as they came.
    pub(super) const fn is_rewriting(&self) -> bool {
        self.reader.is_some()
    }

    /// Looks at the next block of the connection. Once one was repaired all are.
    ///
    /// # Errors
    /// The connection is being rewritten, and the block cannot be read or is too long.
    pub(super) fn see(&mut self, block: &[u8]) -> io::Result<Repair> {
        if let Some(reader) = &mut self.reader {
            let list = List::read(reader, block).ok_or(io::ErrorKind::InvalidData)?;
            return Ok(Repair::Repaired(list.repaired));
        }
        if USUAL.iter().any(|usual| block.windows(usual.len()).any(|part| part == *usual)) {
            return Ok(Repair::Sound);
        }
        let mut reader = Decoder::new();
        reader.set_max_allowed_table_size(TABLE);
        match List::read(&mut reader, block) {
            Some(List { is_odd: true, repaired }) => {
                self.reader = Some(reader);
                Ok(Repair::Repaired(repaired))
            }
            _ => Ok(Repair::Sound),
        }
    }
}

/// A list of headers as it goes on.
#[derive(Debug, Default)]
struct List {
    /// The authority did not parse.
    is_odd: bool,
    repaired: BytesMut,
}

impl List {
    /// None: the block is none, or stands for too long a list.
    fn read(reader: &mut Decoder<'static>, block: &[u8]) -> Option<Self> {
        let mut list = Self::default();
        reader.decode_with_cb(block, |name, value| list.add(&name, &value)).ok()?;
        (list.repaired.len() <= LIST).then_some(list)
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
        let mut value = Cow::Borrowed(value);
        if name == NAME && Authority::try_from(&*value).is_err() {
            self.is_odd = true;
            value = Cow::Borrowed(SOUND);
        }
        if self.repaired.len() <= LIST {
            self.repaired.put_u8(0);
            string(&mut self.repaired, name);
            string(&mut self.repaired, &value);
        }
    }
}

/// A string as a literal without Huffman's code (RFC 7541, 5.1 and 5.2).
fn string(into: &mut BytesMut, text: &[u8]) {
    const SHORT: usize = 127;
    let mut rest = text.len();
    if rest < SHORT {
        into.put_u8(low(rest));
    } else {
        into.put_u8(low(SHORT));
        rest -= SHORT;
        while rest >= 128 {
            into.put_u8(low(rest) | 0x80);
            rest >>= 7;
        }
        into.put_u8(low(rest));
    }
    into.put_slice(text);
}

/// The lowest seven bits.
fn low(number: usize) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or(0)
}
