//! A whole namespace in the place of another, in pieces between which others are served.
//!
//! Owns the snapshot that is copied and what is done with each piece. It must not decide when the next
//! piece's turn is. Why into a table of its own: the target is replaced by the last piece alone, so
//! whatever ends a copy half-way leaves the target as it was.

use std::ops::Bound;

use redb::{Database, ReadTransaction, ReadableDatabase, TableError, TableHandle, WriteTransaction};

use super::apply::{Fault, record};
use super::layout::{Entries, USAGE, copies_table, entries_table, is_copy, read_usage};
use crate::limits::entry_size;
use crate::{Quota, Usage};

/// Bytes of keys and values in one piece, except that one entry always fits.
const PIECE: usize = 1024 * 1024;

/// A copy that is under way.
pub(super) struct Copying {
    /// The source as it was when the copy began. Dropped before the database is closed.
    snapshot: ReadTransaction,
    usage: Usage,
    /// The last key that was copied.
    after: Option<String>,
}

/// How far a piece took the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    More,
    Last,
}

impl Copying {
    /// Looks at the source; nothing is written yet.
    pub(super) fn begin(database: &Database, from: &str, to: &str, quota: Quota) -> Result<Self, Fault> {
        let snapshot = database.begin_read()?;
        let (usage, target) = match snapshot.open_table(USAGE) {
            Ok(rows) => (read_usage(&rows, from)?, read_usage(&rows, to)?),
            Err(TableError::TableDoesNotExist(_)) => (Usage::default(), Usage::default()),
            Err(error) => return Err(error.into()),
        };
        quota.admit(target, usage).map_err(Fault::Refused)?;
        Ok(Self { snapshot, usage, after: None })
    }

    /// Copies the next piece, in `transaction`; with the last one the target is replaced.
    pub(super) fn go_on(&mut self, transaction: &WriteTransaction, from: &str, to: &str) -> Result<Piece, redb::Error> {
        let (source, target, draft) = (entries_table(from), entries_table(to), copies_table(to));
        if self.after.is_none() {
            // Of a copy that a failure ended.
            transaction.delete_table(Entries::new(&draft))?;
        }
        let piece = self.fill(transaction, &source, &draft)?;
        if piece == Piece::Last {
            transaction.delete_table(Entries::new(&target))?;
            transaction.rename_table(Entries::new(&draft), Entries::new(&target))?;
            record(transaction, to, self.usage)?;
        }
        Ok(piece)
    }

    fn fill(&mut self, transaction: &WriteTransaction, source: &str, draft: &str) -> Result<Piece, redb::Error> {
        let mut entries = transaction.open_table(Entries::new(draft))?;
        let original = match self.snapshot.open_table(Entries::new(source)) {
            Ok(original) => original,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Piece::Last),
            Err(error) => return Err(error.into()),
        };
        let first = self.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let (mut size, mut last, mut piece) = (0_usize, None, Piece::Last);
        // Keys come in order, so appending at the end spares a search for each.
        let mut end = entries.upper_bound_mut(Bound::<&str>::Unbounded)?;
        for item in original.range::<&str>((first, Bound::Unbounded))? {
            let (key, value) = item?;
            if size >= PIECE {
                piece = Piece::More;
                break;
            }
            size = size.saturating_add(entry_size(key.value(), value.value()));
            end.insert_before(key.value(), value.value())?;
            last = Some(key.value().to_owned());
        }
        end.close()?;
        self.after = last.or(self.after.take());
        Ok(piece)
    }
}

/// Removes what copies left that a crash ended.
pub(super) fn sweep(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_read()?;
    let left: Vec<_> =
        transaction.list_tables()?.map(|table| table.name().to_owned()).filter(|name| is_copy(name)).collect();
    if left.is_empty() {
        return Ok(());
    }
    let removal = database.begin_write()?;
    for name in left {
        removal.delete_table(Entries::new(&name))?;
    }
    Ok(removal.commit()?)
}
