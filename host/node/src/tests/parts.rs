//! The small parts, each by itself: frames, mount table, options, paths, programs, turns.

use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustix::mount::MountAttrFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::helper::options::{FORBIDDEN, plan};
use crate::helper::system::programs::{Outcome, Rights, locate, run, run_within, run_without_rights};
use crate::helper::system::table::MountTable;
use crate::helper::turns::{Turns, VolumeKey};
use crate::{Access, ErrorCode, MountOption, NodeError, frames};

fn pair() -> (OwnedFd, OwnedFd) {
    let family = AddressFamily::UNIX;
    rustix::net::socketpair(family, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
}

#[test]
fn frames_of_any_size_arrive_whole_and_in_order() {
    let (ours, theirs) = pair();
    let sizes = [0, 1, 32 * 1024 - 2, 32 * 1024, 200_000, 3_000_000];
    let sender = thread::spawn(move || {
        for size in sizes {
            frames::send(&ours, &"x".repeat(size)).unwrap();
        }
    });
    for size in sizes {
        let text: String = frames::receive(&theirs).unwrap().unwrap();
        assert_eq!(text.len(), size);
    }
    sender.join().unwrap();
    assert_eq!(frames::receive::<String>(&theirs).unwrap(), None);
}

#[test]
fn the_last_words_of_a_side_that_ended_are_heard() {
    let (ours, theirs) = pair();
    frames::send(&ours, &"never read").unwrap();
    frames::send(&theirs, &"last words").unwrap();
    drop(theirs);
    assert_eq!(frames::receive::<String>(&ours).unwrap().unwrap(), "last words");
    assert_eq!(frames::receive::<String>(&ours).unwrap(), None);
}

#[test]
fn packets_that_are_no_frames_are_errors() {
    for packet in [&b"\x07{}"[..], &b"\x00not json"[..]] {
        let (ours, theirs) = pair();
        rustix::net::send(&ours, packet, rustix::net::SendFlags::empty()).unwrap();
        assert!(frames::receive::<u64>(&theirs).is_err());
    }
}

#[test]
fn the_mount_table_is_read_with_its_escapes_and_layers() {
    let table = MountTable::parse(concat!(
        "22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n",
        "30 22 7:3 / /a\\040b\\134c rw - ext4 /dev/loop3 rw,errors=continue\n",
        "31 30 7:4 /sub /a\\040b\\134c ro shared:7 master:1 - xfs /dev/loop4 ro,noquota\n",
        "nonsense\n",
    ));
    let place = "/a b\\c";
    assert_eq!(table.at(place).count(), 2);
    let top = table.topmost(place).unwrap();
    assert_eq!((top.device.as_str(), top.root.as_str()), ("7:4", "/sub"));
    assert_eq!((top.source.as_str(), top.file_system.as_str()), ("/dev/loop4", "xfs"));
    assert!(top.super_read_only);
    assert!(!table.topmost("/").unwrap().super_read_only);
    assert_eq!(table.topmost("/a"), None);
}

#[test]
fn options_become_attributes_and_parameters() {
    let options = ["noatime,nosuid".to_owned(), "data=ordered".to_owned(), "ro".to_owned()];
    let plan = plan("ext4", &options, Access::ReadWrite, &[]).unwrap();
    assert_eq!(plan.access, Access::ReadOnly);
    let attributes = MountAttrFlags::MOUNT_ATTR_NOATIME | FORBIDDEN | MountAttrFlags::MOUNT_ATTR_RDONLY;
    assert_eq!(plan.attributes, attributes);
    let given = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
    assert_eq!(plan.parameters, [given("data", "ordered"), given("errors", "remount-ro"), ("ro".to_owned(), None)]);
}

#[test]
fn an_image_does_not_say_what_becomes_of_its_errors() {
    let errors = |file_system: &str, options: &[&str]| {
        let options: Vec<_> = options.iter().map(|option| (*option).to_owned()).collect();
        let plan = plan(file_system, &options, Access::ReadWrite, &[]).unwrap();
        plan.parameters.into_iter().filter(|(name, _)| name == "errors").map(|(_, value)| value.unwrap()).collect()
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(errors("ext4", &[]), ["remount-ro"]);
    assert_eq!(errors("ext4", &["errors=continue"]), ["continue"]);
    assert_eq!((errors("xfs", &[]), errors("btrfs", &[])), (none.clone(), none));
}

#[test]
fn devices_and_set_user_id_programs_are_for_the_client_to_ask_and_the_operator_to_allow() {
    let (suid, dev) = (MountAttrFlags::MOUNT_ATTR_NOSUID, MountAttrFlags::MOUNT_ATTR_NODEV);
    let forbidden = |options: &str, allowed: &[MountOption]| {
        plan("xfs", &[options.to_owned()], Access::ReadWrite, allowed).map(|plan| plan.attributes & FORBIDDEN)
    };
    let both = [MountOption::Suid, MountOption::Dev];
    for (options, allowed, expected) in [
        ("", &both[..], suid | dev),
        ("defaults", &both, suid | dev),
        ("suid", &both, dev),
        ("suid,dev", &both, MountAttrFlags::empty()),
        ("dev", &both[1..], suid),
        ("suid,nosuid", &both, suid | dev),
        ("nosuid,nodev", &[], suid | dev),
    ] {
        assert_eq!(forbidden(options, allowed).unwrap(), expected, "{options}");
    }
    for (options, allowed) in [("suid", &[][..]), ("dev", &both[..1]), ("noatime,dev,nodev", &[])] {
        let error = forbidden(options, allowed).unwrap_err();
        assert!(error.code == ErrorCode::NotGranted && error.message.contains("mount-options"), "{options}: {error}");
    }
}

#[test]
fn a_label_of_selinux_is_for_the_client_to_ask() {
    const LABEL: &str = "system_u:object_r:container_file_t:s0:c1,c2";
    let labelled = |option: &str| {
        let plan = plan("xfs", &[option.to_owned()], Access::ReadWrite, &[])?;
        Ok::<_, NodeError>(plan.parameters.into_iter().filter_map(|(_, value)| value).collect::<Vec<_>>())
    };
    // As kubelet writes it, among others.
    assert_eq!(labelled(&format!("noatime,context=\"{LABEL}\",nouuid")).unwrap(), [LABEL]);
    assert_eq!(labelled("context=system_u:object_r:nfs_t:s0").unwrap(), ["system_u:object_r:nfs_t:s0"]);
    for wrong in
        ["context", "context=", "context=\"\"", "context=\"a b\"", "context=\"a,logdev=/dev/sda", "context=a\"b"]
    {
        assert_eq!(labelled(wrong).unwrap_err().code, ErrorCode::Invalid, "{wrong}");
    }
}

#[test]
fn options_that_are_not_listed_are_refused_without_repeating_them() {
    let refused = [
        ("ext4", "errors=panic"),
        ("ext4", "journal_path=/etc/shadow"),
        ("ext4", "data=s3cr3t"),
        ("ext4", "data"),
        ("ext4", "commit=s3cr3t"),
        ("ext4", "commit=99999999999"),
        ("ext4", "sync=1"),
        ("ext4", "compress"),
        ("xfs", "logdev=/dev/sda"),
        ("xfs", "rtdev=/dev/s3cr3t"),
        ("btrfs", "device=/dev/sda"),
        ("btrfs", "subvol=s3cr3t"),
        ("btrfs", "degraded"),
        ("btrfs", "compress=s3cr3t"),
        ("ext4", "password=s3cr3t"),
        ("ext4", "noatime,user_xattr,bind"),
    ];
    for (file_system, option) in refused {
        let error = plan(file_system, &[option.to_owned()], Access::ReadWrite, &[]).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid, "{option}");
        let name = option.split('=').next().unwrap();
        assert!(!error.message.contains("s3cr3t"), "{}", error.message);
        assert!(!error.message.contains(name) || name == "data", "{}", error.message);
    }
    let error = plan("nfs", &[], Access::ReadWrite, &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::Unsupported);
}

#[test]
fn programs_are_found_bounded_and_killed() {
    let missing = locate("drivebay-no-such-program").unwrap_err();
    assert_eq!(missing.code, ErrorCode::Unsupported);
    let failed = run("sh", &["-c", "echo s3cr3t; exit 3"]).unwrap();
    let error = failed.expect_success(&[0]).unwrap_err();
    assert_eq!(error.code, ErrorCode::Failed);
    assert!(error.message.contains("status 3") && !error.message.contains("s3cr3t"));
    failed.expect_success(&[0, 3]).unwrap();
    // More than the limit of what is kept, and more than a pipe holds.
    run("sh", &["-c", "head -c 300000 /dev/zero"]).unwrap().expect_success(&[0]).unwrap();
    let late = run_within("sh", &["-c", "sleep 600"], Duration::from_millis(100), Rights::Ours).unwrap_err();
    assert_eq!(late.code, ErrorCode::Limit);
    // Somebody else holds the output open: the program's end counts.
    let left = run("sh", &["-c", "sleep 5 & exit 0"]).unwrap();
    left.expect_success(&[0]).unwrap();
    let bare = run("env", &[]).unwrap();
    bare.expect_success(&[0]).unwrap();
}

#[test]
fn turns_serialise_one_volume_and_never_deadlock_on_several() {
    let turns = Arc::new(Turns::default());
    let key = |name: &str| VolumeKey::new("b", name);
    let first = turns.take(vec![key("v")]);
    drop(turns.take(vec![key("w")]));
    let (sender, receiver) = mpsc::channel();
    let other = Arc::clone(&turns);
    let waiting = thread::spawn(move || {
        drop(other.take(vec![key("v"), key("w")]));
        sender.send(()).unwrap();
    });
    assert!(receiver.try_recv().is_err());
    drop(turns.take(vec![VolumeKey::new("b", "w")]));
    drop(first);
    receiver.recv().unwrap();
    waiting.join().unwrap();
    let crossing: Vec<_> = [["a", "b"], ["b", "a"]]
        .into_iter()
        .cycle()
        .take(8)
        .map(|names| {
            let turns = Arc::clone(&turns);
            thread::spawn(move || {
                for _ in 0..200 {
                    drop(turns.take(names.map(|name| VolumeKey::new("b", name)).to_vec()));
                }
            })
        })
        .collect();
    for thread in crossing {
        thread.join().unwrap();
    }
}

#[test]
fn what_parses_images_has_no_right_and_gets_none() {
    let status = |pattern: &str| ["-q".to_owned(), pattern.to_owned(), "/proc/self/status".to_owned()];
    let found = |pattern: &str, run: fn(&str, &[&str]) -> Result<Outcome, NodeError>| {
        let arguments = status(pattern);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        run("grep", &arguments).unwrap().expect_success(&[0]).is_ok()
    };
    for line in ["CapEff:.0000000000000000", "CapPrm:.0000000000000000", "NoNewPrivs:.1"] {
        assert!(found(line, run_without_rights), "{line}");
    }
    if rustix::process::geteuid().is_root() {
        assert!(!found("CapEff:.0000000000000000", run), "what grows a mounted file system needs rights");
    }
}
