//! Jobs from start to end, on real files and with real and made-up programs.

mod copying;
mod file_systems;
mod numbers;
mod ways;

use super::*;
use crate::{
    Extent, Files,
    testing::{Pool, noise, run, text},
};
use std::{
    fs::{File, OpenOptions},
    io::Read,
    os::unix::fs::FileExt,
};

const MIB: u64 = 1 << 20;
/// Long enough for any job here; a test that waits this long has failed.
const LONG: Duration = Duration::from_mins(1);

fn copy(source: &str, target: &str, ranges: &[(u64, u64)]) -> Job {
    let ranges = ranges.iter().map(|(offset, length)| Extent { offset: *offset, length: *length }).collect();
    Job::Copy(CopyJob { source: format!("/pool/{source}"), target: format!("/pool/{target}"), ranges })
}

fn make(image: &str, file_system: &str, label: Option<&str>) -> Job {
    let (image, file_system) = (format!("/pool/{image}"), file_system.to_owned());
    Job::MakeFileSystem(FileSystemJob { image, file_system, label: label.map(str::to_owned) })
}

fn run_to_end(files: &Files, key: &str, job: Job) -> JobState {
    files.run_job(key, job, LONG, Origin::default()).unwrap()
}

fn done(files: &Files, key: &str, job: Job) -> JobResult {
    match run_to_end(files, key, job) {
        JobState::Done(result) => result,
        other @ (JobState::Running(_) | JobState::Failed(_)) => panic!("not done: {other:?}"),
    }
}

fn failed(files: &Files, key: &str, job: Job) -> FileError {
    match run_to_end(files, key, job) {
        JobState::Failed(error) => error,
        other @ (JobState::Running(_) | JobState::Done(_)) => panic!("did not fail: {other:?}"),
    }
}

/// A stand-in for `mkfs.ext4` that says on one FIFO that it runs, having written something into the
/// image, and ends when the other one is written to.
struct Gate {
    place: Pool,
}

impl Gate {
    fn new() -> Self {
        let place = Pool::plain();
        for fifo in ["running", "end"] {
            assert!(run("mkfifo", &[text(&place.host(fifo))]));
        }
        let (running, end) = (place.host("running"), place.host("end"));
        let script = format!(
            "#!/bin/sh\nprintf garbage 1<>/proc/self/fd/0\necho x > {}\nread word < {}\n[ \"$word\" = good ] && exit 0\n\
             echo >&2\necho \"cannot make it in /proc/self/fd/0\" >&2\necho more >&2\nexit 1\n",
            text(&running),
            text(&end)
        );
        let program = place.host("mkfs.ext4");
        std::fs::write(&program, script).unwrap();
        assert!(run("chmod", &["755", text(&program)]));
        Self { place }
    }

    fn programs(&self) -> Programs {
        Programs::new(vec![self.place.host("")])
    }

    /// Returns when one more program runs.
    fn wait_until_one_runs(&self) {
        let mut word = [0; 2];
        File::open(self.place.host("running")).unwrap().read_exact(&mut word).unwrap();
    }

    /// Lets one running program end.
    fn let_one_end(&self, how: &str) {
        std::fs::write(self.place.host("end"), format!("{how}\n")).unwrap();
    }
}

fn image(pool: &Pool, name: &str) {
    pool.write(name, 4 * MIB, &[]);
}

fn state(files: &Files, key: &str, job: Job) -> JobState {
    files.run_job(key, job, Duration::ZERO, Origin::default()).unwrap()
}
