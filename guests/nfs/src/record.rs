//! What is kept of a volume beside its files, as text, and what a request for one comes to. Pure.

use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::types::{CapacityRange, StringMap, VolumeCapability};
use drivebay_sdk::volumes::CreateVolumeRequest;
use drivebay_sdk::{Error, Reason, Result, names};

/// Sizes are multiples of this.
const STEP: u64 = 4_096;
/// The size when the client names none.
const DEFAULT: u64 = 1 << 30;
/// What clients put among the parameters by themselves.
const THEIRS: [&str; 2] = ["csi.storage.k8s.io/", "storage.kubernetes.io/"];

/// What becomes of a volume's files when it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDelete {
    /// They are removed.
    Remove,
    /// They stay in the export, under another name.
    Archive,
}

const WORDS: [(&str, OnDelete); 2] = [("remove", OnDelete::Remove), ("archive", OnDelete::Archive)];

/// A volume, but for its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The client's name for it.
    pub(crate) name: String,
    /// What the client was promised. An export has no limit for a directory.
    pub(crate) bytes: u64,
    pub(crate) on_delete: OnDelete,
}

impl Record {
    /// The volume that a request is for.
    pub(crate) fn wanted(request: &CreateVolumeRequest) -> Result<Self> {
        if request.volume_content_source.is_some() {
            return Err(Error::invalid_argument("volumes of an NFS export are made empty: it has no copies"));
        }
        if let Some(why) = request.volume_capabilities.iter().find_map(objection) {
            return Err(Error::invalid_argument(why));
        }
        let on_delete = on_delete(&request.parameters)?;
        let bytes = CapacityRange::choose(request.capacity_range, DEFAULT, STEP)?;
        Ok(Self { name: request.name.clone(), bytes, on_delete })
    }

    /// `already-exists`: this volume is not what is asked for under its name.
    pub(crate) fn expect(&self, wanted: &Self, range: Option<CapacityRange>) -> Result<()> {
        if self.on_delete == wanted.on_delete && range.is_none_or(|range| range.contains(self.bytes)) {
            return Ok(());
        }
        let message = format!("the name {} belongs to a volume of {} bytes that differs", self.name, self.bytes);
        Err(Error::already_exists(message).with_reason(Reason::Incompatible))
    }

    /// As it stands in the export.
    pub(crate) fn write(&self) -> String {
        let word = WORDS.iter().find(|(_, choice)| *choice == self.on_delete).map_or("", |(word, _)| word);
        format!("drivebay-nfs 1\nname {}\nbytes {}\non-delete {word}\n", names::encode(&self.name), self.bytes)
    }

    /// Reads it; none: nobody here wrote that.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let mut value = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        value("drivebay-nfs").filter(|version| *version == "1")?;
        let name = names::decode(value("name")?)?;
        let bytes = value("bytes")?.parse().ok()?;
        let word = value("on-delete")?;
        let (_, on_delete) = WORDS.into_iter().find(|(known, _)| *known == word)?;
        lines.next().is_none().then_some(Self { name, bytes, on_delete })
    }
}

/// Why a volume cannot be used so; none: it can.
pub(crate) fn objection(capability: &VolumeCapability) -> Option<String> {
    capability.is_block().then(|| "an NFS export has no block devices".to_owned())
}

/// Whether clients put this key among what is ours.
pub(crate) fn is_clients(key: &str) -> bool {
    THEIRS.iter().any(|prefix| key.starts_with(prefix))
}

/// Reads the parameters of a class. `invalid-argument`: one is unknown.
pub(crate) fn on_delete(parameters: &StringMap) -> Result<OnDelete> {
    let own = |(key, _): &&(String, String)| !is_clients(key);
    let own: Vec<_> = parameters.iter().filter(own).cloned().collect();
    let mut parameters = Parameters::new(&own);
    let on_delete = parameters.choose("on-delete", &WORDS)?;
    parameters.finish()?;
    Ok(on_delete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_nothing_else_is() {
        for name in ["pvc-1", "Ünïcode / ..", "", "a\nb"] {
            for on_delete in [OnDelete::Remove, OnDelete::Archive] {
                let record = Record { name: name.to_owned(), bytes: 4_096, on_delete };
                assert_eq!(Record::read(&record.write()), Some(record));
            }
        }
        let whole = Record { name: "a".into(), bytes: 1, on_delete: OnDelete::Remove }.write();
        for end in 0..whole.len() {
            assert_eq!(Record::read(&whole[..end]), None, "a torn record: {end}");
        }
        for wrong in [whole.replace("nfs 1", "nfs 2"), whole.replace("bytes 1", "bytes x"), format!("{whole}more\n")] {
            assert_eq!(Record::read(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn parameters_choose_what_becomes_of_deleted_volumes() {
        let read = |key: &str, value: &str| on_delete(&vec![(key.to_owned(), value.to_owned())]);
        assert_eq!(on_delete(&Vec::new()).unwrap(), OnDelete::Remove);
        assert_eq!(read("on-delete", "archive").unwrap(), OnDelete::Archive);
        assert_eq!(read("csi.storage.k8s.io/pvc/name", "data").unwrap(), OnDelete::Remove);
        assert!(read("on-delete", "keep").is_err() && read("colour", "red").is_err());
    }

    #[test]
    fn a_name_with_another_size_is_taken() {
        let record = |bytes| Record { name: "a".into(), bytes, on_delete: OnDelete::Remove };
        let range = |required_bytes, limit_bytes| Some(CapacityRange { required_bytes, limit_bytes });
        record(8_192).expect(&record(4_096), range(Some(4_096), None)).unwrap();
        record(8_192).expect(&record(4_096), None).unwrap();
        assert!(record(8_192).expect(&record(4_096), range(None, Some(4_096))).is_err());
        let other = Record { on_delete: OnDelete::Archive, ..record(8_192) };
        assert!(record(8_192).expect(&other, None).is_err());
    }
}
