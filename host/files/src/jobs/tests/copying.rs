//! Copying: contents, holes, ranges, checksums, and going on after every kind of end.

use super::*;
use crate::FileErrorCode;
use std::os::unix::process::ExitStatusExt;

/// Tells the copy of this test binary that it is to be killed, and where.
const CHILD: &str = "DRIVEBAY_TEST_COPY_IN";

#[test]
fn a_copy_equals_its_source_and_keeps_its_holes() {
    let pool = Pool::plain();
    let pieces: [(u64, &[u8]); 3] = [(0, &noise(5000, 1)), (9 * MIB + 3, &noise(3_000_000, 2)), (30 * MIB, b"x")];
    pool.write("a", 40 * MIB + 17, &pieces);
    let files = pool.files();
    let result = done(&files, "key", copy("a", "b", &[]));
    assert_eq!(result.bytes, 40 * MIB + 17);
    assert!(pool.read("a") == pool.read("b"));
    assert!(files.get_allocation("/pool/b").unwrap().allocated_bytes < 5 * MIB);
    files.cancel_job("key").unwrap();
    assert_eq!(pool.names(), ["a", "b"]);
}

#[test]
fn an_empty_file_is_copied_too() {
    let pool = Pool::plain();
    pool.write("a", 0, &[]);
    assert_eq!(done(&pool.files(), "key", copy("a", "b", &[])).bytes, 0);
    assert_eq!(pool.read("b"), b"");
}

#[test]
fn a_whole_copy_makes_an_existing_target_equal() {
    let pool = Pool::plain();
    for (source, target) in [(4 * MIB, 9 * MIB), (9 * MIB, 4 * MIB)] {
        pool.write("a", source, &[(MIB, &noise(5000, 1))]);
        pool.write("b", target, &[(0, &noise(1 << 20, 2)), (3 * MIB, &noise(1 << 20, 3))]);
        done(&pool.files(), "key", copy("a", "b", &[]));
        assert!(pool.read("a") == pool.read("b"));
        pool.files().cancel_job("key").unwrap();
    }
}

#[test]
fn ranges_go_to_the_same_offsets_and_nothing_else_changes() {
    let pool = Pool::plain();
    let (source, target) = (noise(4 << 20, 1), noise(3 << 20, 2));
    pool.write("a", 8 * MIB, &[(0, &source)]);
    pool.write("b", 3 * MIB, &[(0, &target)]);
    let ranges = [(2 * MIB + 1, 2 * MIB), (100, 50), (120, 100), (5 * MIB, 4096)];
    let result = done(&pool.files(), "key", copy("a", "b", &ranges));
    assert_eq!(result.bytes, 120 + 2 * MIB + 4096);
    let mut expected = target.clone();
    expected.resize(usize::try_from(5 * MIB + 4096).unwrap(), 0);
    expected[100..220].copy_from_slice(&source[100..220]);
    let tail = (2 << 20) + 1..(4 << 20) + 1;
    let whole = pool.read("a");
    expected[tail.clone()].copy_from_slice(&whole[tail]);
    assert!(pool.read("b") == expected);
}

#[test]
fn a_new_target_of_ranges_is_as_long_as_the_source() {
    let pool = Pool::plain();
    pool.write("a", 8 * MIB, &[(0, &noise(8 << 20, 1))]);
    done(&pool.files(), "key", copy("a", "b", &[(MIB, 4096)]));
    let copied = pool.read("b");
    assert_eq!(copied.len(), 8 << 20);
    assert!(copied[1 << 20..(1 << 20) + 4096] == pool.read("a")[1 << 20..(1 << 20) + 4096]);
    assert!(copied[..1 << 20].iter().chain(&copied[(1 << 20) + 4096..]).all(|byte| *byte == 0));
}

#[test]
fn applying_the_differences_by_a_job_gives_the_target() {
    let Some(pool) = Pool::on("xfs", 320) else {
        return;
    };
    let files = pool.files();
    pool.write("target", 16 * MIB, &[(0, &noise(16 << 20, 1))]);
    files.reflink("/pool/target", "/pool/base").unwrap();
    done(&files, "old", copy("base", "old", &[]));
    let file = OpenOptions::new().write(true).open(pool.host("target")).unwrap();
    file.write_all_at(&noise(100_000, 2), 5 * MIB + 5).unwrap();
    file.sync_all().unwrap();
    let found = files.list_differences("/pool/base", "/pool/target", 0, 100).unwrap().page.extents;
    let ranges: Vec<_> = found.iter().map(|extent| (extent.offset, extent.length)).collect();
    let result = done(&files, "key", copy("target", "old", &ranges));
    assert!(result.bytes < 200_000, "{result:?}");
    assert!(pool.read("old") == pool.read("target"));
}

#[test]
fn the_checksum_tells_contents_and_nothing_else() {
    let (pool, content) = (Pool::plain(), noise(3 << 20, 1));
    let zeros = vec![0; 4 << 20];
    // The same bytes, with holes, without, and in a file with blocks set aside.
    pool.write("holes", 8 * MIB, &[(MIB + 7, &content)]);
    pool.write("zeros", 8 * MIB, &[(0, &zeros), (4 * MIB, &zeros), (MIB + 7, &content)]);
    pool.write("reserved", 8 * MIB, &[(MIB + 7, &content)]);
    let files = pool.files();
    files.reserve("/pool/reserved", Extent { offset: 0, length: 8 * MIB }).unwrap();
    let sum = |source: &str, ranges: &[(u64, u64)]| {
        let key = format!("{source}{ranges:?}");
        done(&files, &key, copy(source, &format!("{key}.copy"), ranges)).checksum
    };
    let whole = sum("holes", &[]);
    assert_eq!((whole.len(), &sum("zeros", &[]), &sum("reserved", &[])), (64, &whole, &whole));
    assert_eq!(sum("holes[].copy", &[]), whole, "the copy of a copy");
    assert_eq!(sum("holes", &[(0, 8 * MIB)]), whole, "all of it as one range");
    let part = sum("holes", &[(MIB, 12_345)]);
    assert_eq!(part, sum("zeros", &[(MIB, 12_345)]));
    assert_eq!(part, sum("zeros", &[(MIB + 5000, 7345), (MIB, 5000)]), "ranges that touch are one");
    assert_ne!(part, whole);
    assert_ne!(part, sum("zeros", &[(MIB + 1, 12_345)]));
}

#[test]
fn the_checksum_is_the_same_on_small_blocks() {
    let (pool, Some(small)) = (Pool::plain(), Pool::on("ext4", 32)) else {
        return;
    };
    // Below 512 MiB this file system has blocks of 1 KiB, so its data begin where others' do not.
    let sum = |pool: &Pool| {
        pool.write("a", MIB, &[(5 * 1024, &noise(3 * 1024, 1)), (100 * 1024 + 5, b"x")]);
        let first = pool.files().list_allocated("/pool/a", 0, 1).unwrap().extents[0].offset;
        (first, done(&pool.files(), "key", copy("a", "b", &[])).checksum)
    };
    let (on_small, on_plain) = (sum(&small), sum(&pool));
    assert_eq!(on_small.0, 5 * 1024);
    assert_eq!(on_small.1, on_plain.1);
    assert!(small.read("a") == small.read("b"));
}

#[test]
fn the_checksum_is_the_one_that_is_documented() {
    use sha2::{Digest, Sha256};
    let pool = Pool::plain();
    pool.write("a", 10_000, &[(5000, b"x")]);
    let mut expected = Sha256::new();
    for number in [0_u64, 10_000, 4096, 4096] {
        expected.update(number.to_le_bytes());
    }
    expected.update(&pool.read("a")[4096..8192]);
    let sum = done(&pool.files(), "key", copy("a", "b", &[])).checksum;
    assert_eq!(sum, hex::encode(expected.finalize()));
}

#[test]
fn what_cannot_be_copied_fails_and_leaves_nothing() {
    let pool = Pool::plain();
    pool.write("a", MIB, &[(0, &noise(1 << 20, 1))]);
    std::fs::hard_link(pool.host("a"), pool.host("same")).unwrap();
    std::os::unix::fs::symlink("a", pool.host("link")).unwrap();
    let files = pool.files();
    let before = pool.names();
    let cases = [
        (copy("none", "b", &[]), FileErrorCode::NotFound),
        (copy("a", "none/b", &[]), FileErrorCode::NotFound),
        (copy("a", "a", &[]), FileErrorCode::Invalid),
        (copy("a", "same", &[]), FileErrorCode::Invalid),
        (copy("a", "link", &[]), FileErrorCode::NotAllowed),
        (copy("link", "b", &[]), FileErrorCode::NotAllowed),
        (copy("a", "b", &[(MIB, 1)]), FileErrorCode::Invalid),
        (copy("a", "b", &[(0, 0)]), FileErrorCode::Invalid),
        (copy("a", "b", &[(u64::MAX, 2)]), FileErrorCode::Invalid),
    ];
    for (number, (job, code)) in cases.into_iter().enumerate() {
        assert_eq!(failed(&files, &number.to_string(), job.clone()).code, code, "{job:?}");
        assert_eq!(pool.names(), before, "{job:?}");
    }
    let outside = Job::Copy(CopyJob { source: "/pool/a".into(), target: "/other/b".into(), ranges: vec![] });
    let refused = files.run_job("key", outside, LONG, Origin::default()).unwrap_err();
    assert_eq!(refused.code, FileErrorCode::NotAllowed);
}

#[test]
fn a_full_disk_fails_and_gives_back_what_it_took() {
    let Some(pool) = Pool::on("tmpfs", 16) else {
        return;
    };
    pool.write("a", 10 * MIB, &[(0, &noise(10 << 20, 1))]);
    let files = pool.files();
    let before = files.get_space("/pool").unwrap().available_bytes;
    assert_eq!(failed(&files, "key", copy("a", "b", &[])).code, FileErrorCode::NoSpace);
    assert_eq!(pool.names(), ["a"]);
    assert_eq!(files.get_space("/pool").unwrap().available_bytes, before);
    assert_eq!(failed(&files, "key", copy("a", "b", &[])).code, FileErrorCode::NoSpace, "it starts anew");
}

/// The first part of the next test, in a process of its own: it kills itself in the middle.
fn copy_and_be_killed(place: &str) -> ! {
    let grant = crate::DirectoryGrant { host: place.into(), guest: "/pool".into(), write: true };
    let jobs = Jobs::new("test", every_step(), Programs::system());
    let files = Files::new(
        Directories::new(&[grant]).unwrap(),
        jobs,
        crate::descriptors::OpenFiles::new(16),
        crate::View::Full,
    );
    loop {
        match files.run_job("key", copy("a", "b", &[]), Duration::from_millis(1), Origin::default()).unwrap() {
            JobState::Running(progress) if progress.done_bytes < 8 * MIB => {}
            JobState::Running(_) => {
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
            }
            ended @ (JobState::Done(_) | JobState::Failed(_)) => {
                panic!("ended before it was killed: {ended:?}")
            }
        }
    }
}

fn every_step() -> JobLimits {
    JobLimits { checkpoint_bytes: 1, ..JobLimits::default() }
}

#[test]
fn a_copy_goes_on_after_the_host_was_killed() {
    if let Ok(place) = std::env::var(CHILD) {
        copy_and_be_killed(&place);
    }
    for existing in [false, true] {
        let (pool, name) = killed_copy(existing);
        let position = position(&pool);
        assert!((7 * MIB..64 * MIB).contains(&position), "{position}");
        assert_eq!(pool.host("b").exists(), existing, "no half target gets the name");
        // A mark in what is done already shows that it is not done again.
        let part = OpenOptions::new().write(true).open(pool.host(&name)).unwrap();
        part.write_all_at(b"mark", 0).unwrap();
        let result = done(&pool.files(), "key", copy("a", "b", &[]));
        let copied = pool.read("b");
        assert_eq!(&copied[..4], b"mark");
        assert!(copied[4..] == pool.read("a")[4..]);
        let fresh = done(&pool.files(), "other", copy("a", "c", &[]));
        assert_eq!(result, fresh, "the checksum does not tell that it was interrupted");
        assert_eq!(done(&pool.files(), "key", copy("a", "b", &[])), result, "after a restart too");
        pool.files().cancel_job("key").unwrap();
        pool.files().cancel_job("other").unwrap();
        assert_eq!(pool.names(), ["a", "b", "c"]);
    }
}

/// A pool in which a copy of `a` to `b` was killed, and the name of the file that it was writing.
fn killed_copy(existing: bool) -> (Pool, String) {
    let pool = Pool::plain();
    pool.write("a", 64 * MIB, &[(0, &noise(50 << 20, 1))]);
    if existing {
        pool.write("b", 70 * MIB, &[(60 * MIB, &noise(10 << 20, 2))]);
    }
    let test = format!("{}::a_copy_goes_on_after_the_host_was_killed", module_path!().split_once("::").unwrap().1);
    let killed = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(CHILD, pool.host(""))
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
    let part = pool.left().into_iter().find(|name| name.contains(".part"));
    (pool, part.unwrap_or_else(|| "b".to_owned()))
}

fn position(pool: &Pool) -> u64 {
    let journal: serde_json::Value = serde_json::from_slice(&pool.read(&journal(pool))).unwrap();
    journal["state"]["copying"]["position"].as_u64().unwrap()
}

fn journal(pool: &Pool) -> String {
    pool.left().into_iter().find(|name| !name.contains(".part") && !name.contains(".new")).unwrap()
}

#[test]
fn a_killed_copy_starts_anew_when_its_source_has_changed() {
    let (pool, _) = killed_copy(false);
    OpenOptions::new().write(true).open(pool.host("a")).unwrap().write_all_at(b"changed", 5).unwrap();
    done(&pool.files(), "key", copy("a", "b", &[]));
    assert!(pool.read("a") == pool.read("b"));
    assert_eq!(pool.left().len(), 1, "the result's journal");
}

#[test]
fn a_killed_copy_can_be_cancelled_by_its_key_alone() {
    let (pool, _) = killed_copy(false);
    let left = pool.left();
    assert!(left.len() >= 2, "a part and a journal, perhaps its next version: {left:?}");
    pool.files().cancel_job("other").unwrap();
    assert_eq!(pool.left(), left);
    pool.files().cancel_job("key").unwrap();
    assert_eq!(pool.names(), ["a"]);
}

/// A power failure may lose what was only noted: the beginning and the result.
#[test]
fn a_journal_that_is_lost_or_damaged_costs_another_copy_and_no_more() {
    let pool = Pool::plain();
    pool.write("a", 3 * MIB, &[(0, &noise(3 << 20, 1))]);
    let result = done(&pool.files(), "key", copy("a", "b", &[]));
    for left in ["", "{\"version\":1,\"job\":"] {
        std::fs::write(pool.host(&journal(&pool)), left).unwrap();
        assert_eq!(done(&pool.files(), "key", copy("a", "b", &[])), result, "{left:?}");
        assert!(pool.read("a") == pool.read("b"));
    }
    std::fs::remove_file(pool.host(&journal(&pool))).unwrap();
    assert_eq!(done(&pool.files(), "key", copy("a", "b", &[])), result);
    // The target has its name, and the journal still speaks of a part.
    let (pool, part) = killed_copy(false);
    std::fs::rename(pool.host(&part), pool.host("b")).unwrap();
    done(&pool.files(), "key", copy("a", "b", &[]));
    assert!(pool.read("a") == pool.read("b"));
    assert_eq!(pool.left().len(), 1, "the result's journal");
}

#[test]
fn a_journal_that_was_tampered_with_leads_nowhere() {
    let (pool, _) = killed_copy(false);
    let journal = journal(&pool);
    let text = String::from_utf8(pool.read(&journal)).unwrap();
    let part = format!("{journal}.part");
    let outside = Pool::plain();
    outside.write(&part, 10, &[(0, b"keep me")]);
    std::os::unix::fs::symlink(outside.host(""), pool.host("link")).unwrap();
    let up = format!("../{}/b", outside.host("").file_name().unwrap().to_str().unwrap());
    for path in ["link/b", &up, "", "/", "none/b"] {
        std::fs::write(pool.host(&journal), text.replace("\"path\":\"b\"", &format!("\"path\":\"{path}\""))).unwrap();
        // Whatever the killed one had begun to write beside it.
        let _gone = std::fs::remove_file(pool.host(&format!("{journal}.new")));
        pool.files().cancel_job("key").unwrap();
        assert_eq!(outside.names(), [part.as_str()], "{path}");
        assert_eq!(pool.left(), [part.as_str()], "the journal goes, {path}");
    }
    std::fs::write(pool.host(&journal), text.replacen('{', "", 1)).unwrap();
    done(&pool.files(), "key", copy("a", "b", &[]));
    assert!(pool.read("a") == pool.read("b"), "what cannot be read is not believed");
    pool.files().cancel_job("key").unwrap();
    std::fs::remove_file(pool.host("b")).unwrap();
    pool.write(&part, 64 * MIB, &[]);
    let position = text.replace("\"position\":", "\"position\":9");
    std::fs::write(pool.host(&journal), position).unwrap();
    done(&pool.files(), "key", copy("a", "b", &[]));
    assert!(pool.read("a") == pool.read("b"), "a position beyond the end is not believed");
}

#[test]
fn a_drained_copy_goes_on_and_its_time_limit_keeps_it_too() {
    let pool = Pool::plain();
    pool.write("a", 64 * MIB, &[(0, &noise(64 << 20, 1))]);
    let slow = pool.files_with(every_step(), Programs::system());
    assert!(matches!(state(&slow, "key", copy("a", "b", &[])), JobState::Running(_)));
    assert_eq!(slow.jobs.drain(Instant::now() + LONG), Drained::All);
    let refused = slow.run_job("key", copy("a", "b", &[]), LONG, Origin::default()).unwrap_err();
    assert_eq!(refused.code, FileErrorCode::Busy);
    assert!(!pool.host("b").exists());
    let short = JobLimits { time: Duration::ZERO, ..JobLimits::default() };
    let hasty = pool.files_with(short, Programs::system());
    assert_eq!(failed(&hasty, "key", copy("a", "b", &[])).code, FileErrorCode::Limit);
    assert_eq!(pool.left().len(), 2, "its part and its journal");
    done(&pool.files(), "key", copy("a", "b", &[]));
    assert!(pool.read("a") == pool.read("b"));
}

#[test]
fn the_checksum_is_the_same_however_often_the_copy_is_stopped() {
    let pool = Pool::plain();
    pool.write("a", 64 * MIB, &[(0, &noise(40 << 20, 1))]);
    let many: Vec<_> = (0..600).map(|number| (number * 100_000, 50_000)).collect();
    for (number, ranges) in [vec![], many].into_iter().enumerate() {
        let (stopped, whole) = (format!("stopped{number}"), format!("whole{number}"));
        let mut stops = 0;
        // A little more time at each run, so that it ends; none at all at first.
        let result = loop {
            let time = Duration::from_micros(stops * 500);
            let limits = JobLimits { time, ..JobLimits::default() };
            let files = pool.files_with(limits, Programs::system());
            match run_to_end(&files, "key", copy("a", &stopped, &ranges)) {
                JobState::Done(result) => break result,
                JobState::Failed(error) => assert_eq!(error.code, FileErrorCode::Limit, "{error}"),
                JobState::Running(progress) => panic!("still running: {progress:?}"),
            }
            stops += 1;
        };
        assert!(stops > 2, "{stops}");
        assert_eq!(result, done(&pool.files(), "other", copy("a", &whole, &ranges)));
        assert!(pool.read(&stopped) == pool.read(&whole));
    }
}

#[test]
fn a_cancelled_copy_leaves_nothing() {
    let pool = Pool::plain();
    pool.write("a", 64 * MIB, &[(0, &noise(64 << 20, 1))]);
    let files = pool.files_with(every_step(), Programs::system());
    assert!(matches!(state(&files, "key", copy("a", "b", &[])), JobState::Running(_)));
    files.cancel_job("key").unwrap();
    assert_eq!(pool.names(), ["a"]);
    files.cancel_job("key").unwrap();
    done(&files, "key", copy("a", "b", &[]));
    assert!(pool.read("a") == pool.read("b"));
}

#[test]
fn a_target_that_appears_meanwhile_is_not_replaced() {
    let (pool, _) = killed_copy(false);
    pool.write("b", 10, &[(0, b"another's")]);
    // The target exists now, so running the job again is a copy onto it, from the beginning.
    done(&pool.files(), "key", copy("a", "b", &[]));
    assert!(pool.read("a") == pool.read("b"));
    assert_eq!(pool.left().len(), 1);
}

#[test]
fn two_jobs_never_write_one_file() {
    let pool = Pool::plain();
    pool.write("a", 64 * MIB, &[(0, &noise(64 << 20, 1))]);
    pool.write("b", 64 * MIB, &[]);
    let files = pool.files_with(every_step(), Programs::system());
    let target = File::open(pool.host("b")).unwrap();
    rustix::fs::flock(&target, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(failed(&files, "one", copy("a", "b", &[])).code, FileErrorCode::Busy);
    assert_eq!(failed(&files, "two", copy("b", "c", &[])).code, FileErrorCode::Busy, "nor reads what another writes");
    drop(target);
    done(&files, "one", copy("a", "b", &[]));
}
