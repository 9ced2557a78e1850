//! Paths that try to leave, and what grants allow.

use super::*;
use crate::testing::Pool;
use std::os::unix::fs::symlink;
use tempfile::tempdir;

fn code(directories: &Directories, path: &str, intent: Intent) -> Result<(), FileErrorCode> {
    directories.open(path, intent).map(|_| ()).map_err(|e| e.code)
}

fn grant(host: &std::path::Path, guest: &str, access: Access) -> DirectoryGrant {
    DirectoryGrant { host: host.to_owned(), guest: guest.to_owned(), write: access == Access::ReadWrite }
}

#[test]
fn plain_paths_open_in_any_spelling() {
    let pool = Pool::plain();
    std::fs::create_dir(pool.host("images")).unwrap();
    pool.write("images/a.img", 10, &[]);
    for path in ["/pool/images/a.img", "//pool//images/./a.img", "/./pool/images/a.img"] {
        assert_eq!(code(&pool.directories(), path, Intent::Write), Ok(()), "{path}");
    }
}

#[test]
fn paths_that_are_none_are_refused() {
    let pool = Pool::plain();
    pool.write("a", 10, &[]);
    let long = format!("/pool/{}", "x".repeat(256));
    let longer = format!("/pool/{}", "x/".repeat(3000));
    let cases = [
        ("", FileErrorCode::Invalid),
        ("a", FileErrorCode::Invalid),
        ("pool/a", FileErrorCode::Invalid),
        ("/pool/a\0", FileErrorCode::Invalid),
        ("/pool/a/", FileErrorCode::Invalid),
        ("/pool/a/.", FileErrorCode::Invalid),
        ("/pool", FileErrorCode::Invalid),
        ("/pool/", FileErrorCode::Invalid),
        (&long, FileErrorCode::Invalid),
        (&longer, FileErrorCode::Invalid),
        ("/pool/../pool/a", FileErrorCode::NotAllowed),
        ("/pool/..", FileErrorCode::NotAllowed),
        ("/", FileErrorCode::NotAllowed),
        ("/etc/passwd", FileErrorCode::NotAllowed),
        ("/poolx/a", FileErrorCode::NotAllowed),
        ("/pool/.drivebay-job-x", FileErrorCode::NotAllowed),
        ("/pool/missing", FileErrorCode::NotFound),
        ("/pool/a/b", FileErrorCode::NotFound),
        ("/pool/missing/b", FileErrorCode::NotFound),
    ];
    for (path, expected) in cases {
        assert_eq!(code(&pool.directories(), path, Intent::Read), Err(expected), "{path:?}");
    }
}

#[test]
fn the_longest_name_opens() {
    let pool = Pool::plain();
    let name = "x".repeat(255);
    assert_eq!(code(&pool.directories(), &format!("/pool/{name}"), Intent::Create), Ok(()));
    assert_eq!(code(&pool.directories(), &format!("/pool/{name}"), Intent::Create), Err(FileErrorCode::AlreadyExists));
    assert_eq!(pool.names(), [name]);
}

#[test]
fn links_are_never_followed() {
    let pool = Pool::plain();
    let outside = tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    std::fs::create_dir(pool.host("d")).unwrap();
    pool.write("a", 10, &[]);
    symlink(outside.path().join("secret"), pool.host("absolute")).unwrap();
    symlink("a", pool.host("relative")).unwrap();
    symlink("../a", pool.host("d/up")).unwrap();
    symlink(outside.path(), pool.host("directory")).unwrap();
    symlink("/proc/self/fd", pool.host("magic")).unwrap();
    let links = ["absolute", "relative", "d/up", "directory/secret", "magic/0"];
    for name in links {
        for intent in [Intent::Read, Intent::Write] {
            let opened = code(&pool.directories(), &format!("/pool/{name}"), intent);
            assert_eq!(opened, Err(FileErrorCode::NotAllowed), "{name}");
        }
        assert!(code(&pool.directories(), &format!("/pool/{name}"), Intent::Create).is_err(), "{name}");
    }
    assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
}

#[test]
fn a_hard_link_within_the_grant_is_a_file_like_any_other() {
    let pool = Pool::plain();
    pool.write("a", 10, &[]);
    std::fs::hard_link(pool.host("a"), pool.host("b")).unwrap();
    assert_eq!(code(&pool.directories(), "/pool/b", Intent::Write), Ok(()));
}

#[test]
fn only_regular_files_open_and_a_fifo_does_not_block() {
    let pool = Pool::plain();
    std::fs::create_dir(pool.host("d")).unwrap();
    assert!(crate::testing::run("mkfifo", &[pool.host("fifo").to_str().unwrap()]));
    for name in ["/pool/d", "/pool/fifo"] {
        for intent in [Intent::Read, Intent::Write] {
            assert_eq!(code(&pool.directories(), name, intent), Err(FileErrorCode::Invalid), "{name}");
        }
    }
}

#[test]
fn the_nearest_grant_decides() {
    let (outer, inner) = (tempdir().unwrap(), tempdir().unwrap());
    std::fs::create_dir(outer.path().join("base")).unwrap();
    std::fs::write(outer.path().join("base/a"), "outer").unwrap();
    std::fs::write(inner.path().join("a"), "inner").unwrap();
    let grants =
        [grant(outer.path(), "/pool", Access::ReadWrite), grant(inner.path(), "/pool/base/", Access::ReadOnly)];
    let directories = Directories::new(&grants).unwrap();
    let read = |path| std::io::read_to_string(directories.open(path, Intent::Read).unwrap()).unwrap();
    assert_eq!(read("/pool/base/a"), "inner");
    assert_eq!(code(&directories, "/pool/base/a", Intent::Write), Err(FileErrorCode::NotAllowed));
    assert_eq!(code(&directories, "/pool/base/b", Intent::Create), Err(FileErrorCode::NotAllowed));
    assert_eq!(code(&directories, "/pool/b", Intent::Create), Ok(()));
}

#[test]
fn a_grant_of_the_root_covers_everything_below() {
    let directory = tempdir().unwrap();
    std::fs::write(directory.path().join("a"), "x").unwrap();
    let directories = Directories::new(&[grant(directory.path(), "/", Access::ReadOnly)]).unwrap();
    assert_eq!(code(&directories, "/a", Intent::Read), Ok(()));
    assert_eq!(code(&directories, "/b", Intent::Read), Err(FileErrorCode::NotFound));
}

#[test]
fn without_grants_everything_is_not_granted() {
    let none = Directories::new(&[]).unwrap();
    assert_eq!(code(&none, "/pool/a", Intent::Read), Err(FileErrorCode::NotGranted));
}

#[test]
fn one_guest_path_is_granted_once() {
    let directory = tempdir().unwrap();
    let twice =
        [grant(directory.path(), "/pool", Access::ReadOnly), grant(directory.path(), "/pool/", Access::ReadWrite)];
    assert_eq!(Directories::new(&twice).unwrap_err().code, FileErrorCode::Invalid);
}

#[test]
fn words_name_no_path_of_the_host() {
    let pool = Pool::plain();
    let host = pool.host("").to_str().unwrap().to_owned();
    for path in ["/pool/missing", "/pool/../x", "/pool/a\nb", "/pool"] {
        let error = pool.directories().open(path, Intent::Read).unwrap_err();
        assert!(!error.message.contains(host.trim_end_matches('/')), "{error}");
        assert!(!error.message.contains('\n'), "{error:?}");
    }
    let gone = grant(std::path::Path::new("/nowhere/at/all"), "/pool", Access::ReadOnly);
    assert!(!Directories::new(&[gone]).unwrap_err().message.contains("nowhere"));
}

#[test]
fn a_granted_directory_is_looked_for_every_time() {
    let parent = tempdir().unwrap();
    let (old, new) = (parent.path().join("old"), parent.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    let directories = Directories::new(&[grant(&old, "/pool", Access::ReadWrite)]).unwrap();
    std::fs::rename(&old, &new).unwrap();
    assert_eq!(code(&directories, "/pool/a", Intent::Create), Err(FileErrorCode::NotFound));
    // A link there is not the operator's: those were followed at the start.
    symlink(&new, &old).unwrap();
    assert!(code(&directories, "/pool/a", Intent::Create).is_err());
    std::fs::remove_file(&old).unwrap();
    std::fs::create_dir(&old).unwrap();
    assert_eq!(code(&directories, "/pool/a", Intent::Create), Ok(()));
    assert!(old.join("a").exists() && !new.join("a").exists());
}

#[test]
fn the_operators_own_links_are_followed_at_the_start() {
    let parent = tempdir().unwrap();
    let (real, link) = (parent.path().join("real"), parent.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    let directories = Directories::new(&[grant(&link, "/pool", Access::ReadWrite)]).unwrap();
    assert_eq!(code(&directories, "/pool/a", Intent::Create), Ok(()));
    assert!(real.join("a").exists());
}

/// Unmounts it when it is dropped.
struct Mounted<'a>(&'a std::path::Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        crate::testing::run("umount", &[self.0.to_str().unwrap()]);
    }
}

#[test]
fn what_is_mounted_there_later_is_not_taken_for_a_disk_of_this_machine() {
    let pool = Pool::plain();
    let directories = pool.directories();
    directories.can_do_without(&["/pool".to_owned()]).unwrap();
    let root = || directories.roots(View::Full, &OpenFiles::new(16)).pop().unwrap();
    let is_ready = |root: &Root| root.directory(Patience::Cached).is_ok() && root.guard().is_none();
    directories.open("/pool/a", Intent::Create).unwrap();
    // Other tests mount, too.
    let becomes_ready = || (0..1_000).any(|_| directories.open("/pool/a", Intent::Read).is_ok() && is_ready(&root()));
    assert!(becomes_ready());
    // Of a file system of which the kernel cannot tell what would wait.
    if !crate::testing::run("mount", &["-t", "proc", "proc", pool.host("").to_str().unwrap()]) {
        crate::testing::skip("nothing can be mounted here (root?)");
        return;
    }
    let place = pool.host("");
    let mounted = Mounted(&place);
    for _ in 0..2 {
        assert_eq!(root().directory(Patience::Cached).unwrap_err(), OpError::Waits);
        assert!(root().guard().is_some());
        // What was found there does not change that.
        assert!(directories.open("/pool/version", Intent::Read).is_ok());
    }
    drop(mounted);
    assert!(root().guard().is_some(), "nobody has looked");
    assert!(becomes_ready());
}
