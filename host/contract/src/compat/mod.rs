//! What older clients say in other words than today's: one module a service. The host folds a request
//! before anything looks at it, so that checks, locks and backends know one dialect only. It must not
//! judge: what is wrong stays wrong.

mod replication;
mod volume_group;

#[cfg(test)]
mod tests;

/// A request that has more than one dialect.
pub trait Fold: Sized {
    /// The same request as today's clients phrase it.
    #[must_use]
    fn fold(self) -> Self;
}
