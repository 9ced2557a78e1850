//! The services, one file per subject. A row says which capability offers an RPC, what it changes and which
//! function does it; the functions see the world and decide.

#![allow(
    clippy::wildcard_imports,
    clippy::unnecessary_wraps,
    clippy::trivially_copy_pass_by_ref,
    reason = "every RPC is a function of one shape, and a file deals with most messages of its subject"
)]

mod addons_identity;
mod attachment;
mod expansion;
mod fence;
mod group_snapshots;
mod groups;
mod health;
mod identity;
mod keys;
mod listing;
mod metadata;
mod node_info;
mod node_publish;
mod node_stage;
mod reclaim;
mod replication;
mod roles;
mod rows;
mod snapshots;
mod source;
mod volumes;
