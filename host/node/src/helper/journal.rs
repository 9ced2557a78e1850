//! The ledger's file: one record a line, each with a checksum, appended before the effect.
//!
//! Owns reading, appending and compacting; it must not interpret records. A torn last line is what
//! a crash leaves and is cut off; damage anywhere else is an error, because a ledger that guesses
//! would undo somebody's mount. Only what [`Record::outlasts_the_machine`] is synced: the rest is about
//! mounts and devices, which end with the kernel that has the unwritten lines. So after a reboot a file
//! may be damaged behind the last synced line, and everything before it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ledger::Record;
pub(crate) use crate::ledger_directory::FILE;

const NEW_FILE: &str = "ledger.new";
/// The version of the lines' format; a file of another is not read.
const FORMAT: u32 = 1;

/// Why the journal could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    /// The system refused it.
    #[error("{attempt} {}: {source}", path.display())]
    System { attempt: &'static str, path: PathBuf, source: io::Error },
    /// A line other than the last does not match its checksum.
    #[error("{}: line {line} is damaged; move the file away to start without a ledger, then look after mounts by hand", path.display())]
    Damaged { path: PathBuf, line: usize },
    /// Written by another version.
    #[error("{}: format {found} is not known to this version (it knows {FORMAT})", path.display())]
    Format { path: PathBuf, found: u32 },
    /// An append failed halfway and could not be taken back.
    #[error("the node ledger could not be written before; the helper must be started again")]
    Broken,
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    format: u32,
    /// Ids below this are taken, also by entries that were struck out.
    pub(crate) next_id: u64,
    /// The start of the machine that entries are about.
    pub(crate) boot: String,
}

impl Header {
    pub(crate) fn new(next_id: u64, boot: &str) -> Self {
        Self { format: FORMAT, next_id, boot: boot.to_owned() }
    }
}

/// The open file.
#[derive(Debug)]
pub(crate) struct Journal {
    directory: PathBuf,
    file: File,
    length: u64,
    lines: usize,
    broken: bool,
}

impl Journal {
    /// Opens the file, cutting off a torn last line. None: there is no file yet. A file of another start of the machine
    /// than `boot` is read up to the first damage.
    pub(crate) fn open(directory: &Path, boot: &str) -> Result<Option<(Self, Header, Vec<Record>)>, JournalError> {
        let path = directory.join(FILE);
        let mut file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(JournalError::System { attempt: "opening", path, source });
            }
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(system("reading", &path))?;
        let Some((header, records, length)) = parse(&text, &path, boot)? else {
            return Ok(None);
        };
        file.set_len(length).map_err(system("cutting off the torn end of", &path))?;
        let lines = records.len() + 1;
        let journal = Self { directory: directory.to_owned(), file, length, lines, broken: false };
        Ok(Some((journal, header, records)))
    }

    /// Reads a file that somebody may be writing: up to the first damage. None: there is no header.
    pub(crate) fn peek(directory: &Path) -> Result<Option<(Header, Vec<Record>)>, JournalError> {
        let path = directory.join(FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(JournalError::System { attempt: "reading", path, source }),
        };
        // Of no start of the machine: damage is its end.
        Ok(parse(&text, &path, "")?.map(|(header, records, _)| (header, records)))
    }

    /// Writes a new file in place of the old one, all at once.
    pub(crate) fn create(directory: &Path, header: &Header, records: &[Record]) -> Result<Self, JournalError> {
        let path = directory.join(NEW_FILE);
        let mut text = line(header);
        for record in records {
            text.push_str(&line(record));
        }
        let mut options = OpenOptions::new();
        let _ = fs::remove_file(&path);
        let mut file =
            options.append(true).create_new(true).mode(0o600).open(&path).map_err(system("making", &path))?;
        file.write_all(text.as_bytes()).map_err(system("writing", &path))?;
        file.sync_all().map_err(system("syncing", &path))?;
        fs::rename(&path, directory.join(FILE)).map_err(system("renaming", &path))?;
        // The new name is taken already: going back to the old file would lose what follows.
        let synced = File::open(directory).and_then(|opened| opened.sync_all());
        Ok(Self {
            directory: directory.to_owned(),
            file,
            length: text.len() as u64,
            lines: records.len() + 1,
            broken: synced.is_err(),
        })
    }

    /// Appends one record. On return the system has it, and the disk where it must outlast the machine.
    pub(crate) fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        if self.broken {
            return Err(JournalError::Broken);
        }
        let text = line(record);
        let written = self
            .file
            .write_all(text.as_bytes())
            .and_then(|()| if record.outlasts_the_machine() { self.file.sync_data() } else { Ok(()) });
        if let Err(source) = written {
            // A half-written line in the middle would make the whole file unreadable.
            self.broken = self.file.set_len(self.length).is_err();
            let path = self.directory.join(FILE);
            return Err(JournalError::System { attempt: "appending to", path, source });
        }
        self.length += text.len() as u64;
        self.lines += 1;
        Ok(())
    }

    /// The number of lines, the header's included.
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// The file's size in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

fn system<'a>(attempt: &'static str, path: &'a Path) -> impl Fn(io::Error) -> JournalError + 'a {
    move |source| JournalError::System { attempt, path: path.to_owned(), source }
}

/// Checksum, a space, JSON. Serialising our own types to a string cannot fail; if it ever did, the
/// empty line would be refused as damaged instead of being misread.
fn line<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    format!("{:08x} {json}\n", crc32(json.as_bytes()))
}

fn decode<T: for<'de> Deserialize<'de>>(line: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(line).ok()?;
    let (sum, json) = text.split_once(' ')?;
    let matches = u32::from_str_radix(sum, 16).ok()? == crc32(json.as_bytes());
    matches.then(|| serde_json::from_str(json).ok()).flatten()
}

/// Header, records, and how many bytes of the text are good. None: not even the header is whole.
fn parse(text: &[u8], path: &Path, boot: &str) -> Result<Option<(Header, Vec<Record>, u64)>, JournalError> {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').enumerate();
    let Some((_, first)) = lines.next() else {
        return Ok(None);
    };
    let Some(header) = whole::<Header>(first) else {
        let damaged = JournalError::Damaged { path: path.to_owned(), line: 1 };
        return if lines.next().is_some() { Err(damaged) } else { Ok(None) };
    };
    if header.format != FORMAT {
        return Err(JournalError::Format { path: path.to_owned(), found: header.format });
    }
    let mut good = first.len();
    let mut records = Vec::new();
    while let Some((number, line)) = lines.next() {
        match whole::<Record>(line) {
            Some(record) => records.push(record),
            None if header.boot != boot || lines.next().is_none() => break,
            None => {
                return Err(JournalError::Damaged { path: path.to_owned(), line: number + 1 });
            }
        }
        good += line.len();
    }
    Ok(Some((header, records, good as u64)))
}

fn whole<T: for<'de> Deserialize<'de>>(line: &[u8]) -> Option<T> {
    decode(line.strip_suffix(b"\n")?)
}

/// CRC-32 as in IEEE 802.3, bit by bit: lines are short and few.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
    };
    !bytes.iter().fold(!0_u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
