//! Resources of a whole process: how many descriptors it may open, and what a file that is too large does to it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What is enough for any host: connections, and the files of all its backends.
const DESCRIPTORS: u64 = 1 << 20;
/// What POSIX promises, where nothing else is known.
const LEAST: usize = 20;

/// Lets this process open as many descriptors as it may be allowed to: what it is given at first (1,024 on most systems)
/// is for programs that use `select`. And lets what would make a file larger than allowed fail, instead of ending the
/// process: it is the work of one backend. For those that it starts as well.
pub fn raise() {
    let now = getrlimit(Resource::Nofile);
    let hard = now.maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
    if now.current.is_some_and(|soft| soft < hard) {
        // Refused, it stays as it is, and what is shared out of it is less.
        let _refused = setrlimit(Resource::Nofile, Rlimit { current: Some(hard), maximum: now.maximum });
    }
    ignore_file_size();
}

/// How many descriptors this process may have open.
pub fn descriptors() -> usize {
    let soft = getrlimit(Resource::Nofile).current;
    soft.map_or(usize::MAX, |soft| usize::try_from(soft).unwrap_or(usize::MAX)).max(LEAST)
}

#[expect(unsafe_code, reason = "no crate here offers to ignore a signal")]
fn ignore_file_size() {
    // SAFETY: no handler is installed; the kernel is told to fail the write instead.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::Command;

    /// Limits are a process' own: this test starts itself again under them.
    #[test]
    fn descriptors_are_raised_and_a_file_that_is_too_large_ends_nothing() {
        if std::env::var_os("RESOURCES_TESTED").is_some() {
            let before = descriptors();
            raise();
            assert!(descriptors() > before, "{before}");
            let mut file = tempfile::tempfile().unwrap();
            let written = file.write_all(&[0; 16_384]);
            assert_eq!(written.unwrap_err().raw_os_error(), Some(libc::EFBIG));
            return;
        }
        let test = std::env::current_exe().unwrap();
        let name = "resources::tests::descriptors_are_raised_and_a_file_that_is_too_large_ends_nothing";
        let script = format!("ulimit -S -n 64 && ulimit -f 8 && exec {} --exact {name}", test.display());
        let run = Command::new("bash").args(["-c", &script]).env("RESOURCES_TESTED", "1").output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    }
}
