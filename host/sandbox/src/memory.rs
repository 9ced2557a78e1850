//! What the C library does with memory that was freed. Owns two of its settings and nothing else. Why at all: compiling
//! takes far more memory than serving, and by default much of it would stay with the process for good.

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
