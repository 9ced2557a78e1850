//! What the context of a volume says of its disk. Pure.

use std::str::FromStr;

use drivebay_sdk::disks::Disk;
use drivebay_sdk::encryption::Encryption;
use drivebay_sdk::parameters::find;
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result, attach};

/// The disk of a volume, with the secrets of the call.
pub(crate) fn disk(context: &StringMap, secrets: &StringMap) -> Result<Disk> {
    let need = |key: &str| {
        find(context, key)
            .ok_or_else(|| Error::invalid_argument(format!("the volume's context does not say its {key}")))
    };
    let portals = need("portals")?.split(',').map(str::trim);
    // A subsystem's name says that it is NVMe/TCP.
    let target = match find(context, "nqn") {
        Some(nqn) => attach::nvme_tcp(portals, nqn, number("namespace", need("namespace")?)?).prove(secrets).into(),
        None => attach::iscsi(portals, need("iqn")?, number("lun", need("lun")?)?).prove(secrets).into(),
    };
    Ok(Disk {
        target,
        identity: need("identity")?.to_owned(),
        is_new: find(context, "new") == Some("true"),
        encryption: Encryption::find(context, secrets)?,
    })
}

fn number<N: FromStr>(key: &str, text: &str) -> Result<N> {
    text.parse().map_err(|_| Error::invalid_argument(format!("the volume's {key} {text} is no number")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivebay_sdk::attach::{IscsiTarget, Target};

    const WHOLE: [(&str, &str); 4] =
        [("portals", "10.1.0.1, 10.2.0.1:3260"), ("iqn", "iqn.x"), ("lun", "7"), ("identity", "naa.6")];

    fn map(pairs: &[(&str, &str)]) -> StringMap {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn iscsi(disk: Disk) -> IscsiTarget {
        match disk.target {
            Target::Iscsi(target) => target,
            Target::NvmeTcp(_) => panic!("a disk of a subsystem"),
        }
    }

    #[test]
    fn a_subsystems_name_says_that_it_is_nvme() {
        let context = [("portals", "10.1.0.1"), ("nqn", "nqn.x"), ("namespace", "7"), ("identity", "uuid.1")];
        let secrets = [("dhchap-secret", "DHHC-1:00:s:"), ("dhchap-ctrl-secret", "DHHC-1:00:t:")];
        let found = disk(&map(&context), &map(&secrets)).unwrap();
        let Target::NvmeTcp(target) = found.target else { panic!("a disk of a target") };
        assert!(target.nqn == "nqn.x" && target.namespace_id == 7 && target.portals == ["10.1.0.1"]);
        let proof = target.dh_chap.unwrap();
        assert!(proof.host_secret == "DHHC-1:00:s:" && proof.controller_secret.is_some());
        for absent in [0, 2, 3] {
            let mut given = context.to_vec();
            given.remove(absent);
            assert!(disk(&map(&given), &Vec::new()).is_err(), "{given:?}");
        }
    }

    #[test]
    fn a_context_names_the_disk() {
        let found = disk(&map(&WHOLE), &Vec::new()).unwrap();
        assert!(found.identity == "naa.6" && !found.is_new);
        let target = iscsi(found);
        assert!(target.portals == ["10.1.0.1", "10.2.0.1:3260"] && target.lun == 7);
        for absent in 0..WHOLE.len() {
            let mut given = WHOLE.to_vec();
            given.remove(absent);
            assert!(disk(&map(&given), &Vec::new()).is_err(), "{given:?}");
        }
        let new = [&WHOLE[..], &[("new", "true")]].concat();
        assert!(disk(&map(&new), &Vec::new()).unwrap().is_new);
    }

    #[test]
    fn an_encrypted_disk_is_never_used_without_its_passphrase() {
        let encrypted = map(&[&WHOLE[..], &[("encrypted", "true")]].concat());
        assert!(disk(&encrypted, &Vec::new()).is_err());
        assert!(disk(&encrypted, &map(&[("passphrase", "p")])).unwrap().encryption.is_some());
        let unclear = map(&[&WHOLE[..], &[("encrypted", "1")]].concat());
        assert!(disk(&unclear, &map(&[("passphrase", "p")])).is_err());
    }

    #[test]
    fn secrets_are_those_of_the_call() {
        let chap = |secrets: &[(&str, &str)]| iscsi(disk(&map(&WHOLE), &map(secrets)).unwrap()).chap;
        assert!(chap(&[]).is_none());
        assert!(chap(&[("chap-user", "u")]).is_none(), "half a pair is none");
        let both = [("chap-user", "u"), ("chap-secret", "s"), ("target-user", "v"), ("target-secret", "t")];
        let chap = chap(&both).unwrap();
        assert!(chap.user == "u" && chap.target.is_some_and(|target| target.secret == "t"));
    }
}
