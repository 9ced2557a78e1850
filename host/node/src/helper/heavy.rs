//! Places for programs that read or change a whole file system: few for each backend, so that one with many huge images has
//! the processors and disks to itself no more than the others.
//!
//! Owns the counting. It must not start anything.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};

/// The places of all backends.
#[derive(Debug)]
pub(super) struct Heavy {
    /// Of one backend.
    most: usize,
    taken: Mutex<HashMap<String, usize>>,
    freed: Condvar,
}

/// One place; free again when dropped.
#[derive(Debug)]
pub(super) struct Place<'a> {
    heavy: &'a Heavy,
    backend: String,
}

impl Heavy {
    /// Nothing taken; a backend may have `most`.
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: Mutex::default(), freed: Condvar::new() }
    }

    /// Waits for a place of this backend.
    pub(super) fn take(&self, backend: &str) -> Place<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |taken: &mut HashMap<String, usize>| taken.get(backend).is_some_and(|taken| *taken >= self.most);
        let mut taken = self.freed.wait_while(taken, is_full).unwrap_or_else(PoisonError::into_inner);
        *taken.entry(backend.to_owned()).or_default() += 1;
        drop(taken);
        Place { heavy: self, backend: backend.to_owned() }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.heavy.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.backend) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.backend);
            }
        }
        drop(taken);
        self.heavy.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_backend_has_two_places_and_another_one_its_own() {
        let heavy = Heavy::new(2);
        let (first, second) = (heavy.take("a"), heavy.take("a"));
        let _other = heavy.take("b");
        thread::scope(|scope| {
            let (tell, told) = mpsc::channel();
            let heavy = &heavy;
            scope.spawn(move || {
                let place = heavy.take("a");
                tell.send(()).unwrap();
                drop(place);
            });
            assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty), "there are two");
            drop(first);
            told.recv().unwrap();
        });
        drop(second);
        assert_eq!(heavy.taken.lock().unwrap().get("a"), None);
    }
}
