//! The link directory: what this site writes there, and what it reads of the other.
//!
//! It owns the paths and the way of writing. What is read may be damaged; the error then names the file.

use std::io;

use drivebay_sdk::{Error, Reason, Result};
use local_pool::disk::{Lasting, Status};
use local_pool::ids;
use local_pool::record::{Decoded, FORMAT};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::record::{Mark, ReplicationRecord};
use crate::standing::{Peer, Told};
use crate::wire::RoleText;
use crate::{Replication, envelope};

/// In the pool: that this site has a place in the link directory.
#[derive(Serialize, Deserialize)]
struct JoinedRecord {
    format: u32,
    link: String,
}

/// A text that stands in the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// The SHA-256 of the file.
    pub(super) digest: String,
    pub(super) change: Change,
}

/// Whether a text had to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Made,
}

impl Replication<'_> {
    /// The link directory. `failed-precondition`: there is none.
    pub(crate) fn link(&self) -> Result<&str> {
        self.link
            .ok_or_else(|| Error::failed_precondition("there is no second site: the setting link names no directory"))
    }

    pub(crate) fn site_folder(&self, site: &str) -> Result<String> {
        Ok(format!("{}/sites/{site}", self.link()?))
    }

    pub(crate) fn own_folder(&self) -> Result<String> {
        self.site_folder(self.pool.id()?)
    }

    /// What a site says of a replication, and sends for it.
    pub(crate) fn replication_folder(&self, site: &str, uid: &str) -> Result<String> {
        Ok(format!("{}/replications/{uid}", self.site_folder(site)?))
    }

    pub(crate) fn role_file(&self, site: &str, uid: &str) -> Result<String> {
        Ok(format!("{}/role.json", self.replication_folder(site, uid)?))
    }

    /// The folder of a transfer that a site sends.
    pub(crate) fn transfer_folder(&self, site: &str, uid: &str, mark: Mark) -> Result<String> {
        Ok(format!("{}/{mark}", self.replication_folder(site, uid)?))
    }

    /// Makes this site's place in the link directory, once. `unavailable`: it had one, and that is
    /// gone: another directory, or nothing, stands where the link was.
    pub(crate) fn join_link(&self) -> Result<()> {
        let (folder, mark) = (self.own_folder()?, self.pool.at("link.json"));
        let joined = self.pool.read_record::<JoinedRecord>(&mark)?;
        let here = matches!(&joined, Some(Ok(joined)) if Some(joined.link.as_str()) == self.link);
        if self.link_status(&folder)?.is_some() {
            if here {
                return Ok(());
            }
        } else if here {
            return Err(unreachable_link(format!(
                "the link directory {} is gone (remove {mark} to begin anew with another)",
                self.link()?
            )));
        }
        self.make_link_directories(&format!("{folder}/replications"))?;
        self.make_link_directories(&format!("{folder}/news"))?;
        self.make_link_directories(&format!("{folder}/temporary"))?;
        self.pool.replace(&mark, &JoinedRecord { format: FORMAT, link: self.link()?.to_owned() })
    }

    pub(crate) fn make_link_directories(&self, path: &str) -> Result<()> {
        match (self.disk.make_directory(path), path.rsplit_once('/')) {
            (Ok(()), _) => Ok(()),
            (Err(error), Some((parent, _)))
                if error.kind() == io::ErrorKind::NotFound && parent.len() > self.link()?.len() =>
            {
                self.make_link_directories(parent)?;
                self.disk.make_directory(path).map_err(|error| of_link(path, &error))
            }
            (Err(error), _) => Err(of_link(path, &error)),
        }
    }

    /// Writes a text of this site whole, unless it stands there already as it should.
    pub(crate) fn write_link<T: Serialize>(&self, path: &str, text: &T, lasting: Lasting) -> Result<Written> {
        let sealed = envelope::seal(text)?;
        let digest = envelope::digest(&sealed);
        if self.disk.read(path).map_err(|error| of_link(path, &error))?.as_ref() == Some(&sealed) {
            return Ok(Written { digest, change: Change::None });
        }
        let temporary = format!("{}/temporary/{}", self.own_folder()?, ids::make(self.host.random()?));
        let written = self.disk.write(&temporary, &sealed, lasting);
        if let Err(error) = written.and_then(|()| self.disk.rename(&temporary, path)) {
            // The same link has just failed: removing is worth a try and no second error.
            drop(self.disk.remove_file(&temporary));
            return Err(of_link(path, &error));
        }
        if lasting == Lasting::Now {
            let synced = self.host.sync(path);
            synced.map_err(|error| unreachable_link(format!("cannot sync {path}: {}", error.message)))?;
        }
        Ok(Written { digest, change: Change::Made })
    }

    /// Reads a text; none: it is not there.
    pub(crate) fn read_link<T: DeserializeOwned>(&self, path: &str) -> Result<Option<Decoded<T>>> {
        Ok(self.read_link_bytes(path)?.map(|bytes| envelope::open(&bytes)))
    }

    pub(crate) fn read_link_bytes(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.disk.read(path).map_err(|error| of_link(path, &error))
    }

    fn link_status(&self, path: &str) -> Result<Option<Status>> {
        self.disk.status(path).map_err(|error| of_link(path, &error))
    }

    /// The names in a folder of the link, in order; none if it is not there.
    pub(crate) fn list_link(&self, folder: &str) -> Result<Vec<String>> {
        let listed = self.disk.list(folder).map_err(|error| of_link(folder, &error))?;
        Ok(listed.unwrap_or_default().into_iter().map(|entry| entry.name).collect())
    }

    /// Removes a folder of files from the link.
    pub(crate) fn remove_link_folder(&self, folder: &str) -> Result<()> {
        for name in self.list_link(folder)? {
            let path = format!("{folder}/{name}");
            self.disk.remove_file(&path).map_err(|error| of_link(&path, &error))?;
        }
        self.disk.remove_directory(folder).map_err(|error| of_link(folder, &error))
    }

    /// The other site; none: it has not come yet. `failed-precondition`: there are several.
    pub(crate) fn other_site(&self) -> Result<Option<String>> {
        let own = self.pool.id()?;
        let mut others = self.list_link(&format!("{}/sites", self.link()?))?;
        others.retain(|site| site != own && ids::is_well_formed(site));
        match others.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            _ => Err(Error::failed_precondition(format!(
                "the link directory has more than two sites: {}",
                others.join(", ")
            ))),
        }
    }

    /// The other side of a replication. What cannot be reached has said nothing and is silent.
    pub(crate) fn peer_of(&self, record: &ReplicationRecord) -> Peer {
        self.look_at_peer(record).unwrap_or(Peer { heard: false, told: Told::Nothing })
    }

    /// As `peer_of`. `unavailable`: the link cannot be read.
    pub(crate) fn look_at_peer(&self, record: &ReplicationRecord) -> Result<Peer> {
        self.join_link()?;
        let site = match &record.peer {
            Some(site) => Some(site.clone()),
            None => self.other_site()?,
        };
        let Some(site) = site else {
            return Ok(Peer { heard: false, told: Told::Nothing });
        };
        let told = self.told_by(&site, &record.uid)?;
        if let Told::Unreadable(why) = &told {
            self.host.warn("replication", why);
            // Its owner writes it anew when it looks.
            self.ring_peer(&record.uid)?;
        }
        Ok(Peer { heard: self.is_heard(&site)?, told })
    }

    pub(crate) fn told_by(&self, site: &str, uid: &str) -> Result<Told> {
        let path = self.role_file(site, uid)?;
        Ok(match self.read_link::<RoleText>(&path)? {
            None => Told::Nothing,
            Some(Ok(text)) if text.uid == uid => Told::Role(Box::new(text)),
            Some(Ok(_)) => Told::Unreadable(format!("{path}: it is of another replication")),
            Some(Err(why)) => Told::Unreadable(format!("{path}: {why}")),
        })
    }

    /// Tells the other side that there is something new to look at. Only a hint: it looks by itself
    /// as well, so a lost one costs a minute. The count is the length of an empty file, because that
    /// takes one look and needs no text.
    pub(crate) fn ring_peer(&self, what: &str) -> Result<()> {
        let folder = self.own_folder()?;
        self.count_up(&format!("{folder}/news/{what}"))?;
        self.count_up(&format!("{folder}/bell"))
    }

    fn count_up(&self, path: &str) -> Result<()> {
        let counted = match self.link_status(path)? {
            Some(status) => self.disk.set_length(path, status.length.saturating_add(1)),
            None => self.disk.make_file(path, 1),
        };
        match counted {
            // Another step has just made it, and so has rung as well.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done.map_err(|error| of_link(path, &error)),
        }
    }

    /// How often a site has rung for a replication.
    pub(crate) fn rung_by(&self, site: &str, what: &str) -> Result<u64> {
        let path = format!("{}/news/{what}", self.site_folder(site)?);
        Ok(self.link_status(&path)?.map_or(0, |status| status.length))
    }

    /// A sign that changes whenever a site rings for anything.
    pub(crate) fn bell_of(&self, site: &str) -> Result<String> {
        let path = format!("{}/bell", self.site_folder(site)?);
        Ok(self.link_status(&path)?.map_or_else(String::new, |status| format!("{} {}", status.length, status.modified)))
    }

    /// Ends the ringing for a replication that is over.
    pub(crate) fn hush(&self, uid: &str) -> Result<()> {
        let path = format!("{}/news/{uid}", self.own_folder()?);
        self.disk.remove_file(&path).map_err(|error| of_link(&path, &error))
    }
}

/// The link did not do it.
pub(super) fn of_link(path: &str, error: &io::Error) -> Error {
    unreachable_link(format!("the link failed at {path}: {error}"))
}

/// The other side cannot be reached.
pub(super) fn unreachable_link(message: String) -> Error {
    Error::unavailable(message).with_reason(Reason::PeerUnreachable)
}
