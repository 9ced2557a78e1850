//! What the C library does with memory that was freed: what it keeps, and when it gives back. Why at all: compiling takes far
//! more memory than serving, and a burst of calls more than peace, and by default much of it would stay with the process.

use std::time::{Duration, Instant};

use drivebay_admission::courtesy;

/// How long no call has come when what calls took is given back: not between two calls of one client.
const QUIET: Duration = Duration::from_secs(10);
/// How long it is kept where calls never cease. Giving back takes a few milliseconds, and some page faults afterwards.
const LONGEST: Duration = Duration::from_mins(1);
/// How often it is looked whether the time has come.
const LOOK: Duration = Duration::from_secs(5);

/// Gives back what calls took, a while after the last one. Never ends.
pub async fn give_back_after_calls() {
    let mut given_back = Instant::now();
    loop {
        tokio::time::sleep(LOOK).await;
        if is_time(courtesy::last_call(), given_back, Instant::now()) {
            // From here on: a call that begins while it is done wants another one.
            given_back = Instant::now();
            // It ends well, or the host is ending.
            drop(tokio::task::spawn_blocking(give_back).await);
        }
    }
}

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
}
