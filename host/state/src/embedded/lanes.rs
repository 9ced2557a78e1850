//! Who is served next: work waits in lanes, one for each namespace, and the lanes take turns.
//!
//! Owns the order and the bound on what waits in a lane. It does no work and knows no clock. Why
//! turns are counted in cost and not in pieces: one large commit takes as long as a thousand small
//! ones. Why large work goes alone, and small work in between: whoever commits little then waits
//! for at most one large piece, however many of them others have handed in.

use std::collections::{HashMap, VecDeque};

/// What a lane may spend in one group while others wait, and what counts as large beyond it; in
/// bytes of cost.
pub(super) const QUANTUM: u64 = 512 * 1024;
/// Most cost of a group, except that one piece always fits: bounds how long one transaction takes.
pub(super) const MAX_GROUP_COST: u64 = 4 * 1024 * 1024;
/// Most pieces of work in a group.
const MAX_GROUP_WORK: usize = 256;

/// A piece of work as the lanes see it.
pub(super) trait Piece {
    /// The lane that it waits in.
    fn lane(&self) -> &str;
    /// What doing it costs, in bytes that are written, roughly.
    fn cost(&self) -> u64;
    /// Bytes of memory that it holds until it is done.
    fn held(&self) -> u64;
}

struct Lane<T> {
    name: String,
    waiting: VecDeque<T>,
    /// What it may spend; at most what its next piece costs, so that nobody saves up.
    credit: u64,
    /// Groups since it was served.
    waited: u64,
}

/// All lanes in which something waits, and what every namespace holds.
pub(super) struct Lanes<T> {
    turns: VecDeque<Lane<T>>,
    /// Bytes of work that waits or is being done, by namespace.
    held: HashMap<String, u64>,
    /// Whether the last group was one large piece, so that small ones are next.
    was_large: bool,
}

impl<T: Piece> Lanes<T> {
    pub(super) fn new() -> Self {
        Self { turns: VecDeque::new(), held: HashMap::new(), was_large: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Has the piece wait for its turn. None: done; else it is given back, because its namespace
    /// would hold more than `most` bytes. One piece alone is never refused.
    pub(super) fn push(&mut self, piece: T, most: u64) -> Option<T> {
        let held = self.held.get(piece.lane()).copied().unwrap_or(0);
        let wanted = held.saturating_add(piece.held());
        if held > 0 && wanted > most {
            return Some(piece);
        }
        self.held.insert(piece.lane().to_owned(), wanted);
        match self.turns.iter_mut().find(|lane| lane.name == piece.lane()) {
            Some(lane) => lane.waiting.push_back(piece),
            None => self.turns.push_back(Lane::of(piece)),
        }
        None
    }

    /// A piece that was taken and is not done waits again, before all others of its lane.
    pub(super) fn put_back(&mut self, piece: T) {
        match self.turns.iter_mut().find(|lane| lane.name == piece.lane()) {
            Some(lane) => lane.waiting.push_front(piece),
            None => self.turns.push_back(Lane::of(piece)),
        }
    }

    /// Notes that the memory of a piece that was taken is free again.
    pub(super) fn release(&mut self, piece: &T) {
        if let Some(held) = self.held.get_mut(piece.lane()) {
            *held = held.saturating_sub(piece.held());
            if *held == 0 {
                self.held.remove(piece.lane());
            }
        }
    }

    /// Bytes that a lane's work holds.
    #[cfg(test)]
    pub(super) fn held(&self, lane: &str) -> u64 {
        self.held.get(lane).copied().unwrap_or(0)
    }

    /// What is to be done next, in one transaction; empty only when nothing waits.
    pub(super) fn next_group(&mut self) -> Vec<T> {
        let mut group = Vec::new();
        while group.is_empty() && !self.turns.is_empty() {
            let is_alone = self.turns.len() == 1;
            self.turns.iter_mut().for_each(|lane| lane.earn(is_alone));
            group = if self.was_large { self.small() } else { self.large() };
            if group.is_empty() {
                group = if self.was_large { self.large() } else { self.small() };
            }
        }
        self.turns.retain(|lane| !lane.waiting.is_empty());
        group
    }

    /// One large piece, of the lane that has waited longest among those that can pay for it.
    fn large(&mut self) -> Vec<T> {
        let ready = self.turns.iter_mut().filter(|lane| lane.cost() > QUANTUM && lane.cost() <= lane.credit);
        let Some(lane) = ready.max_by_key(|lane| lane.waited) else { return Vec::new() };
        self.was_large = true;
        lane.take().into_iter().collect()
    }

    /// Small pieces of every lane, each for its credit, until the group is full.
    fn small(&mut self) -> Vec<T> {
        let (mut group, mut cost, mut full_at) = (Vec::new(), 0_u64, None);
        'lanes: for (place, lane) in self.turns.iter_mut().enumerate() {
            while !lane.waiting.is_empty() && lane.cost() <= lane.credit.min(QUANTUM) {
                cost = cost.saturating_add(lane.cost());
                if group.len() >= MAX_GROUP_WORK || (cost > MAX_GROUP_COST && !group.is_empty()) {
                    full_at = Some(place);
                    break 'lanes;
                }
                group.extend(lane.take());
            }
        }
        if let Some(place) = full_at {
            // Whoever found no room is first in the next one.
            self.turns.rotate_left(place);
        }
        if !group.is_empty() {
            self.was_large = false;
        }
        group
    }
}

impl<T: Piece> Lane<T> {
    fn of(piece: T) -> Self {
        Self { name: piece.lane().to_owned(), waiting: VecDeque::from([piece]), credit: 0, waited: 0 }
    }

    /// What its next piece costs.
    fn cost(&self) -> u64 {
        self.waiting.front().map_or(0, Piece::cost)
    }

    /// Another group begins; who is alone has no reason to save.
    fn earn(&mut self, is_alone: bool) {
        let earned = if is_alone { self.cost().max(MAX_GROUP_COST) } else { QUANTUM };
        let most = if is_alone { earned } else { self.cost().max(QUANTUM) };
        self.credit = self.credit.saturating_add(earned).min(most);
        self.waited = self.waited.saturating_add(1);
    }

    fn take(&mut self) -> Option<T> {
        let piece = self.waiting.pop_front()?;
        self.credit = self.credit.saturating_sub(piece.cost());
        self.waited = 0;
        Some(piece)
    }
}

#[cfg(test)]
mod tests;
