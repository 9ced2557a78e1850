//! Replication: keeping copies of volumes, groups and snapshots at a second site.
//!
//! A **site** is a pool. Two sites share a **link directory**, in which each writes below a folder of
//! its own and reads the other's, so every file has one writer:
//!
//! ```text
//! sites/SITE/site.json                          the heartbeat
//! sites/SITE/bell, news/UID                     empty; their lengths rise when there is something to look at
//! sites/SITE/replications/UID/role.json         what this site says of one replication
//!                             EPOCH-NUMBER/     a transfer: one cut on its way
//!                               000001.data     changed ranges, sparse, at the offsets of the image
//!                               000001.json     which ranges, and their checksum
//!                               manifest.json   the digests of all of them; written last
//! ```
//! Every text there begins with its own checksum. The truth of a site lies in its pool, in
//! `replications/BB/UID/record.json`, with the cuts beside it; the link holds only what the other
//! side has to know, and is written anew from the pool when it is damaged.
//!
//! **Roles.** A promotion begins a new **epoch**. A cut has the mark (epoch, number). A secondary
//! takes a transfer only if that builds on the mark that its contents are at, or answers its own wish
//! for a resync; so an old primary that comes back overwrites nothing. Two sides that promote at once
//! without force both write down that they will before they look at the other, so one at least sees it.
//!
//! **Order.** Cut, record, role file, segments, manifest; at the other side staging, checksums,
//! `applying` in the record, renames, record, role file. What is written down as `applying` is
//! finished by the next call or step; anything before it is discarded.
//!
//! **Background.** Each replication is one work of two kinds of steps: `tend` decides and does what is
//! short, under the source's own lock (cut, apply, close); `move` moves bytes between files that
//! nobody else uses, in jobs of the host, without that lock. So no call waits for a transfer.
//!
//! `promote`, `standing`, `schedule`, `terms` and `plan` decide and touch nothing.

mod adopt;
mod apply;
mod beat;
mod calls;
mod cut;
mod demote;
mod envelope;
mod heartbeat;
mod info;
mod link;
mod part;
mod plan;
mod promote;
mod promotion;
mod publish;
mod receive;
mod record;
mod resync;
mod schedule;
mod send;
mod source;
mod standing;
mod store;
mod tend;
mod terms;
#[cfg(test)]
mod testing;
mod wire;
mod works;

use drivebay_sdk::types::StringMap;
use local_index::Index;
use local_pool::disk::Disk;
use local_pool::host::Host;
use local_pool::{Contents, Lifecycle, Pool};

/// The replication of a pool during one call.
#[derive(Clone, Copy)]
pub struct Replication<'a> {
    pool: &'a Pool<'a>,
    lifecycle: Lifecycle<'a>,
    contents: Contents<'a>,
    index: Index<'a>,
    host: &'a dyn Host,
    disk: &'a dyn Disk,
    /// The directory that this site shares with the other; none: there is no other site.
    link: Option<&'a str>,
    /// From where the copies that are made here can be reached.
    topology: &'a StringMap,
}

impl<'a> Replication<'a> {
    /// Of this pool, through this directory.
    pub fn new(pool: &'a Pool<'a>, link: Option<&'a str>, topology: &'a StringMap) -> Self {
        let (lifecycle, contents, index) = (Lifecycle::new(pool), Contents::new(pool), Index::new(pool));
        Self { pool, lifecycle, contents, index, host: pool.host, disk: pool.disk, link, topology }
    }
}
