//! A link that fails: lost in the middle of a transfer and restored, and one byte flipped in each kind
//! of file there. Whatever comes, a copy is what a whole transfer made it.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tonic::Code;

use super::pair::{Copied, Pair, is_there, repeated_while_unavailable, source, until};
use crate::support::expect;
use crate::support::place::PoolKind;
use crate::support::site::{Content, Volume};

/// Three segments of a transfer.
const LARGE: u64 = 192 << 20;

/// Several schedules: when nothing new is sent for so long, the last transfer waits for the other side.
const SCHEDULES: Duration = Duration::from_secs(4);

/// What is on its way.
const WORD: &[u8] = b"must not come damaged";

/// The link is lost while a first transfer is on its way; it goes on where it was.
#[tokio::test]
async fn the_link_is_lost_and_restored() {
    let Some(pair) = Pair::start(PoolKind::Xfs).await else { return };
    let volume = pair.a.site.create("v", Content::Block, None).await.unwrap();
    pair.a.site.expand(&volume, i64::try_from(LARGE).unwrap()).await.unwrap();
    fill(&pair.a.site.place.image("volumes", &volume.id));
    let a = source(&volume);
    pair.a.enable(&a, json!({ "mode": "sync-on-demote" })).await.unwrap();
    let folder = pair.folder(&pair.a, &pair.a.uid("volumes", &volume.id)).join("1-1");
    until(|| async { is_there(&folder.join("000001.json")).then_some(()) }, "nothing is ever sent").await;
    pair.lose_link();
    let lost = pair.lost(&folder);
    let begun = std::fs::metadata(lost.join("000001.data")).unwrap();
    assert!(!is_there(&lost.join("manifest.json")), "it was sent in one piece");
    expect(&pair.a.try_info(&a).await.unwrap_err(), Code::NotFound, "no transfer of");
    expect(&pair.a.demote(&a).await.unwrap_err(), Code::Unavailable, "");
    // Both have come upon it.
    for end in [&pair.a, &pair.b] {
        end.site.host.log.wait("the link directory", 1).await;
    }

    // Running, the other side takes and removes what was sent at once.
    pair.b.signal(Signal::STOP);
    pair.restore_link();
    until(|| async { is_there(&folder.join("manifest.json")).then_some(()) }, "it is never sent").await;
    let ended = std::fs::metadata(folder.join("000001.data")).unwrap();
    pair.b.signal(Signal::CONT);
    assert_eq!((begun.ino(), begun.mtime_nsec()), (ended.ino(), ended.mtime_nsec()), "it was sent again");
    let id = pair.a.copy_of(&a).await;
    let info = pair.a.info(&a).await;
    assert_eq!(info["lastSyncBytes"], LARGE.to_string(), "{info}");
    let copied = Copied { a: volume, b: Volume::known(&id, "copy", Content::Block) };
    pair.assert_same(&copied);

    // A demotion that promises to lose nothing changes nothing while the peer cannot be reached.
    pair.lose_link();
    expect(&pair.a.demote(&a).await.unwrap_err(), Code::Unavailable, "");
    assert_eq!(pair.a.info(&a).await["status"], "DEGRADED", "it is still primary");
    pair.restore_link();
    repeated_while_unavailable(|| async { pair.a.demote(&a).await }).await;
    pair.b.promote(&source(&copied.b)).await.unwrap();
}

/// No two parts of it are the same.
fn fill(image: &Path) {
    let image = OpenOptions::new().write(true).open(image).unwrap();
    for part in 0..LARGE >> 16 {
        let mut bytes = vec![u8::try_from(part % 251).unwrap() + 1; 1 << 16];
        bytes[..8].copy_from_slice(&part.to_le_bytes());
        image.write_all_at(&bytes, part << 16).unwrap();
    }
    image.sync_all().unwrap();
}

/// Data, the text of a segment, the manifest: refused by name, nothing applied, and sent again.
#[tokio::test]
async fn a_flipped_byte_in_a_transfer_is_refused_by_name() {
    let Some(pair) = Pair::start(PoolKind::Xfs).await else { return };
    let copied = pair.replicated("v", b"first", json!({ "schedulingInterval": "1s" })).await;
    let mut offsets = (0..32).map(|number| 4_000_000 + 65_536 * number);
    for kind in ["000001.data", "000001.json", "manifest.json"] {
        flip_in_transfer(&pair, &copied, kind, &mut offsets).await;
    }
}

async fn flip_in_transfer(pair: &Pair, copied: &Copied, kind: &str, offsets: &mut impl Iterator<Item = u64>) {
    let folder = pair.folder(&pair.a, &pair.a.uid("volumes", &copied.a.id));
    // One that was cut before the writing may be on its way: then that is let through first.
    let (at, before, transfer) = loop {
        let at = offsets.next().expect("there are enough");
        pair.b.signal(Signal::STOP);
        let before = pair.b.bytes(&copied.b);
        // The last one stays until both have taken note of it: the copy has that already.
        let known = transfers(&folder);
        pair.a.write(&copied.a, at, WORD);
        let sent = until(|| async { closed(&folder, &known) }, "nothing is ever sent");
        if let Ok(transfer) = tokio::time::timeout(SCHEDULES, sent).await
            && is_there(&transfer.join("000001.data"))
        {
            break (at, before, transfer);
        }
        pair.b.signal(Signal::CONT);
        until(|| async { (pair.b.word(&copied.b, at, WORD.len()) == WORD).then_some(()) }, "it never comes").await;
    };
    pair.a.signal(Signal::STOP);
    flip(&transfer.join(kind));
    let log = &pair.b.site.host.log;
    let earlier = log.with("is refused").len();
    pair.b.signal(Signal::CONT);
    let name = format!("{}/{kind}", transfer.file_name().unwrap().to_str().unwrap());
    // Either is the end of it, and only one is right.
    let ended = || async {
        let changed = pair.b.bytes(&copied.b) != before;
        (changed || log.with("is refused").len() > earlier).then_some(changed)
    };
    assert!(!until(ended, "it is neither refused nor applied").await, "{kind}: something of it was applied");
    let refusals = log.with("is refused");
    assert!(refusals.iter().any(|line| line.text.contains(&name)), "{name} is not named in {refusals:?}");
    pair.a.signal(Signal::CONT);
    until(|| async { (pair.b.word(&copied.b, at, WORD.len()) == WORD).then_some(()) }, "it is never sent again").await;
    pair.a.info_when(&source(&copied.a), |info| info["status"] == "HEALTHY").await;
    pair.assert_same(copied);
}

/// The folder of a transfer that is closed, and was not there before.
fn closed(folder: &Path, known: &[PathBuf]) -> Option<PathBuf> {
    transfers(folder).into_iter().find(|path| is_there(&path.join("manifest.json")) && !known.contains(path))
}

/// The folders of all transfers.
fn transfers(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.is_dir()).collect()
}

/// What a site says of itself: believed by nobody, named, and written anew. A damaged heartbeat is
/// none, and makes nobody silent at once.
#[tokio::test]
async fn a_flipped_byte_in_what_a_site_says_is_named_and_mended() {
    let Some(pair) = Pair::start(PoolKind::Xfs).await else { return };
    let copied = pair.replicated("v", b"first", json!({})).await;
    let role = pair.folder(&pair.a, &pair.a.uid("volumes", &copied.a.id)).join("role.json");
    let before = pair.b.bytes(&copied.b);
    pair.a.signal(Signal::STOP);
    for path in [role, pair.home(&pair.a).join("site.json")] {
        let whole = std::fs::read(&path).unwrap();
        flip(&path);
        let status = pair.b.promote(&source(&copied.b)).await.unwrap_err();
        assert!([Code::Unavailable, Code::Aborted].contains(&status.code()), "{}: {status:?}", path.display());
        assert!(pair.b.bytes(&copied.b) == before);
        if path.ends_with("role.json") {
            assert_eq!(status.code(), Code::Unavailable);
            pair.b.site.host.log.wait("role.json: ", 1).await;
            std::fs::write(&path, whole).unwrap();
        }
    }
    let damaged = std::fs::read(pair.home(&pair.a).join("site.json")).unwrap();
    pair.a.signal(Signal::CONT);
    let mended = || async { (std::fs::read(pair.home(&pair.a).join("site.json")).unwrap() != damaged).then_some(()) };
    until(mended, "the heartbeat is never given again").await;
    expect(&pair.b.promote(&source(&copied.b)).await.unwrap_err(), Code::Aborted, "demote it there first");

    let role = pair.folder(&pair.b, &pair.a.uid("volumes", &copied.a.id)).join("role.json");
    flip(&role);
    let damaged = std::fs::read(&role).unwrap();
    let told = pair.a.try_info(&source(&copied.a)).await.unwrap();
    let mended = std::fs::read(&role).unwrap() != damaged;
    assert!(mended || told["statusMessage"].as_str().unwrap().contains("role.json"), "{told}");
    pair.a.info_when(&source(&copied.a), |info| info["status"] == "HEALTHY").await;
    assert_ne!(std::fs::read(&role).unwrap(), damaged, "it is not written anew");
}

/// Flips a byte in what the file holds.
fn flip(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    // In what a text says and not in its checksum: it can be read all the same, and says something else.
    let at = match path.extension() {
        Some(kind) if kind == "data" => bytes.iter().position(|byte| *byte != 0).map(|at| at + 3),
        _ => bytes.iter().rposition(u8::is_ascii_digit),
    };
    let at = at.expect("it holds something");
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
}
