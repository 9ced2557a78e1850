//! What stays with the process of memory that is not needed now: what the C library keeps of what was freed, and what is
//! mapped of the program itself. Why at all: compiling takes far more memory than serving, a burst of calls more than
//! peace, a start ten times the code that peace does, and by default much of it would stay.

use std::time::{Duration, Instant};

use drivebay_admission::courtesy;

/// How long no call has come when what calls took is given back: not between two calls of one client.
const QUIET: Duration = Duration::from_secs(10);
/// How long it is kept where calls never cease. Giving back takes a few milliseconds, and some page faults afterwards.
const LONGEST: Duration = Duration::from_mins(1);
/// How often it is looked whether the time has come.
const LOOK: Duration = Duration::from_secs(5);

/// Gives back what the start took, and what calls took, a while after the last one. Never ends.
pub async fn give_back_after_calls() {
    tokio::time::sleep(LOOK).await;
    let mut given_back = Instant::now();
    give_back_elsewhere().await;
    loop {
        tokio::time::sleep(LOOK).await;
        if is_time(courtesy::last_call(), given_back, Instant::now()) {
            // From here on: a call that begins while it is done wants another one.
            given_back = Instant::now();
            give_back_elsewhere().await;
        }
    }
}

/// On a thread that serves nobody.
async fn give_back_elsewhere() {
    let all = || {
        give_back();
        let_code_go();
    };
    // It ends well, or the host is ending.
    drop(tokio::task::spawn_blocking(all).await);
}

/// Lets go of the program's own code and constants, which are the file's: what is needed again comes back from the
/// system's cache of files, as after any start, some microseconds for 64 KiB.
#[cfg(target_os = "linux")]
pub fn let_code_go() {
    #[expect(unsafe_code, reason = "no crate offers the places that the linker knows")]
    unsafe extern "C" {
        /// Set by the linker: where the program begins in memory, and where its code ends. What is written at its
        /// start, the addresses that had to be filled in, lies behind.
        static __executable_start: u8;
        static etext: u8;
    }
    let begin = &raw const __executable_start;
    let length = (&raw const etext).addr().saturating_sub(begin.addr());
    // SAFETY: nobody has written to these pages, which are mapped for reading and running alone; the system reads them
    // again from the file, which cannot be written to while it runs.
    #[expect(unsafe_code, reason = "as above")]
    let done = unsafe { libc::madvise(begin.cast_mut().cast(), length, libc::MADV_DONTNEED) };
    if done != 0 {
        // Not an error: the process is larger than it need be.
        tracing::debug!("the program's code stays in memory");
    }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
pub fn let_code_go() {}

fn is_time(last_call: Option<Instant>, given_back: Instant, now: Instant) -> bool {
    let since = |moment| now.saturating_duration_since(moment);
    last_call.is_some_and(|last| last >= given_back && (since(last) >= QUIET || since(given_back) >= LONGEST))
}

/// Compiling leaves tens of megabytes behind that the allocator would keep for good, in the arenas of threads
/// that have nothing to do until the next component comes: more than the host needs for everything else.
#[cfg(target_env = "gnu")]
pub(super) fn give_back() {
    // SAFETY: the call takes no memory of ours, only pages that are free, and is safe to make on any thread.
    #[expect(unsafe_code, reason = "no crate offers this call of the C library")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Large blocks are the system's as soon as they are freed. By default the C library keeps blocks up to the size of
/// the largest that was ever freed, and after a component was compiled those are all. To be called once, at the start
/// of a program.
#[cfg(target_env = "gnu")]
pub fn keep_no_large_blocks() {
    /// Bytes; the C library's own first value.
    const LARGE: i32 = 128 * 1024;
    // SAFETY: it sets a number of the allocator; no block is touched.
    #[expect(unsafe_code, reason = "no crate offers this call of the C library")]
    let done = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    if done == 0 {
        // Not an error: the process is larger than it need be.
        tracing::debug!("the allocator keeps large blocks");
    }
}

/// Other allocators give free memory back by themselves, or not at all.
#[cfg(not(target_env = "gnu"))]
pub(super) fn give_back() {}

/// As above.
#[cfg(not(target_env = "gnu"))]
pub fn keep_no_large_blocks() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_back_a_while_after_the_last_call_and_once() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!is_time(None, start, at(100)), "nothing was taken");
        assert!(!is_time(Some(at(5)), start, at(14)), "calls still come");
        assert!(is_time(Some(at(5)), start, at(15)));
        assert!(!is_time(Some(at(5)), at(15), at(100)), "it has been given back");
        assert!(is_time(Some(at(59)), start, at(60)), "calls never cease");
    }

    /// KiB of the program's code that are mapped.
    #[cfg(target_os = "linux")]
    fn mapped() -> u64 {
        let (maps, program) = (std::fs::read_to_string("/proc/self/smaps").unwrap(), std::env::current_exe().unwrap());
        let is_code = |line: &&str| line.contains(" r-xp ") && line.ends_with(program.to_str().unwrap());
        let mut lines = maps.lines().skip_while(|line| !is_code(line));
        let resident = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        resident.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn code_that_is_let_go_comes_back_when_it_runs() {
        /// Their addresses are filled in when the program starts, and are not the file's.
        static WORDS: [&str; 2] = ["what was written", "stays"];
        // Other tests run meanwhile, and have their code come back.
        let goes = (0..100).any(|_| {
            let before = mapped();
            let_code_go();
            mapped() < before / 2
        });
        assert!(goes && std::hint::black_box(&WORDS).concat() == "what was writtenstays");
    }
}
