//! Replication between two real hosts: a pool each, a link directory between them, bytes that are
//! written, sent, promoted and compared; and what belongs to it: groups, snapshots of replicas,
//! reclaiming and fencing. Crashes between all steps are the business of the reference backend's own
//! tests and of `crash`; here is shown that sockets, clocks, disks and mounts do what those assume.

mod damage;
mod failover;
mod groups;
mod link;
pub mod pair;
mod snapshots;
mod table;
mod upkeep;
