//! Keys, limits, what a job holds, and who waits for it.

use super::*;
use crate::FileErrorCode;
use std::sync::atomic::{AtomicBool, Ordering};

fn one_at_a_time() -> JobLimits {
    JobLimits { running: 1, waiting: 1, ..JobLimits::default() }
}

/// What a call holds while its job runs.
struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn holding(call: &str) -> (Origin, Arc<AtomicBool>) {
    let released = Arc::new(AtomicBool::new(false));
    let hold: Box<dyn Send> = Box::new(Held(Arc::clone(&released)));
    (Origin { call: Some(call.to_owned()), hold: Some(hold) }, released)
}

#[test]
fn more_jobs_than_may_run_wait_and_more_than_may_wait_are_refused() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    let files = pool.files_with(one_at_a_time(), gate.programs());
    for name in ["a", "b", "c"] {
        image(&pool, name);
    }
    let job = |name| make(name, "ext4", None);
    assert!(matches!(state(&files, "a", job("a")), JobState::Running(_)));
    gate.wait_until_one_runs();
    let waiting = JobState::Running(JobProgress { done_bytes: 0, total_bytes: 0 });
    assert_eq!(state(&files, "b", job("b")), waiting);
    let refused = files.run_job("c", job("c"), LONG, Origin::default()).unwrap_err();
    assert_eq!(refused.code, FileErrorCode::Limit);
    assert_eq!(state(&files, "a", job("a")), JobState::Running(JobProgress { done_bytes: 0, total_bytes: 4 * MIB }));
    gate.let_one_end("good");
    done(&files, "a", job("a"));
    gate.wait_until_one_runs();
    assert!(matches!(state(&files, "c", job("c")), JobState::Running(_)), "there is room to wait again");
    gate.let_one_end("good");
    gate.wait_until_one_runs();
    gate.let_one_end("good");
    done(&files, "b", job("b"));
    done(&files, "c", job("c"));
}

#[test]
fn a_waiting_job_can_be_cancelled_and_never_runs() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    let files = pool.files_with(one_at_a_time(), gate.programs());
    for name in ["a", "b"] {
        image(&pool, name);
    }
    assert!(matches!(state(&files, "a", make("a", "ext4", None)), JobState::Running(_)));
    gate.wait_until_one_runs();
    let (origin, released) = holding("call");
    files.run_job("b", make("b", "ext4", None), Duration::ZERO, origin).unwrap();
    assert!(!released.load(Ordering::SeqCst));
    files.cancel_job("b").unwrap();
    assert!(released.load(Ordering::SeqCst));
    gate.let_one_end("good");
    done(&files, "a", make("a", "ext4", None));
    assert!(pool.read("b").iter().all(|byte| *byte == 0));
}

#[test]
fn a_key_does_one_thing_at_a_time() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    let files = pool.files_with(JobLimits::default(), gate.programs());
    image(&pool, "a");
    pool.write("source", MIB, &[]);
    assert!(matches!(state(&files, "key", make("a", "ext4", None)), JobState::Running(_)));
    gate.wait_until_one_runs();
    let other = copy("source", "target", &[]);
    let refused = files.run_job("key", other.clone(), LONG, Origin::default()).unwrap_err();
    assert_eq!(refused.code, FileErrorCode::Busy);
    gate.let_one_end("good");
    done(&files, "key", make("a", "ext4", None));
    assert_eq!(done(&files, "key", other).bytes, MIB, "afterwards it starts anew");
}

#[test]
fn a_result_is_found_until_it_is_cancelled() {
    let pool = Pool::plain();
    pool.write("source", MIB, &[(0, &noise(1 << 20, 1))]);
    let files = pool.files();
    let first = done(&files, "key", copy("source", "target", &[]));
    OpenOptions::new().write(true).open(pool.host("source")).unwrap().write_all_at(b"other", 0).unwrap();
    assert_eq!(done(&files, "key", copy("source", "target", &[])), first);
    files.cancel_job("key").unwrap();
    let second = done(&files, "key", copy("source", "target", &[]));
    assert_ne!(second, first);
    assert!(pool.read("source") == pool.read("target"));
}

#[test]
fn the_oldest_results_are_forgotten_here_and_on_disk() {
    let pool = Pool::plain();
    pool.write("source", 10, &[]);
    let limits = JobLimits { remembered: 3, ..JobLimits::default() };
    let files = pool.files_with(limits, Programs::system());
    for number in 0..20 {
        done(&files, &number.to_string(), copy("source", &format!("target{number}"), &[]));
    }
    assert!(pool.left().len() <= 6, "{:?}", pool.left());
    std::fs::remove_file(pool.host("target19")).unwrap();
    std::fs::remove_file(pool.host("target0")).unwrap();
    done(&files, "19", copy("source", "target19", &[]));
    assert!(!pool.host("target19").exists(), "remembered, so it is not done again");
    done(&files, "0", copy("source", "target0", &[]));
    assert!(pool.host("target0").exists(), "forgotten, so it is done again");
}

#[test]
fn results_are_kept_on_disk_for_a_day() {
    let pool = Pool::plain();
    pool.write("source", 10, &[]);
    done(&pool.files(), "old", copy("source", "a", &[]));
    let [old] = &pool.left()[..] else { panic!("one journal: {:?}", pool.left()) };
    let written = std::time::SystemTime::now() - Duration::from_hours(25);
    OpenOptions::new().write(true).open(pool.host(old)).unwrap().set_modified(written).unwrap();
    done(&pool.files(), "new", copy("source", "b", &[]));
    assert!(!pool.host(old).exists());
    assert_eq!(pool.left().len(), 1, "the new one is there");
    done(&pool.files(), "newer", copy("source", "c", &[]));
    assert_eq!(pool.left().len(), 2, "a day has not passed");
}

#[test]
fn a_job_holds_what_its_call_held_until_it_has_ended() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    let files = pool.files_with(JobLimits::default(), gate.programs());
    image(&pool, "a");
    let (origin, released) = holding("call");
    files.run_job("key", make("a", "ext4", None), Duration::ZERO, origin).unwrap();
    gate.wait_until_one_runs();
    let (second, second_released) = holding("second");
    files.run_job("key", make("a", "ext4", None), Duration::ZERO, second).unwrap();
    assert!(second_released.load(Ordering::SeqCst), "a call that only finds the job keeps nothing");
    assert!(!released.load(Ordering::SeqCst));
    gate.let_one_end("good");
    done(&files, "key", make("a", "ext4", None));
    assert!(released.load(Ordering::SeqCst));
}

#[test]
fn a_call_can_be_awaited_until_its_jobs_have_ended() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    let files = pool.files_with(JobLimits::default(), gate.programs());
    image(&pool, "a");
    let (origin, released) = holding("call");
    files.run_job("key", make("a", "ext4", None), Duration::ZERO, origin).unwrap();
    gate.wait_until_one_runs();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        files.jobs.running_for("another").await;
        let of_call = files.jobs.running_for("call");
        tokio::pin!(of_call);
        let early = tokio::time::timeout(Duration::from_millis(20), &mut of_call).await;
        assert!(early.is_err(), "the job still runs");
        gate.let_one_end("good");
        tokio::time::timeout(LONG, of_call).await.unwrap();
    });
    assert!(released.load(Ordering::SeqCst));
    done(&files, "key", make("a", "ext4", None));
}

#[test]
fn draining_forgets_what_waits_and_gives_back_what_it_held() {
    let (pool, gate) = (Pool::plain(), Gate::new());
    let files = pool.files_with(one_at_a_time(), gate.programs());
    for name in ["a", "b"] {
        image(&pool, name);
    }
    let (first, first_released) = holding("first");
    let (second, second_released) = holding("second");
    files.run_job("a", make("a", "ext4", None), Duration::ZERO, first).unwrap();
    gate.wait_until_one_runs();
    files.run_job("b", make("b", "ext4", None), Duration::ZERO, second).unwrap();
    assert_eq!(files.jobs.drain(Instant::now() + LONG), Drained::All);
    assert!(first_released.load(Ordering::SeqCst) && second_released.load(Ordering::SeqCst));
    assert!(pool.read("b").iter().all(|byte| *byte == 0));
}

#[test]
fn keys_and_lists_have_a_size() {
    let pool = Pool::plain();
    pool.write("source", MIB, &[]);
    let files = pool.files();
    for key in [String::new(), "x".repeat(257)] {
        let refused = files.run_job(&key, copy("source", "target", &[]), LONG, Origin::default()).unwrap_err();
        assert_eq!(refused.code, FileErrorCode::Invalid);
        assert_eq!(files.cancel_job(&key).unwrap_err().code, FileErrorCode::Invalid);
    }
    let ranges: Vec<_> = (0..65_537).map(|number| (number, 1)).collect();
    let refused = files.run_job("key", copy("source", "target", &ranges), LONG, Origin::default()).unwrap_err();
    assert_eq!(refused.code, FileErrorCode::Limit);
    done(&files, &"x".repeat(256), copy("source", "target", &ranges[1..]));
}

#[test]
fn backends_that_share_a_directory_do_not_share_keys() {
    let pool = Pool::plain();
    pool.write("source", MIB, &[]);
    let other = Jobs::new("other", JobLimits::default(), Programs::system());
    let others = Files::new(pool.directories(), other, crate::descriptors::OpenFiles::new(16), crate::View::Full);
    done(&pool.files(), "key", copy("source", "target", &[]));
    others.cancel_job("key").unwrap();
    assert_eq!(pool.left().len(), 1);
    pool.files().cancel_job("key").unwrap();
    assert_eq!(pool.left().len(), 0);
}

/// A thousand jobs are remembered, whatever they were: each could hold megabytes.
#[test]
fn a_job_with_a_text_longer_than_a_path_is_refused_and_not_remembered() {
    let pool = Pool::plain();
    let files = pool.files();
    let long = "x".repeat(4_096);
    let jobs = [make("image", "ext4", Some(&long)), make("image", &long, None), copy(&long, "target", &[])];
    for (number, job) in jobs.into_iter().enumerate() {
        let refused = files.run_job(&number.to_string(), job, LONG, Origin::default()).unwrap_err();
        assert_eq!(refused.code, FileErrorCode::Invalid);
        assert!(refused.message.len() < 4_096, "{}", refused.message);
    }
}
