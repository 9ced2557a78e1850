//! Why work on files was not done: one code of the contract and words for the operator.
//!
//! Owns the mapping of system errors to codes and must not name a path of the host: a component
//! reads these words, so they speak of its own paths only.

use rustix::io::Errno;

/// The most characters of a path that are shown: what a component calls a path may be megabytes long.
const SHOWN: usize = 512;

/// What a refusal means to the component; one to one the contract's codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileErrorCode {
    /// The operator granted no directory.
    NotGranted,
    /// The path lies outside of what was granted, or the grant is read-only.
    NotAllowed,
    /// There is no such file.
    NotFound,
    /// The target, or a file system in the image, exists.
    AlreadyExists,
    /// The arguments can never work.
    Invalid,
    /// In use, or the job's key is doing something else.
    Busy,
    /// The host or the file system cannot do it.
    Unsupported,
    /// The file system is full.
    NoSpace,
    /// Nothing may change before the generation is active.
    ReadOnly,
    /// A limit of the backend is reached.
    Limit,
    /// The system refused it.
    Failed,
}

/// A refusal: the code, and words that name guest paths only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FileError {
    /// What it means.
    pub code: FileErrorCode,
    /// For the log and the operator.
    pub message: String,
}

impl FileError {
    /// A refusal in the host's own words.
    pub(super) fn new(code: FileErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A refusal that concerns `path`, which is escaped and cut because the guest chose it.
    pub(super) fn at(code: FileErrorCode, path: &str, words: &str) -> Self {
        Self::new(code, format!("{}: {words}", shown(path)))
    }

    /// What the system answered while `doing` something to `path`.
    pub(super) fn system(errno: Errno, doing: &str, path: &str) -> Self {
        Self::at(code_of(errno), path, &format!("cannot {doing}: {}", words_of(errno)))
    }

    /// As [`Self::system`], for what the standard library reports.
    pub(super) fn io(error: &std::io::Error, doing: &str, path: &str) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => Self::system(errno, doing, path),
            None => Self::at(FileErrorCode::Failed, path, &format!("cannot {doing}: {error}")),
        }
    }

    /// What the system answered to opening `path` beneath its grant. A link and a way out have
    /// codes of their own there: the kernel says `ELOOP` and `EXDEV`.
    pub(super) fn opening(errno: Errno, path: &str) -> Self {
        match errno {
            Errno::LOOP => Self::at(FileErrorCode::NotAllowed, path, "links are not followed"),
            Errno::XDEV => Self::at(FileErrorCode::NotAllowed, path, "leads out of the granted directory"),
            other => Self::system(other, "open", path),
        }
    }
}

/// A path as it stands in a message.
pub(super) fn shown(path: &str) -> String {
    let mut rest = path.chars();
    let mut text: String = rest.by_ref().take(SHOWN).flat_map(char::escape_debug).collect();
    text.extend(rest.next().map(|_| '…'));
    text
}

fn words_of(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}

fn code_of(errno: Errno) -> FileErrorCode {
    match errno {
        Errno::NOSPC | Errno::DQUOT => FileErrorCode::NoSpace,
        Errno::NOENT | Errno::NOTDIR => FileErrorCode::NotFound,
        Errno::EXIST => FileErrorCode::AlreadyExists,
        Errno::INVAL | Errno::NAMETOOLONG | Errno::ISDIR => FileErrorCode::Invalid,
        Errno::BUSY | Errno::TXTBSY | Errno::AGAIN => FileErrorCode::Busy,
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOTTY | Errno::FBIG | Errno::XDEV => FileErrorCode::Unsupported,
        _ => FileErrorCode::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_escaped_and_cut() {
        let said = |path: &str| FileError::at(FileErrorCode::Invalid, path, "no path").message;
        assert_eq!(said("/a\nb"), "/a\\nb: no path");
        assert_eq!(said(&"x".repeat(SHOWN)), format!("{}: no path", "x".repeat(SHOWN)));
        assert_eq!(said(&"\n".repeat(10_000_000)), format!("{}…: no path", "\\n".repeat(SHOWN)));
    }
}
