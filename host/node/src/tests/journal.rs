//! The ledger's file: torn ends, damage, compaction, reboots.

use std::fs;
use std::path::Path;

use crate::ErrorCode;
use crate::helper::book::Book;
use crate::helper::journal::{FILE, Header, Journal, JournalError};
use crate::helper::ledger::{FileId, Record, Renewal};

fn record(number: u64) -> Record {
    Record::Forget { backend: "b".to_owned(), volume: format!("v{number}"), path: "/ä \n".to_owned() }
}

fn written(directory: &Path, count: u64) -> Vec<u8> {
    let mut journal = Journal::create(directory, &Header::new(1, "boot"), &[]).unwrap();
    for number in 0..count {
        journal.append(&record(number)).unwrap();
    }
    fs::read(directory.join(FILE)).unwrap()
}

#[test]
fn a_torn_end_loses_the_last_record_only_and_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let whole = written(directory.path(), 4);
    let header_end = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in header_end..=whole.len() {
        fs::write(directory.path().join(FILE), &whole[..length]).unwrap();
        let (mut journal, _, records) = Journal::open(directory.path(), "boot").unwrap().unwrap();
        let complete = whole[header_end..length].iter().filter(|byte| **byte == b'\n').count();
        let expected: Vec<_> = (0..complete as u64).map(record).collect();
        assert_eq!(records, expected, "cut at {length}");
        journal.append(&record(9)).unwrap();
        let (_, _, records) = Journal::open(directory.path(), "boot").unwrap().unwrap();
        assert_eq!(records.len(), complete + 1, "appending after a cut at {length}");
    }
}

#[test]
fn damage_before_the_end_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let whole = written(directory.path(), 4);
    let second_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 12;
    let mut damaged = whole.clone();
    damaged[second_line] ^= 1;
    fs::write(directory.path().join(FILE), &damaged).unwrap();
    let error = Journal::open(directory.path(), "boot").unwrap_err();
    assert!(matches!(error, JournalError::Damaged { line: 2, .. }), "{error}");
    let refused = Book::open(directory.path(), "boot").unwrap_err();
    assert_eq!(refused.code, ErrorCode::Failed);
    assert_eq!(fs::read(directory.path().join(FILE)).unwrap(), damaged, "the evidence is kept");
}

#[test]
fn another_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = String::from_utf8(written(directory.path(), 0)).unwrap();
    // The checksum of a header with the format 2, as the IEEE polynomial gives it.
    let json = text.trim_end().split_once(' ').unwrap().1.replace("\"format\":1", "\"format\":2");
    assert_eq!(json, r#"{"format":2,"next_id":1,"boot":"boot"}"#);
    fs::write(directory.path().join(FILE), format!("{HEADER_2_SUM} {json}\n")).unwrap();
    let error = Journal::open(directory.path(), "boot").unwrap_err();
    assert!(matches!(error, JournalError::Format { found: 2, .. }), "{error}");
}

/// From another program: `python3 -c 'import zlib; print("%08x" % zlib.crc32(b"{...}"))'`.
const HEADER_2_SUM: &str = "fa7c8a62";

#[test]
fn compacting_keeps_the_ledger_and_its_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let (mut book, _) = Book::open(directory.path(), "boot").unwrap();
    let renewal = Renewal { backend: "b".to_owned(), volume: "v".to_owned(), image: FileId { device: 1, inode: 2 } };
    book.record(&Record::Renew(renewal)).unwrap();
    let mut longest = 0;
    for number in 0..2_000 {
        assert_eq!(book.take_id(), number + 1);
        book.record(&Record::Strike(number + 1)).unwrap();
        longest = longest.max(book.file_length());
    }
    assert!(longest < 20_000, "it grew to {longest} bytes");
    let before = book.ledger().clone();
    drop(book);
    let (book, _) = Book::open(directory.path(), "boot").unwrap();
    assert_eq!(book.ledger(), &before);
    assert!(book.ledger().renewal("b", "v").is_some());
    assert_eq!(book.next_id(), 2_001);
}

#[test]
fn after_a_reboot_only_unfinished_changes_of_images_are_left() {
    let directory = tempfile::tempdir().unwrap();
    let (mut book, _) = Book::open(directory.path(), "first").unwrap();
    let image = FileId { device: 1, inode: 2 };
    let renewal = Renewal { backend: "b".to_owned(), volume: "v".to_owned(), image };
    book.record(&Record::Renew(renewal)).unwrap();
    let publication = super::harness::publication("v", crate::PublicationKind::Stage, "/s");
    let standing = book.ledger().acknowledgement("b", "c", Some(publication));
    book.record(&standing).unwrap();
    assert_eq!(book.ledger().standings().len(), 1);
    drop(book);
    let (book, vanished) = Book::open(directory.path(), "second").unwrap();
    assert_eq!(vanished, vec![]);
    assert_eq!(book.ledger().standings(), &[]);
    assert!(book.ledger().renewal("b", "v").is_some());
}

#[test]
fn after_a_reboot_damage_behind_the_last_synced_line_is_what_a_power_cut_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let (mut book, _) = Book::open(directory.path(), "first").unwrap();
    let image = FileId { device: 1, inode: 2 };
    book.record(&record(1)).unwrap();
    book.record(&Record::Renew(Renewal { backend: "b".to_owned(), volume: "v".to_owned(), image })).unwrap();
    let synced = usize::try_from(book.file_length()).unwrap();
    for number in 2..40 {
        book.record(&record(number)).unwrap();
    }
    drop(book);
    // The file has its length, and a page in the middle never reached the disk.
    let mut torn = fs::read(directory.path().join(FILE)).unwrap();
    torn[synced + 10..synced + 200].fill(0);
    fs::write(directory.path().join(FILE), &torn).unwrap();
    let refused = Book::open(directory.path(), "first").unwrap_err();
    assert_eq!(refused.code, ErrorCode::Failed, "the machine did not start anew: this is damage");
    let (book, _) = Book::open(directory.path(), "second").unwrap();
    assert!(book.ledger().renewal("b", "v").is_some());
}
