//! The mount table as the kernel shows it.
//!
//! Owns reading and parsing `/proc/self/mountinfo`. It must not resolve paths: the table's mount
//! points are real paths, and the ledger's places are too.

use crate::error::NodeError;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountLine {
    pub(crate) id: u64,
    pub(crate) parent: u64,
    /// Device number of the file system, as `7:3`.
    pub(crate) device: String,
    /// The directory of the file system that is shown.
    pub(crate) root: String,
    /// Where it is shown.
    pub(crate) place: String,
    pub(crate) file_system: String,
    pub(crate) source: String,
    /// Whether the file system as a whole is read-only.
    pub(crate) super_read_only: bool,
}

/// All mounts of this mount namespace.
#[derive(Debug, Clone, Default)]
pub(crate) struct MountTable(Vec<MountLine>);

impl MountTable {
    /// Reads the table as of now.
    pub(crate) fn read() -> Result<Self, NodeError> {
        let text =
            std::fs::read("/proc/self/mountinfo").map_err(|error| NodeError::io("reading the mount table", &error))?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    /// Lines that are not understood are left out: they are no mounts of ours.
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(parse_line).collect())
    }

    /// Everything that is mounted at a place, hidden or not.
    pub(crate) fn at(&self, place: &str) -> impl Iterator<Item = &MountLine> {
        self.0.iter().filter(move |line| line.place == place)
    }

    /// What is seen at a place.
    pub(crate) fn topmost(&self, place: &str) -> Option<&MountLine> {
        self.at(place).find(|line| !self.at(place).any(|other| other.parent == line.id))
    }
}

/// `36 35 98:0 /root /place rw,noatime shared:1 - ext4 /dev/loop0 rw,errors=continue`
fn parse_line(line: &str) -> Option<MountLine> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ');
    let mut back = back.split(' ');
    let id = front.next()?.parse().ok()?;
    let parent = front.next()?.parse().ok()?;
    let device = front.next()?.to_owned();
    let root = unescape(front.next()?);
    let place = unescape(front.next()?);
    let file_system = back.next()?.to_owned();
    let source = unescape(back.next()?);
    let super_read_only = back.next()?.split(',').any(|option| option == "ro");
    Some(MountLine { id, parent, device, root, place, file_system, source, super_read_only })
}

/// Space, tab, newline and backslash are written as a backslash and three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|_| *first == b'\\');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(3..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
