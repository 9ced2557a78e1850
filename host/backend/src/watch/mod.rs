//! Watching a component's file: from whatever happens in its directories to "at rest, with this digest".
//! Owns the looking and reading; what follows from a new file, the lifecycle decides.
//!
//! `settling` is the pure part: it is told of events and looks, and says when to look again and when the file
//! is to be read. Around it stands the effect: the system's events (`notify`), a look now and then for file
//! systems that have none, and reading through one descriptor. Every directory on the way to the file is
//! watched, that of each link as well, because Kubernetes swaps a whole mounted volume by one link
//! (`..data`). What an event says is only a reason to look: the file is judged by what a look sees.

mod resolved;
mod settling;
mod task;
#[cfg(test)]
mod tests;

pub use settling::{Event, Next, Settling, Stamp};
pub use task::Watch;
