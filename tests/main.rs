//! The integration tests, one binary: the real program as a process, real components, real sockets.
//! It owns no helper that only one module uses. One binary, because linking the host is what takes
//! long.
#![allow(unreachable_pub, reason = "in a binary there is no outside; `pub` says what a module offers to the others")]
#![allow(clippy::format_collect, reason = "a test's text is short, and read more often than run")]

#[cfg(test)]
mod addons;
#[cfg(test)]
mod arrays;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod background;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod breaker;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod canaries;
#[cfg(test)]
mod check;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod confinement;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod data;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod egress;
#[cfg(test)]
mod held;
#[cfg(test)]
mod ids;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod languages;
#[cfg(test)]
mod layering;
#[cfg(test)]
mod licences;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod loading;
#[cfg(test)]
mod locks;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod node;
#[cfg(test)]
mod operators;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod redaction;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod sites;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod support;
#[cfg(test)]
mod swaps;
#[cfg(test)]
mod traps;
#[cfg(test)]
mod views;
