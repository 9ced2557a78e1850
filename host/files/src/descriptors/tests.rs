//! What the engine's own implementation does not have to show: what is refused, what does not wait, what is counted.
//! That everything else is as there is shown in `sandbox`, which has both.

use super::*;
use crate::{Access, Directories, DirectoryGrant, View};
use rustix::fs::{CWD, FileType, Mode};
use std::{os::unix::fs::symlink, path::Path};

/// Reading, and following links.
const READ: Opening = Opening {
    follow: true,
    create: false,
    exclusive: false,
    truncate: false,
    directory: false,
    read: true,
    write: false,
};

fn root_at(host: &Path, access: Access, open_files: &OpenFiles) -> Root {
    let grant = DirectoryGrant { host: host.to_owned(), guest: "/pool".into(), write: access == Access::ReadWrite };
    Directories::new(&[grant]).unwrap().roots(View::Full, open_files).pop().unwrap()
}

fn root(host: &Path) -> Root {
    root_at(host, Access::ReadWrite, &OpenFiles::new(64))
}

fn open(root: &Root, path: &str, how: Opening) -> OpResult<Opened> {
    root.directory(Patience::Any)?.open(path, how, Patience::Any)
}

#[test]
fn a_fifo_a_socket_and_a_device_are_refused_at_once() {
    let pool = tempfile::tempdir().unwrap();
    rustix::fs::mknodat(CWD, pool.path().join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(pool.path().join("socket")).unwrap();
    let zero = rustix::fs::makedev(1, 5);
    let device = rustix::fs::mknodat(CWD, pool.path().join("zero"), FileType::CharacterDevice, Mode::RWXU, zero);
    let root = root(pool.path());
    for name in ["fifo", "socket", "zero"] {
        if name == "zero" && device.is_err() {
            println!("skipped: no device can be made here (root?)");
            continue;
        }
        for write in [false, true] {
            let opened = open(&root, name, Opening { write, ..READ });
            assert!(matches!(opened, Err(OpError::Refused(Errno::NOTSUP))), "{name}, {write}: {opened:?}");
        }
    }
}

#[test]
fn nothing_leads_out() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let pool = outside.path().join("pool");
    std::fs::create_dir_all(pool.join("sub")).unwrap();
    symlink("../secret", pool.join("relative")).unwrap();
    symlink(outside.path().join("secret"), pool.join("absolute")).unwrap();
    symlink("..", pool.join("sub/up")).unwrap();
    symlink("/proc/self/root", pool.join("magic")).unwrap();
    let root = root(&pool);
    for path in
        ["../secret", "relative", "absolute", "sub/up/../secret", "/etc/passwd", "sub/../../secret", "magic/etc/passwd"]
    {
        let opened = open(&root, path, READ);
        assert!(matches!(opened, Err(OpError::Refused(Errno::PERM))), "{path}: {opened:?}");
    }
    assert!(open(&root, "sub/up/sub", READ).is_ok(), "a link that stays beneath is followed");
    let directory = root.directory(Patience::Any).unwrap();
    for change in [
        directory.unlink("../secret"),
        directory.rename("../secret", directory, "taken"),
        directory.link("../secret", false, directory, "taken"),
        directory.create_directory("sub/up/../made"),
        directory.set_times_at("relative", true, NewTime::Now, NewTime::Now),
        directory.symlink("/etc", "absolute-link"),
        directory.read_link("absolute").map(drop),
    ] {
        assert_eq!(change, Err(OpError::Refused(Errno::PERM)));
    }
}

/// The first of the 62 attacks: with a directory above granted as well, a guest puts a link where a granted directory was.
#[test]
fn a_link_in_the_place_of_a_granted_directory_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let pool = outside.path().join("outer/inner");
    std::fs::create_dir_all(&pool).unwrap();
    std::fs::create_dir(outside.path().join("foreign")).unwrap();
    let root = root(&pool);
    std::fs::rename(&pool, outside.path().join("outer/moved")).unwrap();
    symlink("../foreign", &pool).unwrap();
    for patience in [Patience::Cached, Patience::Any] {
        let opened = root.directory(patience).map(drop);
        let refused = matches!(opened, Err(OpError::Absent(_)))
            || (patience == Patience::Cached && opened == Err(OpError::Waits));
        assert!(refused, "{patience:?}: {opened:?}");
    }
}

#[test]
fn what_is_cached_needs_no_wait_and_what_changes_does() {
    let pool = tempfile::tempdir().unwrap();
    std::fs::write(pool.path().join("file"), "contents").unwrap();
    let root = root(pool.path());
    // Whatever the kernel did not have, it has now.
    assert!(open(&root, "file", READ).is_ok());
    let directory = root.directory(Patience::Cached).unwrap();
    if !super::is_local(std::fs::File::open(pool.path()).unwrap()) {
        println!("skipped: temporary files are on no file system of this machine");
        return;
    }
    let Ok(Opened::File(file)) = directory.open("file", READ, Patience::Cached) else { panic!("it is cached") };
    let mut buffer = [0; 16];
    match file.read(&mut buffer, 0, Patience::Cached) {
        Ok(count) => assert_eq!(&buffer[..count], b"contents"),
        // Not every file system can tell.
        waits => assert_eq!(waits, Err(OpError::Waits)),
    }
    assert_eq!(directory.stat_at("file", true, Patience::Cached).unwrap().size, 8);
    let create = Opening { create: true, ..READ };
    assert!(matches!(directory.open("new", create, Patience::Cached), Err(OpError::Waits)));
    assert!(!pool.path().join("new").exists());
}

#[test]
fn descriptors_are_counted_and_given_back() {
    let pool = tempfile::tempdir().unwrap();
    std::fs::write(pool.path().join("file"), "").unwrap();
    let open_files = OpenFiles::new(3);
    let root = root_at(pool.path(), Access::ReadWrite, &open_files);
    let one = open(&root, "file", READ).unwrap();
    let entries = root.directory(Patience::Any).unwrap().entries().unwrap();
    assert_eq!(open_files.open(), 3, "the granted directory, the file and the stream");
    assert!(matches!(open(&root, "file", READ), Err(OpError::Refused(Errno::NOMEM))));
    drop((one, entries));
    assert_eq!(open_files.open(), 1);
    assert!(open(&root, "file", READ).is_ok());
    drop(root);
    assert_eq!(open_files.open(), 0);
}

#[test]
fn a_stream_holds_a_page_of_a_directory_and_tells_all_of_it() {
    let pool = tempfile::tempdir().unwrap();
    let names: std::collections::BTreeSet<_> = (0..3000).map(|n| format!("a-name-of-some-length-{n}")).collect();
    for name in &names {
        std::fs::write(pool.path().join(name), "").unwrap();
    }
    let mut entries = root(pool.path()).directory(Patience::Any).unwrap().entries().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let mut most = 0;
    while let Some(entry) = entries.read_on().unwrap() {
        most = most.max(entries.memory());
        assert_eq!(entry.kind, Kind::Regular);
        assert!(seen.insert(entry.name.unwrap()));
    }
    assert_eq!(seen, names);
    assert!(most > 0 && most <= Entries::MEMORY, "{most} bytes");
}

#[test]
fn nothing_changes_where_only_reading_is_granted() {
    let pool = tempfile::tempdir().unwrap();
    std::fs::write(pool.path().join("file"), "contents").unwrap();
    let root = root_at(pool.path(), Access::ReadOnly, &OpenFiles::new(8));
    let directory = root.directory(Patience::Any).unwrap();
    let Ok(Opened::File(file)) = open(&root, "file", READ) else { panic!("reading is granted") };
    for change in [
        open(&root, "file", Opening { write: true, ..READ }).map(drop),
        open(&root, "new", Opening { create: true, ..READ }).map(drop),
        open(&root, "file", Opening { truncate: true, ..READ }).map(drop),
        directory.create_directory("new"),
        directory.remove_directory("new"),
        directory.unlink("file"),
        directory.rename("file", directory, "other"),
        directory.link("file", false, directory, "other"),
        directory.symlink("file", "other"),
        directory.set_times(NewTime::Now, NewTime::Now),
        directory.set_times_at("file", true, NewTime::Now, NewTime::Now),
        file.write(b"x", 0).map(drop),
        file.append(b"x").map(drop),
        file.set_size(0),
        file.set_times(NewTime::Now, NewTime::Now),
    ] {
        assert_eq!(change, Err(OpError::Refused(Errno::PERM)));
    }
    assert_eq!(std::fs::read(pool.path().join("file")).unwrap(), b"contents");
}
