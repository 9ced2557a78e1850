//! One byte flipped in each kind of file in the link: refused by name, nothing applied, mended.

use std::fs;

use drivebay_sdk::ErrorCode;
use drivebay_sdk::replication::ReplicationHealth;

use super::World;
use super::sites::*;

/// A transfer that has been sent and not taken in, with one of its files damaged.
fn damaged(kind: &str, damage: fn(&mut Vec<u8>)) {
    refused(kind, kind, damage);
}

/// As `damaged`, and which of the files is named for it.
fn refused(kind: &str, blamed: &str, damage: fn(&mut Vec<u8>)) {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
    let before = contents(&sites.b, &copy);
    write(&sites.a, &id, 300_000, b"must not arrive damaged");
    sites.pass(60_000);
    sites.work_alone(&sites.a, 2);
    let path = sites.files_of(&sites.a).into_iter().find(|path| path.ends_with(kind)).expect(kind);
    let mut bytes = fs::read(&path).unwrap();
    damage(&mut bytes);
    fs::write(&path, bytes).unwrap();
    let path = path.replace(kind, blamed);
    sites.work_alone(&sites.b, 2);
    assert_eq!(contents(&sites.b, &copy), before, "{kind}: something of it was applied");
    let warned = sites.b.warnings.borrow().join("\n") + &sites.failed.borrow().join("\n");
    assert!(warned.contains(&path), "{kind}: {path} is not named in {warned:?}");
    // The peer sends it again.
    sites.run(&sites.a);
    let info = sites.a.info(volume(&id)).unwrap();
    assert_eq!(info.status, Some(ReplicationHealth::Degraded), "{kind}");
    assert!(info.status_message.contains(&path), "{kind}: {}", info.status_message);
    sites.work(15);
    assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id), "{kind}: never mended");
    assert_eq!(sites.a.info(volume(&id)).unwrap().status, Some(ReplicationHealth::Healthy), "{kind}");
}

#[allow(clippy::ptr_arg, reason = "one of several ways to damage a file, and others shorten it")]
fn flip(bytes: &mut Vec<u8>) {
    // In the middle of what was sent, wherever that lies in a sparse file.
    let at = bytes.iter().position(|byte| *byte != 0).unwrap_or_default() + 3;
    bytes[at] ^= 1;
}

/// In what a text says and not in its checksum: it can be read all the same, and says something else.
#[allow(clippy::ptr_arg, reason = "one of several ways to damage a file, and others shorten it")]
fn flip_text(bytes: &mut Vec<u8>) {
    let at = bytes.iter().rposition(u8::is_ascii_digit).expect("a text has a number");
    bytes[at] ^= 1;
}

#[test]
fn a_flipped_byte_in_the_data() {
    damaged("000001.data", flip);
}

#[test]
fn a_flipped_byte_in_the_text_of_a_segment() {
    damaged("000001.json", flip_text);
}

#[test]
fn a_flipped_byte_in_the_manifest() {
    damaged("manifest.json", flip_text);
}

/// Sound in itself, and not what the manifest was made for.
#[test]
fn a_segment_of_another_making() {
    refused("000001.json", "manifest.json", |bytes| {
        let mut body = bytes.split_off(65);
        body.push(b' ');
        *bytes = [local_pool::ids::digest(&body).as_bytes(), b"\n", &body].concat();
    });
}

#[test]
fn a_file_cut_short() {
    damaged("000001.data", |bytes| bytes.truncate(200_000));
    damaged("000001.json", |bytes| bytes.truncate(100));
    damaged("manifest.json", Vec::clear);
}

#[test]
fn a_segment_that_is_gone() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
    let before = contents(&sites.b, &copy);
    write(&sites.a, &id, 300_000, b"more");
    sites.pass(60_000);
    sites.work_alone(&sites.a, 2);
    let path = sites.files_of(&sites.a).into_iter().find(|path| path.ends_with("000001.json")).unwrap();
    fs::remove_file(&path).unwrap();
    sites.work_alone(&sites.b, 2);
    assert_eq!(contents(&sites.b, &copy), before);
    assert!(sites.b.warnings.borrow().iter().any(|words| words.contains(&path)), "{:?}", sites.b.warnings.borrow());
    sites.work(15);
    assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id));
}

/// What a site says of itself is written anew; until then the other believes nothing.
#[test]
fn a_flipped_byte_in_a_role_file() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[]);
    let role = |world: &World| sites.files_of(world).into_iter().find(|path| path.ends_with("role.json")).unwrap();
    for (damaged, looking) in [(&sites.a, &sites.b), (&sites.b, &sites.a)] {
        let path = role(damaged);
        let mut bytes = fs::read(&path).unwrap();
        flip_text(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        if looking.id == "host-b" {
            let refused = looking.promote(volume(&copy), false).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unavailable, "{}", refused.message);
            let warned = looking.warnings.borrow().join("\n");
            assert!(warned.contains(&path), "{path} is not named in {warned:?}");
        } else {
            let info = looking.info(volume(&id)).unwrap();
            assert_eq!(info.status, Some(ReplicationHealth::Degraded));
            assert!(info.status_message.contains(&path), "{}", info.status_message);
        }
        sites.work(15);
        assert_ne!(fs::read(&path).unwrap(), bytes, "it is not written anew");
    }
    assert_eq!(sites.b.promote(volume(&copy), false).unwrap_err().code, ErrorCode::Aborted);
}

#[test]
fn a_flipped_byte_in_a_heartbeat() {
    let sites = Sites::new();
    let (_, copy) = sites.replicated(&[]);
    let path = sites.files_of(&sites.a).into_iter().find(|path| path.ends_with("site.json")).unwrap();
    sites.pass(9_000);
    let mut bytes = fs::read(&path).unwrap();
    flip_text(&mut bytes);
    fs::write(&path, bytes).unwrap();
    // A sign that cannot be read is none, and the one before still counts.
    assert_eq!(sites.b.promote(volume(&copy), false).unwrap_err().code, ErrorCode::Aborted);
    sites.run(&sites.b);
    sites.pass(9_000);
    let silent = sites.b.promote(volume(&copy), false).unwrap_err();
    assert_eq!(silent.code, ErrorCode::FailedPrecondition, "damage is no sign of life: {}", silent.message);
    sites.work(6);
    assert_eq!(sites.b.promote(volume(&copy), false).unwrap_err().code, ErrorCode::Aborted);
}
