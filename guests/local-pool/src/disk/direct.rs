//! Small files in as few host calls as WASI allows.
//!
//! Reading a record through `std::fs` takes eight host calls, among them the size, a hash in place of an inode number
//! and a stream that is read twice. Here it takes three: open, read, close. On any error the caller repeats the
//! operation through `std::fs`, which has the words for it.

use std::sync::OnceLock;

use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

use super::{Direct, Entry, Failed, Lasting, Status, Type};

/// Bytes read at a time: a page, so that fewer mean the end of the file.
const PAGE: u64 = 4_096;

/// The granted directories, asked for once in an instance.
fn roots() -> &'static [(Descriptor, String)] {
    static ROOTS: OnceLock<Vec<(Descriptor, String)>> = OnceLock::new();
    ROOTS.get_or_init(preopens::get_directories)
}

/// The contents of a file; none: it does not exist.
pub(super) fn read(path: &str) -> Direct<Option<Vec<u8>>> {
    let (root, rest) = root_of(path)?;
    let opened = root.open_at(PathFlags::SYMLINK_FOLLOW, rest, OpenFlags::empty(), DescriptorFlags::READ);
    if_present(opened)?.map(|file| read_all(&file)).transpose()
}

/// What is known of a file or a directory; none: it does not exist.
pub(super) fn status(path: &str) -> Direct<Option<Status>> {
    let (root, rest) = root_of(path)?;
    Ok(if_present(root.stat_at(PathFlags::empty(), rest))?.map(status_of))
}

/// The names in a directory, in any order; none: it does not exist.
pub(super) fn list(path: &str) -> Direct<Option<Vec<Entry>>> {
    let (root, rest) = root_of(path)?;
    let opened = root.open_at(PathFlags::SYMLINK_FOLLOW, rest, OpenFlags::DIRECTORY, DescriptorFlags::READ);
    let Some(directory) = if_present(opened)? else {
        return Ok(None);
    };
    let stream = directory.read_directory().map_err(Failed::of)?;
    let mut entries = Vec::new();
    while let Some(entry) = stream.read_directory_entry().map_err(Failed::of)? {
        entries.push(Entry { name: entry.name, file_type: type_of(entry.type_) });
    }
    Ok(Some(entries))
}

/// Makes or replaces a file.
pub(super) fn write(path: &str, bytes: &[u8], lasting: Lasting) -> Direct<()> {
    let (root, rest) = root_of(path)?;
    let new = OpenFlags::CREATE | OpenFlags::TRUNCATE;
    let file = root.open_at(PathFlags::SYMLINK_FOLLOW, rest, new, DescriptorFlags::WRITE).map_err(Failed::of)?;
    let (mut left, mut offset) = (bytes, 0);
    while !left.is_empty() {
        let written = file.write(left, offset).map_err(Failed::of)?;
        left = usize::try_from(written).ok().filter(|_| written > 0).and_then(|from| left.get(from..)).ok_or(Failed)?;
        offset += written;
    }
    match lasting {
        Lasting::Now => file.sync().map_err(Failed::of),
        Lasting::Soon => Ok(()),
    }
}

impl Failed {
    fn of(_: ErrorCode) -> Self {
        Self
    }
}

/// The granted directory that a path lies in, and the rest of the path.
fn root_of(path: &str) -> Direct<(&'static Descriptor, &str)> {
    let within = roots().iter().filter_map(|(root, name)| Some((root, below(name, path)?)));
    let (root, rest) = within.min_by_key(|(_, rest)| rest.len()).ok_or(Failed)?;
    Ok((root, if rest.is_empty() { "." } else { rest }))
}

/// The part of a path below a directory; none: it lies elsewhere.
fn below<'a>(directory: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

fn read_all(file: &Descriptor) -> Direct<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let offset = u64::try_from(bytes.len()).map_err(|_| Failed)?;
        let (more, _) = file.read(PAGE, offset).map_err(Failed::of)?;
        let ended = u64::try_from(more.len()).map_err(|_| Failed)? < PAGE;
        if bytes.is_empty() {
            bytes = more;
        } else {
            bytes.extend(more);
        }
        if ended {
            return Ok(bytes);
        }
    }
}

fn if_present<T>(answer: Result<T, ErrorCode>) -> Direct<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(ErrorCode::NoEntry | ErrorCode::NotDirectory) => Ok(None),
        Err(_) => Err(Failed),
    }
}

fn status_of(stat: DescriptorStat) -> Status {
    let modified = stat.data_modification_timestamp;
    Status {
        file_type: type_of(stat.type_),
        length: stat.size,
        modified: modified.map_or(0, |at| u128::from(at.seconds) * 1_000_000_000 + u128::from(at.nanoseconds)),
    }
}

fn type_of(kind: DescriptorType) -> Type {
    match kind {
        DescriptorType::RegularFile => Type::File,
        DescriptorType::Directory => Type::Directory,
        DescriptorType::SymbolicLink => Type::Link,
        _ => Type::Other,
    }
}
