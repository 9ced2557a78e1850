//! How the kernel shares processors between the threads of the host and others. Owns the two ways to be modest: short
//! turns for what serves, and what nobody else wants for what can wait; which process takes which, others decide.
//!
//! A kernel that looks around only every 4 ms leaves a thread that has just woken up waiting for as long, when whoever
//! runs has not used up its slice. A short slice ends that in both directions: it takes nothing from the share of a thread,
//! only from how long its turns are. Whoever has no share at all is in nobody's way.

use std::io;

/// How long the turns of a thread are that wants to be heard soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// Of what serves: 0.2 ms.
    Short,
    /// Of what has next to nothing to do, but at its time: 0.1 ms, the least that the kernel takes. Who wakes up is let in
    /// at once only before those whose turns are longer.
    Shortest,
}

impl Turns {
    const fn nanoseconds(self) -> u64 {
        match self {
            Self::Short => 200_000,
            Self::Shortest => 100_000,
        }
    }
}

/// Bytes of the first form of the kernel's structure, which every kernel takes.
const SIZE: u32 = 48;

/// Gives the calling thread, and those that it starts from now on, slices of this length. A kernel before 6.12 takes note of
/// nothing; threads that are scheduled in real time stay what they are.
///
/// # Errors
/// What the system says: nothing has changed.
pub fn take_turns(turns: Turns) -> io::Result<()> {
    let mut attributes = attributes()?;
    let policy = attributes.sched_policy.cast_signed();
    if policy == libc::SCHED_OTHER || policy == libc::SCHED_BATCH {
        attributes.sched_runtime = turns.nanoseconds();
        set(&attributes)?;
    }
    Ok(())
}

/// Lets the calling thread, and those that it starts from now on, run only where nobody else wants to. Where others want
/// to all the time, that is a three-hundredth of a processor; and there is no way back.
///
/// # Errors
/// What the system says: nothing has changed.
pub(super) fn take_what_is_left() -> io::Result<()> {
    let mut attributes = attributes()?;
    attributes.sched_policy = libc::SCHED_IDLE.cast_unsigned();
    attributes.sched_runtime = 0;
    set(&attributes)
}

#[allow(unsafe_code, reason = "no crate offers this system call")]
fn attributes() -> io::Result<libc::sched_attr> {
    let mut attributes = libc::sched_attr {
        size: SIZE,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel writes at most the size that it is told, which is the structure's.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // The kernel says there how much it wrote, for whoever gave it more room.
    attributes.size = SIZE;
    Ok(attributes)
}

#[allow(unsafe_code, reason = "no crate offers this system call")]
fn set(attributes: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel reads as much as the structure says it has.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *attributes, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rustix::process::{getpriority_process, setpriority_process};

    use super::*;

    /// Not every kernel says it; those before 6.12 have none of a thread's own.
    fn slice() -> u64 {
        attributes().unwrap().sched_runtime
    }

    #[test]
    fn threads_take_over_the_short_slice_and_keep_how_nice_they_are() {
        let tested = thread::spawn(|| {
            setpriority_process(None, 3).unwrap();
            let before = slice();
            take_turns(Turns::Short).unwrap();
            let started = thread::spawn(|| (slice(), getpriority_process(None).unwrap())).join().unwrap();
            (before, slice(), getpriority_process(None).unwrap(), started)
        });
        let (before, after, nice, started) = tested.join().unwrap();
        assert_eq!((nice, started.1), (3, 3));
        if before == 0 {
            println!("skipped: this kernel knows no slices of a thread's own");
        } else {
            assert!(before > Turns::Short.nanoseconds(), "{before}");
            assert_eq!((after, started.0), (Turns::Short.nanoseconds(), Turns::Short.nanoseconds()));
        }
    }

    #[test]
    fn what_takes_what_is_left_stays_so() {
        let tested = thread::spawn(|| {
            take_what_is_left().unwrap();
            // Not even for root may it be taken for a thread that serves.
            take_turns(Turns::Shortest).unwrap();
            attributes().unwrap().sched_policy
        });
        assert_eq!(tested.join().unwrap(), libc::SCHED_IDLE.cast_unsigned());
    }
}
