//! Hosts, what they have access to, and networks that are shut out.
//!
//! A fence does not take exports away: it holds them back, in publishing and in every read and write.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

use crate::array::{Array, check_name};
use crate::model::{Export, Fence, Host, State, Volume};
use crate::refusal::{Code, Refusal, Result, refuse};
use crate::store::Change;

/// How a host wants a volume.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportWish {
    #[serde(default)]
    readonly: bool,
    #[serde(default)]
    shared: bool,
    #[serde(default)]
    label: String,
}

impl Array {
    /// Makes a host known, or its addresses others.
    pub(crate) fn put_host(&self, host: &Host) -> Result<()> {
        check_name(&host.id)?;
        self.store.change(|change| change.put(host))
    }

    /// Forgets a host that has nothing.
    pub(crate) fn delete_host(&self, name: &str) -> Result<()> {
        self.store.change(|change| {
            change.need::<Host>(name)?;
            match Self::exports_of(change, name)?.first() {
                Some((volume, _)) => refuse(Code::InUse, format!("host {name} has volume {volume}")),
                None => change.remove::<Host>(name),
            }
        })
    }

    /// Gives a host access to a volume. The same again is success.
    pub(crate) fn export(&self, id: &str, host: &str, wish: &ExportWish) -> Result<Volume> {
        let volume = self.note_export(id, host, wish)?;
        self.present()?;
        Ok(volume)
    }

    fn note_export(&self, id: &str, host: &str, wish: &ExportWish) -> Result<Volume> {
        self.store.change(|change| {
            let mut volume: Volume = change.need(id)?;
            let known: Host = change.need(host)?;
            if volume.state != State::Ready {
                return refuse(Code::Busy, format!("volume {id} is not ready yet"));
            }
            Self::check_not_copy(change, &volume)?;
            Self::check_not_fenced(change, &known)?;
            let alike = |export: &Export| {
                export.readonly == wish.readonly && export.shared == wish.shared && export.label == wish.label
            };
            if let Some(export) = volume.exports.iter().find(|export| export.host == host) {
                return if alike(export) {
                    Ok(volume)
                } else {
                    refuse(Code::Taken, format!("host {host} has volume {id} in another way"))
                };
            }
            if let Some(other) = volume.exports.iter().find(|other| !(other.shared && wish.shared)) {
                return refuse(Code::InUse, format!("volume {id} is exported to host {} alone", other.host));
            }
            let taken = Self::exports_of(change, host)?;
            if taken.len() >= self.options.host_limit {
                return refuse(Code::Full, format!("host {host} takes {} volumes", self.options.host_limit));
            }
            let lun =
                (0..=u32::MAX).find(|lun| !taken.iter().any(|(_, export)| export.lun == *lun)).unwrap_or_default();
            let (readonly, shared, label) = (wish.readonly, wish.shared, wish.label.clone());
            volume.exports.push(Export { host: host.to_owned(), lun, readonly, shared, label });
            change.put(&volume)?;
            Ok(volume)
        })
    }

    /// Takes a host's access away, or everybody's. Success when there was none.
    pub(crate) fn unexport(&self, id: &str, host: Option<&str>) -> Result<()> {
        self.store.change(|change| {
            let mut volume: Volume = change.need(id)?;
            let before = volume.exports.len();
            volume.exports.retain(|export| host.is_some_and(|host| export.host != host));
            if volume.exports.len() == before { Ok(()) } else { change.put(&volume) }
        })?;
        self.present()
    }

    fn exports_of(change: &Change<'_>, host: &str) -> Result<Vec<(String, Export)>> {
        let all = change.all::<Volume>()?.into_iter();
        let of = all.flat_map(|volume| volume.exports.into_iter().map(move |export| (volume.id.clone(), export)));
        Ok(of.filter(|(_, export)| export.host == host).collect())
    }

    /// Shuts networks out, or lets them in again.
    pub(crate) fn fence(&self, cidrs: &[String], shut: bool) -> Result<()> {
        let networks: Result<Vec<IpNet>> = cidrs.iter().map(|cidr| network(cidr)).collect();
        let networks = networks?;
        self.store.change(|change| {
            for network in networks {
                let fence = Fence { id: network.to_string() };
                if shut { change.put(&fence)? } else { change.remove::<Fence>(&fence.id)? }
            }
            Ok(())
        })?;
        self.present()
    }

    /// Refuses a host that a fence shuts out.
    pub(crate) fn check_not_fenced(change: &Change<'_>, host: &Host) -> Result<()> {
        for fence in change.all::<Fence>()? {
            let network = network(&fence.id)?;
            if host.addresses.iter().any(|address| network.contains(address)) {
                return refuse(Code::Fenced, format!("host {} is fenced by {}", host.id, fence.id));
            }
        }
        Ok(())
    }
}

fn network(cidr: &str) -> Result<IpNet> {
    let parsed = cidr.parse::<IpNet>().or_else(|error| cidr.parse::<IpAddr>().map(IpNet::from).map_err(|_| error));
    match parsed {
        Ok(network) => Ok(network.trunc()),
        Err(error) => Err(Refusal::new(Code::Invalid, format!("{cidr:?} is no network: {error}"))),
    }
}
