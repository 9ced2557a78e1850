//! Who is served next: work waits in one line, and a copy goes in pieces between which the rest of it is served.
//!
//! Owns the order and the bound on what waits of a namespace. It does no work and knows no clock. Why commits keep the order
//! in which they came: all of them are one backend's, which can wait for itself.

use std::collections::{HashMap, HashSet, VecDeque};

/// Most cost of a group, except that one piece always fits: bounds how long one transaction takes.
pub(super) const MAX_GROUP_COST: u64 = 4 * 1024 * 1024;
/// Most pieces of work in a group.
const MAX_GROUP_WORK: usize = 256;

/// A piece of work as the line sees it.
pub(super) trait Piece {
    /// The namespace that it changes; what changes one is done in the order of arrival.
    fn namespace(&self) -> &str;
    /// What doing it costs, in bytes that are written, roughly.
    fn cost(&self) -> u64;
    /// Bytes of memory that it holds until it is done.
    fn held(&self) -> u64;
    /// Whether it is done in parts, each a group of its own, and is put back between them.
    fn has_parts(&self) -> bool;
}

/// All that waits, and what every namespace holds.
pub(super) struct FairQueue<T> {
    waiting: VecDeque<T>,
    /// Bytes of work that waits or is being done, by namespace.
    held: HashMap<String, u64>,
    /// Whether the last group was a part of something, so that what is whole is next.
    was_part: bool,
}

impl<T: Piece> FairQueue<T> {
    pub(super) fn new() -> Self {
        Self { waiting: VecDeque::new(), held: HashMap::new(), was_part: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Has the piece wait for its turn. None: done; else it is given back, because its namespace
    /// would hold more than `most` bytes. One piece alone is never refused.
    pub(super) fn push(&mut self, piece: T, most: u64) -> Option<T> {
        let held = self.held.get(piece.namespace()).copied().unwrap_or(0);
        let wanted = held.saturating_add(piece.held());
        if held > 0 && wanted > most {
            return Some(piece);
        }
        self.held.insert(piece.namespace().to_owned(), wanted);
        self.waiting.push_back(piece);
        None
    }

    /// A piece of which a part was done waits again, before all others of its namespace.
    pub(super) fn put_back(&mut self, piece: T) {
        self.waiting.push_front(piece);
    }

    /// Notes that the memory of a piece that was taken is free again.
    pub(super) fn release(&mut self, piece: &T) {
        if let Some(held) = self.held.get_mut(piece.namespace()) {
            *held = held.saturating_sub(piece.held());
            if *held == 0 {
                self.held.remove(piece.namespace());
            }
        }
    }

    /// Bytes that a namespace's work holds.
    #[cfg(test)]
    pub(super) fn held(&self, namespace: &str) -> u64 {
        self.held.get(namespace).copied().unwrap_or(0)
    }

    /// What is to be done next, in one transaction; empty only when nothing waits.
    pub(super) fn next_group(&mut self) -> Vec<T> {
        let parts_first = !self.was_part;
        let group = self.take(parts_first);
        let (group, are_parts) =
            if group.is_empty() { (self.take(!parts_first), !parts_first) } else { (group, parts_first) };
        self.was_part = are_parts;
        group
    }

    /// One piece that has parts, or whole ones until the group is full; the first of those that may go.
    fn take(&mut self, with_parts: bool) -> Vec<T> {
        let (mut places, mut cost) = (Vec::new(), 0_u64);
        let mut passed: HashSet<&str> = HashSet::new();
        for (place, piece) in self.waiting.iter().enumerate() {
            if piece.has_parts() != with_parts || passed.contains(piece.namespace()) {
                passed.insert(piece.namespace());
                continue;
            }
            cost = cost.saturating_add(piece.cost());
            if places.len() >= MAX_GROUP_WORK || (cost > MAX_GROUP_COST && !places.is_empty()) {
                break;
            }
            places.push(place);
            if with_parts {
                break;
            }
        }
        if places.iter().enumerate().all(|(count, place)| count == *place) {
            return self.waiting.drain(..places.len()).collect();
        }
        let mut taken: Vec<_> = places.into_iter().rev().filter_map(|place| self.waiting.remove(place)).collect();
        taken.reverse();
        taken
    }
}

#[cfg(test)]
mod tests;
