//! Snapshots: of one volume, of several at one moment, and what is in them.
//!
//! A snapshot has contents of its own from the moment it exists; it needs neither its volume nor
//! other snapshots.

mod create;
mod delete;
mod group;
mod listing;
mod metadata;
