//! Streams of block metadata: each page, and what holds across pages.

use super::bad;
use super::fixtures::*;
use crate::check::{BlockPage, Check, MetadataStream};
use drivebay_proto::pb::csi::v1::{
    BlockMetadata, BlockMetadataType, GetMetadataAllocatedResponse, GetMetadataDeltaResponse,
};

const FIXED: i32 = BlockMetadataType::FixedLength as i32;
const VARIABLE: i32 = BlockMetadataType::VariableLength as i32;
const CAPACITY: i64 = 100;

fn blocks(list: Blocks<'_>) -> Vec<BlockMetadata> {
    let block = |&(byte_offset, size_bytes)| BlockMetadata { byte_offset, size_bytes };
    list.iter().map(block).collect()
}

/// Blocks as (offset, size).
type Blocks<'a> = &'a [(i64, i64)];

/// A page by its kind, capacity, blocks, and where the next one starts.
type Page<'a> = (i32, i64, Blocks<'a>, Option<u64>);

/// Feeds the pages of a stream; the first breach as the page's number and the field.
fn feed(start: i64, most: i32, pages: &[Page<'_>]) -> Result<(), (usize, String)> {
    let mut stream = MetadataStream::new(start, most);
    for (at, (kind, capacity, list, next)) in pages.iter().enumerate() {
        let page = BlockPage { kind: *kind, capacity: *capacity, blocks: &blocks(list) };
        stream.page(page, *next).map_err(|bad| (at, bad.field))?;
    }
    Ok(())
}

#[test]
fn good_streams_pass() {
    let streams: [(i64, i32, &[Page<'_>]); 8] = [
        (0, 0, &[(FIXED, CAPACITY, &[], None)]),
        (0, 2, &[(FIXED, CAPACITY, &[(0, 10), (10, 10)], Some(20)), (FIXED, CAPACITY, &[(90, 10)], None)]),
        (0, 0, &[(VARIABLE, CAPACITY, &[(0, 1), (5, 95)], None)]),
        // a block that begins before the offset asked for and ends behind it
        (15, 0, &[(FIXED, CAPACITY, &[(10, 10)], None)]),
        // an empty page that still leads on
        (0, 0, &[(FIXED, CAPACITY, &[], Some(50)), (FIXED, CAPACITY, &[(50, 10)], None)]),
        // a next page behind a gap
        (0, 0, &[(FIXED, CAPACITY, &[(0, 10)], Some(40)), (FIXED, CAPACITY, &[(40, 10)], None)]),
        (CAPACITY, 0, &[(FIXED, CAPACITY, &[], None)]),
        (0, 0, &[(VARIABLE, i64::MAX, &[(i64::MAX - 1, 1)], None)]),
    ];
    for (start, most, pages) in streams {
        assert_eq!(feed(start, most, pages), Ok(()), "{start} {most} {pages:?}");
    }
}

#[test]
fn a_page_says_what_it_is_and_leads_on() {
    let cases: [(&str, Page<'_>); 7] = [
        ("block-metadata-type", (0, CAPACITY, &[], None)),
        ("block-metadata-type", (7, CAPACITY, &[], None)),
        ("volume-capacity-bytes", (FIXED, 0, &[], None)),
        ("volume-capacity-bytes", (FIXED, -1, &[], None)),
        ("next-offset", (FIXED, CAPACITY, &[(0, 10)], Some(5))),
        ("next-offset", (FIXED, CAPACITY, &[(0, 10)], Some(100))),
        ("next-offset", (FIXED, CAPACITY, &[], Some(u64::MAX))),
    ];
    for (field, page) in cases {
        let verdict = feed(0, 0, &[page]);
        assert_eq!(verdict, Err((0, field.to_owned())), "{page:?}");
    }
}

#[test]
fn a_page_keeps_to_what_was_asked() {
    let two: Page<'_> = (FIXED, CAPACITY, &[(0, 10), (10, 10)], None);
    let verdict = feed(0, 1, &[two]);
    assert_eq!(verdict, Err((0, "block-metadata".to_owned())));
    let verdict = feed(10, 0, &[two]);
    assert_eq!(verdict, Err((0, "block-metadata[0].byte-offset".to_owned())));
    let verdict = feed(101, 0, &[two]);
    assert_eq!(verdict, Err((0, "volume-capacity-bytes".to_owned())));
}

#[test]
fn blocks_rise_within_the_volume() {
    let cases: [(&str, i32, Blocks<'_>); 9] = [
        ("[0].size-bytes", FIXED, &[(0, 0)]),
        ("[0].size-bytes", FIXED, &[(0, -1)]),
        ("[0].byte-offset", FIXED, &[(-10, 20)]),
        ("[1].byte-offset", FIXED, &[(10, 10), (0, 10)]),
        ("[1].byte-offset", FIXED, &[(0, 10), (9, 10)]),
        ("[1].byte-offset", FIXED, &[(0, 10), (0, 10)]),
        ("[0].size-bytes", FIXED, &[(95, 10)]),
        ("[0].size-bytes", VARIABLE, &[(i64::MAX, 1)]),
        ("[1].size-bytes", FIXED, &[(0, 10), (10, 5)]),
    ];
    for (field, kind, list) in cases {
        let verdict = feed(0, 0, &[(kind, CAPACITY, list, None)]);
        let expected = Err((0, format!("block-metadata{field}")));
        assert_eq!(verdict, expected, "{list:?}");
    }
}

#[test]
fn rules_hold_across_pages() {
    let first: Page<'_> = (FIXED, CAPACITY, &[(0, 10)], Some(10));
    let cases: [(&str, Page<'_>); 6] = [
        ("block-metadata-type", (VARIABLE, CAPACITY, &[], None)),
        ("volume-capacity-bytes", (FIXED, CAPACITY + 1, &[], None)),
        ("block-metadata[0].byte-offset", (FIXED, CAPACITY, &[(5, 10)], None)),
        ("block-metadata[0].byte-offset", (FIXED, CAPACITY, &[(0, 10)], None)),
        ("block-metadata[0].size-bytes", (FIXED, CAPACITY, &[(10, 20)], None)),
        ("next-offset", (FIXED, CAPACITY, &[], Some(10))),
    ];
    for (field, second) in cases {
        assert_eq!(feed(0, 0, &[first, second]), Err((1, field.to_owned())), "{second:?}");
    }
}

/// A page that leads nowhere would be asked for again and again.
#[test]
fn an_offset_that_does_not_move_on_is_bad() {
    let pages: [Page<'_>; 1] = [(FIXED, CAPACITY, &[], Some(0))];
    assert_eq!(feed(0, 0, &pages), Err((0, "next-offset".to_owned())));
}

#[test]
fn single_messages_are_checked_like_streams_of_one() {
    let answer = GetMetadataAllocatedResponse {
        block_metadata_type: FIXED,
        volume_capacity_bytes: CAPACITY,
        block_metadata: blocks(&[(0, 10), (10, 10)]),
    };
    bad(
        &get_allocated(),
        &answer,
        &everything(),
        &[
            ("block-metadata-type", |a| a.block_metadata_type = 0),
            ("block-metadata", |a| {
                a.block_metadata.extend(blocks(&[(20, 10)]));
            }),
            ("block-metadata[1].byte-offset", |a| {
                a.block_metadata[1].byte_offset = 5;
            }),
        ],
    );
    let delta = GetMetadataDeltaResponse {
        block_metadata_type: VARIABLE,
        volume_capacity_bytes: CAPACITY,
        block_metadata: blocks(&[(0, 10)]),
    };
    bad(
        &get_delta(),
        &delta,
        &everything(),
        &[
            ("volume-capacity-bytes", |a| a.volume_capacity_bytes = 0),
            ("block-metadata[0].size-bytes", |a| {
                a.block_metadata[0].size_bytes = 0;
            }),
        ],
    );
    let mut late = get_delta();
    late.starting_offset = 10;
    let refusal = late.check_answer(&delta, &everything()).unwrap_err();
    assert_eq!(refusal.field, "block-metadata[0].byte-offset");
}
