//! Sizes, times and socket addresses as operators write them.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest path a Unix socket can have (`sun_path` holds 108 bytes with its end).
pub const SOCKET_PATH: usize = 107;

/// Reads `64MiB`, `4GB`, `1024`.
///
/// # Errors
/// Words that say what is expected.
pub fn size(text: &str) -> Result<u64, String> {
    text.parse::<bytesize::ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| format!("\"{text}\" is not a size; write for example \"64MiB\""))
}

/// Reads `30s`, `500ms`, `2m`.
///
/// # Errors
/// Words that say what is expected.
pub fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| format!("\"{text}\" is not a time; write for example \"30s\""))
}

/// Reads `unix:///run/x.sock` or an absolute path.
///
/// # Errors
/// When it is no Unix socket, not absolute, or longer than the kernel allows.
pub fn socket(text: &str) -> Result<PathBuf, String> {
    let path = text.strip_prefix("unix://").or_else(|| text.strip_prefix("unix:")).unwrap_or(text);
    if path.contains("://") {
        return Err(format!("\"{text}\" is not a Unix socket; write unix:///path/to/csi.sock"));
    }
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err(format!("\"{text}\" must be an absolute path, as in unix:///run/csi.sock"));
    }
    let length = path.as_os_str().as_bytes().len();
    if length > SOCKET_PATH {
        return Err(format!(
            "the socket path has {length} bytes and the kernel allows {SOCKET_PATH}; choose a shorter one: {text}"
        ));
    }
    Ok(path.to_owned())
}

/// The digest of a component: `sha256:` and 64 hexadecimal digits. Gives the digits in lower case.
///
/// # Errors
/// What to write instead.
pub fn digest(text: &str) -> Result<String, String> {
    let digits =
        text.strip_prefix("sha256:").filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    digits.map(str::to_ascii_lowercase).ok_or_else(|| "write sha256: and 64 hexadecimal digits".to_owned())
}
