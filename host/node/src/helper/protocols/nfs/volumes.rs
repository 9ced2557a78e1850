//! Which file system of its server a mount shows, as the kernel's NFS client has heard it.
//!
//! Owns reading and parsing `/proc/fs/nfsfs/volumes`. It waits for no server.

use crate::error::NodeError;

const PATH: &str = "/proc/fs/nfsfs/volumes";

/// The table as of now.
pub(super) fn read() -> Result<String, NodeError> {
    std::fs::read_to_string(PATH).map_err(|error| NodeError::io(format!("reading {PATH}"), &error))
}

/// The server's number of the file system behind a device number (`0:33`), with the server's own.
pub(super) fn file_system_of(table: &str, device: &str) -> Option<(String, String)> {
    let lines = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let &[_, server, _, number, file_system, ..] = columns.as_slice() else { return None };
        (number == device).then(|| (server.to_owned(), file_system.to_owned()))
    });
    lines.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Linux 6.1: an export, and the root that it lies in.
    const TABLE: &str = "\
NV SERVER   PORT DEV          FSID                              FSC
v4 0a010001  801 0:33         6bc971ed60774c1e:b21357326e8966c3 no 
v4 0a010001  801 0:32         0:0                               no 
";

    #[test]
    fn mounts_are_told_apart_by_their_server_s_file_system() {
        let export = file_system_of(TABLE, "0:33").unwrap();
        assert_eq!(export, ("0a010001".to_owned(), "6bc971ed60774c1e:b21357326e8966c3".to_owned()));
        assert_eq!(file_system_of(TABLE, "0:32").unwrap().1, "0:0");
        for absent in ["0:3", "0:34", "DEV", ""] {
            assert_eq!(file_system_of(TABLE, absent), None, "{absent}");
        }
    }
}
