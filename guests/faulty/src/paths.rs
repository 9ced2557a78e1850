//! Ways out of a granted directory. What was read or written is told as an error that begins with `escaped`; whether
//! something outside was touched, others see.

use std::io::Write as _;
use std::path::Path;

use drivebay_sdk::{Error, Result};

use crate::by_hand;
use crate::endless::for_a_while;

/// Rounds of the two sides of a race.
const ROUNDS: u32 = 3_000;

/// What was got is told.
pub(crate) fn got<T, E: std::fmt::Display>(what: &str, tried: std::result::Result<T, E>) -> Result<()> {
    match tried {
        Ok(_) => Err(Error::internal(format!("escaped: {what}"))),
        Err(error) => Err(Error::permission_denied(format!("kept in: {what}: {error}"))),
    }
}

/// Reads a file and tells its contents.
pub(crate) fn read(path: &str) -> Result<()> {
    match std::fs::read_to_string(path) {
        Ok(text) => Err(Error::internal(format!("escaped: {path}: {text}"))),
        Err(error) => Err(Error::permission_denied(format!("kept in: {path}: {error}"))),
    }
}

/// Opens so many files at once.
pub(crate) fn files(count: u64) -> Result<()> {
    let mut held = Vec::new();
    for n in 0..count {
        match std::fs::File::create(format!("/data/open-{n}")) {
            Ok(file) => held.push(file),
            Err(error) => return Err(Error::permission_denied(format!("kept in: {} are open: {error}", held.len()))),
        }
    }
    got("files open at once", Ok::<_, std::io::Error>(held.len()))
}

/// A file that is said to be so many mebibytes long.
pub(crate) fn far_file(mebibytes: u64) -> Result<()> {
    let file = std::fs::File::create("/data/far").map_err(|error| Error::internal(error.to_string()))?;
    got("a file of any length", file.set_len(mebibytes << 20))
}

/// Ways to write the path of a file beside the grant, and what else a path can be; each is tried for reading and writing.
pub(crate) fn tricks() -> Result<()> {
    let _ = std::fs::create_dir_all("/data/deep/er");
    // Each link leads to the one before, and the first one out.
    let mut before = "../secret".to_owned();
    for n in 0..45 {
        let name = format!("chain-{n}");
        by_hand::symlink(&before, &name);
        before = name;
    }
    by_hand::symlink(".", "here");
    by_hand::symlink("deep/er/../../..", "up");
    by_hand::symlink("up/data/up", "round");
    let _ = std::fs::hard_link("/data/trap", "/data/same-trap");
    let long = "x".repeat(255);
    let ways = [
        "/data/plain/../../secret",
        "/data//..//secret",
        "/data/./.././secret",
        "/data/deep/er/../../../secret",
        "/data/trap",
        "/data/trap/",
        "/data/trap/.",
        "/data/same-trap",
        "/data/way/secret",
        "/data/way/data/../secret",
        "/data/here/here/../../secret",
        "/data/up/secret",
        "/data/round/secret",
        "/data/chain-0",
        "/data/chain-30",
        "/data/chain-44",
        "/data/file/../../secret",
        "/data/../data/../secret",
        "/proc/self/root/etc/hostname",
        "/data/../proc/self/environ",
        "/data/fifo/../../secret",
        &format!("/data/{long}/../../secret"),
        &format!("/data/{long}x"),
        &format!("/data/{}secret", "../".repeat(2_000)),
        &format!("/data/{}", "here/".repeat(1_000)),
    ];
    for way in ways {
        if let Ok(text) = std::fs::read_to_string(way) {
            return Err(Error::internal(format!("escaped: {way}: {text}")));
        }
        let _ = std::fs::OpenOptions::new().write(true).open(way).map(|mut file| file.write_all(b"escaped"));
        let _ = std::fs::hard_link(way, "/data/taken-in");
        let _ = std::fs::rename(way, "/data/taken-in");
        let _ = std::fs::rename("/data/taken-in", way);
        let _ = std::fs::remove_file(way);
    }
    for (from, to) in [
        ("/data/deep", "/data/deep/er/in"),
        ("/data/deep", "/data/.."),
        ("/data/.", "/data/other"),
        ("/data", "/data/x"),
    ] {
        let _ = std::fs::rename(from, to);
    }
    let _ = std::fs::remove_dir("/data/.");
    let _ = std::fs::remove_dir("/data/..");
    Err(Error::permission_denied("kept in: none of them led out"))
}

/// Makes so many names in a directory, and lists them over and over.
pub(crate) fn names(count: u64) -> Result<()> {
    let failed = |error: std::io::Error| Error::internal(error.to_string());
    std::fs::create_dir_all("/data/many").map_err(failed)?;
    for n in 0..count {
        std::fs::File::create(format!("/data/many/{n}")).map_err(failed)?;
    }
    for_a_while(|| std::fs::read_dir("/data/many").map_err(failed).map(|names| names.for_each(drop)));
    Ok(())
}

/// Lists a directory so many times at once.
pub(crate) fn streams(count: u64) -> Result<()> {
    let begun = |_| std::fs::read_dir("/data").and_then(|mut names| names.next().transpose().map(|_| names));
    let held: std::io::Result<Vec<_>> = (0..count).map(begun).collect();
    got("streams open at once", held)
}

/// A hard link in the grant to what lies outside, and a look through it.
pub(crate) fn hard_link(outside: &str) -> Result<()> {
    let path = "/data/hard";
    std::fs::hard_link(outside, path).map_err(|error| Error::permission_denied(format!("kept in: {error}")))?;
    read(path)
}

/// Moves a file of the grant to where no grant is.
pub(crate) fn rename(outside: &str) -> Result<()> {
    got("a file moved out", std::fs::rename("/data/file", outside))
}

/// Makes `spot` a directory and a link to the directory above in turn.
pub(crate) fn flip() -> Result<()> {
    for _ in 0..ROUNDS {
        for name in ["plain", "way"] {
            let (there, spot) = (Path::new("/data").join(name), Path::new("/data/spot"));
            if std::fs::rename(&there, spot).is_ok() {
                let _ = std::fs::rename(spot, &there);
            }
        }
    }
    Err(Error::permission_denied("kept in: it was turned over and over"))
}

/// Looks and writes through `spot` meanwhile.
pub(crate) fn look() -> Result<()> {
    for _ in 0..ROUNDS {
        if let Ok(text) = std::fs::read_to_string("/data/spot/secret")
            && text != "plain"
        {
            return Err(Error::internal(format!("escaped: {text}")));
        }
        let _ = std::fs::write("/data/spot/taken", b"escaped");
    }
    Err(Error::permission_denied("kept in: the race was lost every time"))
}
