//! The code of the rules, one file a subject. Each rule is one function; `all` pairs it with its id,
//! and the catalogue's test sees to it that both have the same ids.

mod ask;
mod bursts;
mod expansion;
mod fence;
mod gates;
mod group_snapshots;
mod groups;
mod identity;
mod killed;
mod link;
mod lost;
mod metadata;
mod node;
mod publish;
mod regroup;
mod replication;
mod secrets;
mod sites;
mod snapshots;
mod told;
mod volumes;

use std::future::Future;
use std::pin::Pin;

use crate::trial::{Outcome, Trial};

/// A rule at work.
pub(crate) type Run<'r> = Pin<Box<dyn Future<Output = Outcome> + Send + 'r>>;

/// Whether a rule bears others beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concurrency {
    /// It looks at its own objects only.
    Shared,
    /// It looks at what all have, such as lists.
    Alone,
}

/// A rule's code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Code {
    pub(crate) id: &'static str,
    pub(crate) company: Concurrency,
    pub(crate) run: for<'r> fn(Trial<'r>) -> Run<'r>,
}

/// Pairs ids with functions; those after `alone` run with nothing beside them.
macro_rules! rules {
    ($($id:literal => $function:ident),* $(,)? $(; alone: $($lone:literal => $single:ident),* $(,)?)?) => {
        /// The rules of this subject.
        pub(super) static RULES: &[$crate::rules::Code] = &[
            $($crate::rules::Code { id: $id, company: $crate::rules::Concurrency::Shared, run: |t| Box::pin($function(t)) },)*
            $($($crate::rules::Code { id: $lone, company: $crate::rules::Concurrency::Alone, run: |t| Box::pin($single(t)) },)*)?
        ];
    };
}
pub(crate) use rules;

/// The code of every rule that runs by itself.
pub(crate) fn all() -> impl Iterator<Item = &'static Code> {
    let subjects = [
        replication::RULES,
        sites::RULES,
        groups::RULES,
        regroup::RULES,
        identity::RULES,
        volumes::RULES,
        told::RULES,
        link::RULES,
        killed::RULES,
        publish::RULES,
        node::RULES,
        snapshots::RULES,
        group_snapshots::RULES,
        metadata::RULES,
        expansion::RULES,
        bursts::RULES,
        gates::RULES,
        fence::RULES,
        secrets::RULES,
        lost::RULES,
    ];
    subjects.into_iter().flatten()
}
