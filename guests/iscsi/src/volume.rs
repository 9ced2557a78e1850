//! What the context of a volume says of its disk, and what its secrets are. Pure.

use drivebay_sdk::attach::{self, IscsiTarget};
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result};

/// A volume's disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Disk {
    pub(crate) portals: Vec<String>,
    pub(crate) iqn: String,
    pub(crate) lun: u16,
    /// The disk's own name.
    pub(crate) identity: String,
    /// Nobody has written to it yet, so a file system may be made.
    pub(crate) new: bool,
}

impl Disk {
    /// Reads a context.
    pub(crate) fn read(context: &StringMap) -> Result<Self> {
        let need = |key: &str| {
            find(context, key)
                .ok_or_else(|| Error::invalid_argument(format!("the volume's context does not say its {key}")))
        };
        let lun = need("lun")?;
        Ok(Self {
            portals: need("portals")?.split(',').map(|portal| portal.trim().to_owned()).collect(),
            iqn: need("iqn")?.to_owned(),
            lun: lun.parse().map_err(|_| Error::invalid_argument(format!("the volume's lun {lun} is no number")))?,
            identity: need("identity")?.to_owned(),
            new: find(context, "new") == Some("true"),
        })
    }

    /// Where it is connected, with the secrets of the call.
    pub(crate) fn target(&self, secrets: &StringMap) -> IscsiTarget {
        let pair = |user: &str, secret: &str| find(secrets, user).zip(find(secrets, secret));
        let mut target = attach::iscsi(self.portals.clone(), self.iqn.clone(), self.lun);
        if let Some((user, secret)) = pair("chap-user", "chap-secret") {
            target = target.chap(user, secret);
        }
        if let Some((user, secret)) = pair("target-user", "target-secret") {
            target = target.mutual(user, secret);
        }
        target
    }
}

fn find<'a>(map: &'a StringMap, key: &str) -> Option<&'a str> {
    map.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> StringMap {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_context_names_the_disk() {
        let whole = [("portals", "10.1.0.1, 10.2.0.1:3260"), ("iqn", "iqn.x"), ("lun", "7"), ("identity", "naa.6")];
        let disk = Disk::read(&map(&whole)).unwrap();
        assert_eq!(disk.portals, ["10.1.0.1", "10.2.0.1:3260"]);
        assert!(disk.lun == 7 && !disk.new);
        for absent in 0..whole.len() {
            let mut given = whole.to_vec();
            given.remove(absent);
            assert!(Disk::read(&map(&given)).is_err(), "{given:?}");
        }
    }

    #[test]
    fn secrets_are_those_of_the_call() {
        let context = [("portals", "a"), ("iqn", "iqn.x"), ("lun", "7"), ("identity", "naa.6")];
        let disk = Disk::read(&map(&context)).unwrap();
        assert!(disk.target(&Vec::new()).chap.is_none());
        let secrets = [("chap-user", "u"), ("chap-secret", "s"), ("target-user", "v"), ("target-secret", "t")];
        let chap = disk.target(&map(&secrets)).chap.unwrap();
        assert!(chap.user == "u" && chap.target.is_some_and(|target| target.secret == "t"));
    }
}
