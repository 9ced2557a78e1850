//! The state across a change of its format: copied before the newer code may write, compared when somebody
//! wants to go back, brought back when they do. Owns the work; whether it is done, the lifecycle says.

use std::cmp::Ordering;

use drivebay_state::{Entry, Namespace, StateError};

/// As many changes are named; more are counted.
const NAMED: usize = 20;

/// What differs between a copy and the state now, in words.
pub(super) async fn differences(copy: &Namespace, now: &Namespace) -> Result<Vec<String>, StateError> {
    let (mut old, mut new) = (Reader::new(copy), Reader::new(now));
    let (mut named, mut more) = (Vec::new(), 0_usize);
    loop {
        let (before, after) = (old.peek().await?.cloned(), new.peek().await?.cloned());
        let order = match (&before, &after) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(before), Some(after)) => before.key.cmp(&after.key),
        };
        let word = match (order, before, after) {
            (Ordering::Less, Some(gone), _) => Some(format!("{:?} was removed", gone.key)),
            (Ordering::Greater, _, Some(made)) => Some(format!("{:?} was added", made.key)),
            (_, Some(before), Some(after)) if before != after => Some(format!("{:?} was changed", after.key)),
            _ => None,
        };
        if order != Ordering::Greater {
            old.advance();
        }
        if order != Ordering::Less {
            new.advance();
        }
        match word {
            Some(word) if named.len() < NAMED => named.push(word),
            Some(_) => more += 1,
            None => {}
        }
    }
    if more > 0 {
        named.push(format!("{more} more"));
    }
    Ok(named)
}

/// Reads a namespace in order, page by page.
struct Reader<'a> {
    space: &'a Namespace,
    page: std::collections::VecDeque<Entry>,
    after: Option<String>,
    is_over: bool,
}

impl<'a> Reader<'a> {
    fn new(space: &'a Namespace) -> Self {
        Self { space, page: std::collections::VecDeque::new(), after: None, is_over: false }
    }

    async fn peek(&mut self) -> Result<Option<&Entry>, StateError> {
        if self.page.is_empty() && !self.is_over {
            self.page = self.space.range("", self.after.as_deref(), 0).await?.into();
            self.after = self.page.back().map(|entry| entry.key.clone());
            self.is_over = self.page.is_empty();
        }
        Ok(self.page.front())
    }

    fn advance(&mut self) {
        self.page.pop_front();
    }
}
