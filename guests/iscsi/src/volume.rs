//! What the context of a volume says of its disk. Pure.

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
    let number = need("lun")?;
    let lun = number.parse().map_err(|_| Error::invalid_argument(format!("the volume's lun {number} is no number")))?;
    let portals = need("portals")?.split(',').map(str::trim);
    Ok(Disk {
        target: attach::iscsi(portals, need("iqn")?, lun).prove(secrets),
        identity: need("identity")?.to_owned(),
        is_new: find(context, "new") == Some("true"),
        encryption: Encryption::find(context, secrets)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [(&str, &str); 4] =
        [("portals", "10.1.0.1, 10.2.0.1:3260"), ("iqn", "iqn.x"), ("lun", "7"), ("identity", "naa.6")];

    fn map(pairs: &[(&str, &str)]) -> StringMap {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_context_names_the_disk() {
        let found = disk(&map(&WHOLE), &Vec::new()).unwrap();
        assert_eq!(found.target.portals, ["10.1.0.1", "10.2.0.1:3260"]);
        assert!(found.target.lun == 7 && found.identity == "naa.6" && !found.is_new);
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
        let chap = |secrets: &[(&str, &str)]| disk(&map(&WHOLE), &map(secrets)).unwrap().target.chap;
        assert!(chap(&[]).is_none());
        assert!(chap(&[("chap-user", "u")]).is_none(), "half a pair is none");
        let both = [("chap-user", "u"), ("chap-secret", "s"), ("target-user", "v"), ("target-secret", "t")];
        let chap = chap(&both).unwrap();
        assert!(chap.user == "u" && chap.target.is_some_and(|target| target.secret == "t"));
    }
}
