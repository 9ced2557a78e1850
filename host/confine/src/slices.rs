//! How long a thread computes before the kernel looks at who else wants to.
//!
//! A thread that wakes up while another one computes waits until that one's slice is over, and the kernel looks only at
//! its ticks: 4 ms at 250 Hz, for each of the dozen wake-ups of a publish. Since Linux 6.12 a thread with a shorter slice
//! takes the processor at once. So all threads of this program have short ones, but for those that compute for guests.
//! It changes who waits, and nobody's share. `drivebay attack --only storm` shows it.

use std::io;

/// The shortest that the kernel takes.
const SHORT: u64 = 100_000;
/// As the kernel sees fit.
const USUAL: u64 = 0;

/// This thread and those that it starts have short slices. Earlier kernels accept it, and do nothing.
///
/// # Errors
/// When the system refuses it.
pub fn short_slices() -> io::Result<()> {
    set(SHORT)
}

/// This thread and those that it starts have slices as other programs.
///
/// # Errors
/// When the system refuses it.
pub fn usual_slices() -> io::Result<()> {
    set(USUAL)
}

/// Sets it, in nanoseconds, and keeps everything else.
fn set(slice: u64) -> io::Result<()> {
    let now = attributes()?;
    // Of others, such as real-time threads, it would mean something else.
    if !matches!(i32::try_from(now.sched_policy), Ok(libc::SCHED_OTHER | libc::SCHED_BATCH)) {
        return Ok(());
    }
    let wanted = libc::sched_attr { sched_runtime: slice, sched_flags: 0, ..now };
    // SAFETY: the kernel reads a whole structure that says how long it is.
    #[expect(unsafe_code, reason = "no crate here offers this system call")]
    done(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) })
}

fn attributes() -> io::Result<libc::sched_attr> {
    let mut now = libc::sched_attr {
        size: 0,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel writes at most as many bytes as it is told.
    #[expect(unsafe_code, reason = "no crate here offers this system call")]
    done(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, size_of::<libc::sched_attr>(), 0) })?;
    Ok(now)
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_inherit_their_slices_and_keep_all_else() {
        // A thread of its own: other tests share this one.
        let seen = thread::spawn(|| {
            let before = attributes().unwrap();
            short_slices().unwrap();
            let inherited = thread::spawn(|| attributes().unwrap()).join().unwrap();
            usual_slices().unwrap();
            (before, inherited, attributes().unwrap())
        });
        let (before, inherited, after) = seen.join().unwrap();
        assert_eq!((inherited.sched_policy, inherited.sched_nice), (before.sched_policy, before.sched_nice));
        assert_eq!((after.sched_policy, after.sched_nice), (before.sched_policy, before.sched_nice));
        assert_eq!(after.sched_runtime, before.sched_runtime);
        // Kernels before 6.12 know none.
        let knows = before.sched_runtime > 0;
        assert_eq!(inherited.sched_runtime, if knows { SHORT } else { 0 });
    }
}
