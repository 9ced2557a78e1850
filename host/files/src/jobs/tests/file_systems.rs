//! Making file systems: by the real programs, and by one that does as it is told.

use super::*;
use crate::{FileErrorCode, testing::skip};

/// Where each kind keeps its magic number and its label.
const MARKS: [(&str, u64, &[u8], u64); 3] =
    [("ext4", 0x438, &[0x53, 0xef], 0x478), ("xfs", 0, b"XFSB", 0x6c), ("btrfs", 0x1_0040, b"_BHRfS_M", 0x1_012b)];

#[test]
fn every_kind_is_made_in_its_smallest_image_with_its_label() {
    let pool = Pool::plain();
    let files = pool.files();
    let offered = files.list_file_systems().unwrap();
    if offered.len() < 3 {
        skip("a mkfs program is absent");
    }
    for kind in offered {
        let name = kind.name.as_str();
        pool.write(name, kind.minimum_bytes, &[]);
        let result = done(&files, name, make(name, name, Some("a label")));
        assert_eq!(result, JobResult { bytes: kind.minimum_bytes, checksum: String::new() });
        let (_, magic, expected, label) = MARKS.into_iter().find(|(mark, ..)| *mark == name).unwrap();
        let file = File::open(pool.host(name)).unwrap();
        let read = |offset, length| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, offset).unwrap();
            bytes
        };
        assert_eq!(read(magic, expected.len()), expected, "{name}");
        assert_eq!(read(label, 7), b"a label", "{name}");
        assert_eq!(file.metadata().unwrap().len(), kind.minimum_bytes);
        let taken = files.get_allocation(&format!("/pool/{name}")).unwrap().allocated_bytes;
        assert!(taken <= 70 * MIB, "{name} takes {taken}");
    }
}

#[test]
fn what_is_made_can_be_mounted() {
    for kind in ["ext4", "xfs", "btrfs"] {
        let pool = Pool::plain();
        pool.write("image", 320 * MIB, &[]);
        std::fs::create_dir(pool.host("mounted")).unwrap();
        done(&pool.files(), "key", make("image", kind, None));
        let (image, mounted) = (pool.host("image"), pool.host("mounted"));
        if !run("mount", &["-o", "loop", text(&image), text(&mounted)]) {
            return skip("nothing can be mounted here (root?)");
        }
        let written = std::fs::write(mounted.join("file"), "contents");
        let again = run_to_end(&pool.files(), "again", make("image", kind, None));
        assert!(run("umount", &[text(&mounted)]));
        written.unwrap();
        let busy = matches!(&again, JobState::Failed(error) if error.code == FileErrorCode::Busy);
        assert!(busy, "{again:?}");
    }
}

#[test]
fn an_image_that_is_attached_is_busy() {
    let pool = Pool::plain();
    image(&pool, "image");
    let attached = std::process::Command::new("losetup").args(["-f", "--show", text(&pool.host("image"))]).output();
    let device = attached.map(|output| String::from_utf8(output.stdout).unwrap().trim().to_owned()).unwrap_or_default();
    if device.is_empty() {
        return skip("no loop device can be attached here (root?)");
    }
    let refused = run_to_end(&pool.files(), "key", make("image", "ext4", None));
    assert!(run("losetup", &["-d", &device]));
    let busy = matches!(&refused, JobState::Failed(error) if error.code == FileErrorCode::Busy);
    assert!(busy, "{refused:?}");
}

#[test]
fn an_image_that_holds_something_is_left_alone() {
    let pool = Pool::plain();
    let files = pool.files();
    for (name, offset) in [("ext4", 0x438), ("far", 0x1_0040), ("last", 128 * 1024 - 1)] {
        pool.write(name, 4 * MIB, &[(offset, b"x")]);
        let before = pool.read(name);
        assert_eq!(failed(&files, name, make(name, "ext4", None)).code, FileErrorCode::AlreadyExists);
        assert!(pool.read(name) == before);
    }
    image(&pool, "image");
    done(&files, "first", make("image", "ext4", None));
    assert_eq!(failed(&files, "second", make("image", "ext4", None)).code, FileErrorCode::AlreadyExists);
    files.punch("/pool/image", Extent { offset: 0, length: 4 * MIB }).unwrap();
    done(&files, "third", make("image", "ext4", None));
}

#[test]
fn a_result_is_found_again_after_a_restart() {
    let pool = Pool::plain();
    image(&pool, "image");
    let first = done(&pool.files(), "key", make("image", "ext4", None));
    let made = pool.read("image");
    assert_eq!(done(&pool.files(), "key", make("image", "ext4", None)), first);
    assert!(pool.read("image") == made, "it was not made again");
    pool.files().cancel_job("key").unwrap();
    assert_eq!(pool.names(), ["image"]);
    assert!(pool.read("image") == made, "forgetting a result undoes nothing");
    assert_eq!(failed(&pool.files(), "key", make("image", "ext4", None)).code, FileErrorCode::AlreadyExists);
}

#[test]
fn what_can_never_work_is_invalid() {
    let pool = Pool::plain();
    image(&pool, "image");
    pool.write("small", 2 * MIB - 1, &[]);
    let files = pool.files();
    let long = "x".repeat(17);
    let cases = [
        (make("image", "ntfs", None), FileErrorCode::Invalid),
        (make("image", "ext4", Some("")), FileErrorCode::Invalid),
        (make("image", "ext4", Some("a\nb")), FileErrorCode::Invalid),
        (make("image", "ext4", Some(&long)), FileErrorCode::Invalid),
        (make("small", "ext4", None), FileErrorCode::Invalid),
        (make("none", "ext4", None), FileErrorCode::NotFound),
    ];
    for (number, (job, code)) in cases.into_iter().enumerate() {
        assert_eq!(failed(&files, &number.to_string(), job.clone()).code, code, "{job:?}");
    }
    let none = pool.files_with(JobLimits::default(), Programs::new(vec![]));
    assert_eq!(failed(&none, "key", make("image", "ext4", None)).code, FileErrorCode::Unsupported);
    assert_eq!(pool.left(), Vec::<String>::new());
}

#[test]
fn a_label_is_never_an_option_or_a_command() {
    let pool = Pool::plain();
    let files = pool.files();
    for (number, label) in ["-n", "--help", "$(touch x)", ";reboot"].into_iter().enumerate() {
        let name = number.to_string();
        image(&pool, &name);
        done(&files, &name, make(&name, "ext4", Some(label)));
        assert_eq!(&pool.read(&name)[0x478..0x478 + label.len()], label.as_bytes());
    }
}

#[test]
fn a_program_that_fails_is_quoted_and_its_work_undone() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    image(&pool, "image");
    let files = pool.files_with(JobLimits::default(), gate.programs());
    let job = make("image", "ext4", None);
    assert!(matches!(state(&files, "key", job.clone()), JobState::Running(_)));
    gate.wait_until_one_runs();
    assert_eq!(&pool.read("image")[..7], b"garbage");
    gate.let_one_end("badly");
    let error = failed(&files, "key", job.clone());
    assert_eq!(error.code, FileErrorCode::Failed);
    assert_eq!(error.message, "/pool/image: cannot make it in /pool/image");
    assert!(pool.read("image").iter().all(|byte| *byte == 0));
    assert_eq!(pool.names(), ["image"]);
    assert!(matches!(state(&files, "key", job.clone()), JobState::Running(_)), "told once, it starts anew");
    gate.wait_until_one_runs();
    gate.let_one_end("good");
    done(&files, "key", job);
}

#[test]
fn a_cancelled_program_is_killed_and_its_work_undone() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    image(&pool, "image");
    let files = pool.files_with(JobLimits::default(), gate.programs());
    assert!(matches!(state(&files, "key", make("image", "ext4", None)), JobState::Running(_)));
    gate.wait_until_one_runs();
    files.cancel_job("key").unwrap();
    assert_eq!(pool.names(), ["image"]);
    assert!(pool.read("image").iter().all(|byte| *byte == 0));
    // The lock is the program's too, so that it is free shows that nothing of it is left.
    let file = File::open(pool.host("image")).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
}

#[test]
fn an_interrupted_program_leaves_a_mark_and_its_key_makes_it_anew() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    image(&pool, "image");
    let limits = JobLimits { time: Duration::from_millis(300), ..JobLimits::default() };
    let files = pool.files_with(limits, gate.programs());
    let job = make("image", "ext4", None);
    assert!(matches!(state(&files, "key", job.clone()), JobState::Running(_)));
    gate.wait_until_one_runs();
    assert_eq!(failed(&files, "key", job.clone()).code, FileErrorCode::Limit);
    assert_eq!(&pool.read("image")[..7], b"garbage");
    assert_eq!(failed(&pool.files(), "other", job.clone()).code, FileErrorCode::AlreadyExists);
    done(&pool.files(), "key", job);
    assert_eq!(&pool.read("image")[0x438..0x43a], &[0x53, 0xef]);
}

#[test]
fn a_drained_program_is_killed_and_its_key_makes_it_anew() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    image(&pool, "image");
    let files = pool.files_with(JobLimits::default(), gate.programs());
    let job = make("image", "ext4", None);
    assert!(matches!(state(&files, "key", job.clone()), JobState::Running(_)));
    gate.wait_until_one_runs();
    assert_eq!(files.jobs.drain(Instant::now() + LONG), Drained::All);
    assert_eq!(pool.left().len(), 1);
    done(&pool.files(), "key", job);
}

#[test]
fn an_image_that_another_host_is_working_on_is_busy_and_left_alone() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    image(&pool, "image");
    let files = pool.files_with(JobLimits::default(), gate.programs());
    let job = make("image", "ext4", None);
    assert!(matches!(state(&files, "key", job.clone()), JobState::Running(_)));
    gate.wait_until_one_runs();
    // As after a restart: new jobs, the old program still there.
    let after = pool.files();
    assert_eq!(failed(&after, "key", job.clone()).code, FileErrorCode::Busy);
    assert_eq!(after.cancel_job("key").unwrap_err().code, FileErrorCode::Busy);
    assert_eq!(&pool.read("image")[..7], b"garbage");
    gate.let_one_end("good");
    done(&files, "key", job);
}

/// Where files may be so long, it costs a backend nothing, and mkfs would take gigabytes for the descriptions of its groups.
#[test]
fn an_image_of_petabytes_takes_no_more_memory_than_a_program_may() {
    let Some(pool) = Pool::on("tmpfs", 64) else { return };
    File::create(pool.host("image")).unwrap().set_len(4 << 50).unwrap();
    let error = failed(&pool.files(), "key", make("image", "ext4", None));
    assert_eq!(error.code, FileErrorCode::Failed);
    assert!(error.message.contains("Memory allocation failed"), "{}", error.message);
    image(&pool, "other");
    done(&pool.files(), "other", make("other", "ext4", None));
}
