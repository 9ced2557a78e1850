//! Snapshots: of one volume, of several at one moment, and their metadata.
//!
//! A snapshot has its own contents; it depends neither on its volume nor on other snapshots.

mod create;
mod delete;
mod group;
mod listing;
mod metadata;
