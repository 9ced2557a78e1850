//! The rules of requests and answers that enter or leave a guest.
//!
//! It owns what can be judged from the messages and the backend's abilities alone: presence, sizes,
//! characters, numbers, gates. It must not know any object: whether a volume exists is the backend's
//! to say. Answers are checked like requests, because what a guest returns is input as well.
//!
//! Within a request the id or name comes first, then paths and capabilities, then the rest: clients'
//! test suites leave out everything behind the field that they are about.

mod attachment;
mod capacity;
mod fence;
mod flaws;
mod group;
mod health;
mod listing;
mod maintenance;
mod metadata;
mod node;
mod node_state;
mod replication;
mod rules;
mod snapshot;
mod stream;
mod volume;
mod volume_group;
mod works;

#[cfg(test)]
mod tests;

pub use flaws::Flaw;
pub use stream::{BlockPage, MetadataStream};
pub use works::works;

use super::{Abilities, BadAnswer, Invalid};

/// Ids that a guest named when the host asked it: each of them one, and none twice.
///
/// # Errors
/// The first rule broken, with the function's name as the field.
pub fn ids(field: &str, ids: &[String]) -> Result<(), BadAnswer> {
    rules::each(field, ids, |id| rules::text::id("", id))?;
    rules::page::unique_texts(field, ids.iter().map(String::as_str))?;
    Ok(())
}

/// A request that is checked before it enters a guest, and whose answer is checked before it leaves.
pub trait Check: prost::Message + Sized {
    /// What a guest answers; of a stream, one message.
    type Answer;

    /// Refuses a request that breaks a rule, or that asks for what the backend cannot do.
    ///
    /// # Errors
    /// The first rule broken, with the field's protobuf path.
    fn check(&self, able: &Abilities) -> Result<(), Invalid>;

    /// The request as the guest gets it, once it is checked. Lists are asked for in pages, also where the
    /// client did not ask for any.
    #[must_use]
    fn bounded(self) -> Self {
        self
    }

    /// Refuses an answer that breaks a rule by itself or does not fit this request.
    ///
    /// # Errors
    /// The first rule broken, with the field's path.
    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer>;

    /// Whether entries of the answer may be told without what is wrong with them, or left out: it is a list, and not asked
    /// for to learn of one object.
    fn can_be_sifted(&self) -> bool {
        false
    }

    /// Takes what breaks a rule by itself out of a list, so that the rest of it can be told. What cannot be sifted has nothing
    /// of the kind.
    fn sift(&self, _answer: &mut Self::Answer, _able: &Abilities) -> Vec<Flaw> {
        Vec::new()
    }

    /// The host paths that the request names and node work may touch for it. A path that is not
    /// absolute and normalised is left out: nothing is granted by it, even where it is tolerated.
    fn paths(&self) -> Vec<&str> {
        Vec::new()
    }
}
