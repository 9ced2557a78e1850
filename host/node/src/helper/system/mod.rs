//! What the kernel and the distribution's programs are asked, one file per kind of question.
//!
//! Owns the questions and their answers. It must not know requests, turns or the engine, and must not
//! decide whether something is asked: that is up to `ops`.

pub(super) mod blocks;
pub(super) mod busy;
pub(crate) mod covered;
mod direct;
pub(super) mod loops;
pub(super) mod paths;
pub(crate) mod programs;
pub(crate) mod syscalls;
pub(crate) mod table;
pub(crate) mod targets;
pub(crate) mod told;
