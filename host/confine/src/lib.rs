//! Giving up rights: what a process of this program takes from itself before it handles what others wrote.
//! Owns capabilities, system-call filters, the limits on files and how nice it is of two kinds of
//! processes: the one that runs guests, and the one that compiles. It starts nothing and knows no component. Why a
//! process does it to itself: it needs no right to do so, and what runs before is its own code, with nobody's input.
//!
//! All of it holds for the calling thread and those that it starts, so it is done while there is only one.

mod capabilities;
mod compiler;
mod filters;
mod guests;
mod paths;
mod resources;
mod slices;
#[cfg(test)]
mod tests;

pub use capabilities::effective;
pub use compiler::{Bounds, compiler};
pub use guests::{Attempt, Given, InForce, guests};
pub use resources::{descriptors, raise};
pub use slices::{short_slices, usual_slices};

/// Whether the system keeps something from this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Force {
    /// It does.
    Full,
    /// The kernel knows a part of what is asked for.
    Partial,
    /// It does not, for this reason.
    None(String),
}

impl Force {
    /// One word, or the reason.
    pub fn words(&self) -> String {
        match self {
            Self::Full => "in force".to_owned(),
            Self::Partial => "in force as far as this kernel goes".to_owned(),
            Self::None(why) => format!("not in force: {why}"),
        }
    }
}
