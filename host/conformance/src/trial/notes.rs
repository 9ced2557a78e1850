//! The list of what a rule may have made. A call that makes something is noted before it is sent, because its answer may
//! be lost; the note goes only when every call that could have made the thing was refused for certain. The order in
//! which answers arrive is not the order in which the driver gave them, so no answer may speak for another call.

use super::undo::{Undo, What};

/// One thing, and the calls that make it.
#[derive(Debug, Clone)]
struct Note {
    undo: Undo,
    /// Calls under way, and those whose answer was lost.
    open: usize,
    /// One of them has succeeded.
    made: bool,
}

/// What a rule may have made, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<Note>);

impl Notes {
    /// A call begins that makes this.
    pub(super) fn begin(&mut self, undo: Undo) {
        match self.find(&undo) {
            Some(note) => note.open += 1,
            None => self.0.push(Note { undo, open: 1, made: false }),
        }
    }

    /// A call that makes this was refused for certain.
    pub(super) fn refused(&mut self, undo: &Undo) {
        if let Some(note) = self.find(undo) {
            note.open = note.open.saturating_sub(1);
        }
        self.0.retain(|note| note.open > 0 || note.made);
    }

    /// A call has made this.
    pub(super) fn made(&mut self, undo: Undo) {
        match self.find(&undo) {
            Some(note) => (note.open, note.made) = (note.open.saturating_sub(1), true),
            None => self.0.push(Note { undo, open: 0, made: true }),
        }
    }

    /// What was noted under a name has an id now.
    pub(super) fn named(&mut self, doubt: Option<&What>, undo: Undo) {
        self.0.retain(|note| note.undo.site != undo.site || Some(&note.undo.what) != doubt);
        if self.find(&undo).is_none() {
            self.0.push(Note { undo, open: 0, made: true });
        }
    }

    /// This is to be removed before everything that is noted already, if it is not noted yet.
    pub(super) fn last(&mut self, undo: Undo) {
        if self.find(&undo).is_none() {
            self.0.insert(0, Note { undo, open: 0, made: true });
        }
    }

    /// Something was removed. What a call that was given up may still make stays on the list.
    pub(super) fn removed(&mut self, is_it: impl Fn(&Undo) -> bool) {
        for note in self.0.iter_mut().filter(|note| is_it(&note.undo)) {
            note.made = false;
        }
        self.0.retain(|note| note.open > 0 || note.made);
    }

    /// Whether something like this is noted.
    pub(super) fn has(&self, is_it: impl Fn(&Undo) -> bool) -> bool {
        self.0.iter().any(|note| is_it(&note.undo))
    }

    /// Everything, in the order in which it is to be removed.
    pub(crate) fn take(&mut self) -> Vec<Undo> {
        std::mem::take(&mut self.0).into_iter().rev().map(|note| note.undo).collect()
    }

    fn find(&mut self, undo: &Undo) -> Option<&mut Note> {
        self.0.iter_mut().find(|note| note.undo == *undo)
    }
}

#[cfg(test)]
mod tests;
