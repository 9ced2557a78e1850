//! The gate before every swap: every reason for which a candidate is refused, by id, and the comparison
//! of a candidate with what serves. Decides from facts alone; gathering them is the loader's work.

mod compare;
mod refusal;
#[cfg(test)]
mod tests;

pub use compare::{Baseline, Force, Profile, StateHandover, compare};
pub use refusal::{Refusal, RefusalId};
