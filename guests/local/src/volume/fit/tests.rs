//! Which use suits which content.

use drivebay_sdk::types::AccessMode::{
    MultiNodeMultiWriter, MultiNodeReaderOnly, MultiNodeSingleWriter, SingleNodeMultiWriter, SingleNodeWriter,
};

use super::*;

fn mount(fs_type: &str, flags: &[&str], group: Option<&str>, access_mode: AccessMode) -> VolumeCapability {
    let mount = MountVolume {
        fs_type: Some(fs_type.to_owned()),
        mount_flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        volume_mount_group: group.map(str::to_owned),
    };
    VolumeCapability { access_type: AccessType::Mount(mount), access_mode }
}

fn block(access_mode: AccessMode) -> VolumeCapability {
    VolumeCapability { access_type: AccessType::Block, access_mode }
}

#[test]
fn contents_bear_what_they_are_made_for() {
    let (ext4, directory) = (Content::FileSystem("ext4".to_owned()), Content::Directory);
    for (content, capability) in [
        (&ext4, mount("", &["noatime"], Some("2000"), SingleNodeWriter)),
        (&ext4, mount("ext4", &[], None, MultiNodeReaderOnly)),
        (&ext4, mount("", &[], Some(""), SingleNodeMultiWriter)),
        (&directory, mount("", &[], Some("5"), MultiNodeMultiWriter)),
        (&Content::Block, block(MultiNodeMultiWriter)),
    ] {
        assert_eq!(check(content, &capability), Ok(()), "{content}");
    }
    for (content, capability, word) in [
        (&ext4, mount("xfs", &[], None, SingleNodeWriter), "ext4"),
        (&ext4, mount("", &[], None, MultiNodeMultiWriter), "kind=directory"),
        (&ext4, mount("", &[], None, MultiNodeSingleWriter), "kind=directory"),
        (&ext4, mount("", &[], Some("staff"), SingleNodeWriter), "number"),
        (&ext4, block(SingleNodeWriter), "ext4"),
        (&directory, block(SingleNodeWriter), "directory"),
        (&directory, mount("ext4", &[], None, SingleNodeWriter), "ext4"),
        (&directory, mount("", &["noatime"], None, SingleNodeWriter), "mount options"),
        (&Content::Block, mount("", &[], None, SingleNodeWriter), "raw block"),
    ] {
        let why = check(content, &capability).unwrap_err();
        assert!(why.contains(word) && !why.contains("noatime"), "{why}");
    }
}

#[test]
fn marks_tell_ways_apart_and_hide_options() {
    let plain = mount("ext4", &[], None, SingleNodeWriter);
    let secret = mount("ext4", &["password=sesame"], None, SingleNodeWriter);
    assert_eq!(fingerprint(&plain), fingerprint(&plain.clone()));
    assert_ne!(fingerprint(&plain), fingerprint(&secret));
    assert_ne!(fingerprint(&plain), fingerprint(&mount("ext4", &[], None, SingleNodeMultiWriter)));
    assert!(!fingerprint(&secret).contains("sesame"));
}
