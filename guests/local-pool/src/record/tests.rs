//! Records read back as they were written, and what nobody wrote is refused.

use proptest::prelude::*;

use super::*;

fn volume() -> VolumeRecord {
    decode(br#"{"format":1,"id":"legacy","content":"ext4"}"#).unwrap()
}

#[test]
fn an_operator_needs_three_fields() {
    let record = volume();
    assert_eq!(record.content, Content::FileSystem("ext4".to_owned()));
    assert_eq!((record.capacity_bytes, record.reserve, record.uuid), (0, Reserve::Thin, Uuid::Own));
    assert!(record.name.is_empty() && record.attachments.is_empty());
}

/// As version 0.1.0 wrote it: the text must stay readable for ever.
#[test]
fn format_1_stays_readable() {
    let text = br#"{"format":1,"id":"5f0c","name":"pvc-1","content":"xfs","capacity-bytes":314572800,
        "asked-bytes":1048576,"file-system-bytes":314572800,"reserve":"full","source":{"snapshot":"77"},
        "uuid":"copied","topology":[["zone","east"]],"created":{"seconds":1790000000,"nanoseconds":5},
        "attachments":[{"node":"a","mode":"single-node-writer","readonly":false,"fingerprint":"00ff"}]}"#;
    let record: VolumeRecord = decode(text).unwrap();
    assert_eq!(record.source, Some(Source::Snapshot("77".to_owned())));
    assert_eq!((record.reserve, record.uuid), (Reserve::Full, Uuid::Copied));
    assert_eq!(record.attachments[0].node, "a");
    assert_eq!(decode::<VolumeRecord>(&encode(&record).unwrap()).unwrap(), record);
}

#[test]
fn newer_and_damaged_texts_are_told_apart() {
    assert_eq!(decode::<VolumeRecord>(br#"{"format":2,"anything":[]}"#), Err(Unreadable::Newer(2)));
    for text in [&b""[..], b"{}", b"\0\0\0", br#"{"format":0,"id":"a","content":"ext4"}"#, br#"{"format":1,"id":"a"}"#]
    {
        assert!(matches!(decode::<VolumeRecord>(text), Err(Unreadable::Damaged(_))), "{text:?}");
    }
}

#[test]
fn a_directory_says_that_its_size_is_a_promise() {
    let mut record = volume();
    record.content = Content::Directory;
    let context = record.to_volume().volume_context;
    assert!(context.contains(&("kind".to_owned(), "directory".to_owned())));
    assert!(context.iter().any(|(key, value)| key == "capacity" && value.contains("not enforced")));
}

#[test]
fn what_is_written_begins_as_the_reader_expects() {
    assert!(encode(&volume()).unwrap().starts_with(CURRENT));
    assert_eq!(decode::<VolumeRecord>(br#"{"id":"x","content":"ext4","format":2}"#), Err(Unreadable::Newer(2)));
    let twice = br#"{"format":1,"format":2,"id":"x","content":"ext4"}"#;
    assert!(matches!(decode::<VolumeRecord>(twice), Err(Unreadable::Damaged(_))));
}

proptest! {
    #[test]
    fn any_volume_reads_back(
        id in "[a-z0-9]{1,40}", name: String, size: u64, full: bool, copied: bool,
        source in proptest::option::of("[a-z0-9]{1,40}"), node: String,
    ) {
        let mut record = volume();
        record.id = id;
        record.name = name;
        record.capacity_bytes = size;
        record.reserve = if full { Reserve::Full } else { Reserve::Thin };
        record.uuid = if copied { Uuid::Copied } else { Uuid::Own };
        record.source = source.map(Source::Volume);
        record.attachments = vec![Attachment { node, mode: "m".to_owned(), readonly: full, fingerprint: String::new() }];
        prop_assert_eq!(decode::<VolumeRecord>(&encode(&record).unwrap()).unwrap(), record);
    }

    #[test]
    fn no_bytes_bring_the_reader_down(bytes: Vec<u8>) {
        let _ = decode::<VolumeRecord>(&bytes);
        let _ = decode::<IntentRecord>(&bytes);
    }
}
