//! What a random program is made of: operations on files, and the paths that they are likely to meet at.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Debug, Clone)]
pub(super) enum Op {
    Open { at: usize, path: String, follow: bool, how: u8, access: u8 },
    Close(usize),
    Read { at: usize, length: u64, offset: u64 },
    Write { at: usize, length: usize, offset: u64 },
    StreamIn { at: usize, offset: u64 },
    StreamOut { at: usize, length: usize, offset: Option<u64> },
    SetSize { at: usize, size: u64 },
    SetTimes { at: usize, path: Option<String>, follow: bool },
    Stat(usize),
    StatAt { at: usize, path: String, follow: bool },
    About(usize),
    Same(usize, usize),
    List(usize),
    MakeDirectory { at: usize, path: String },
    RemoveDirectory { at: usize, path: String },
    Unlink { at: usize, path: String },
    Rename { at: usize, path: String, to: usize, new: String },
    Link { at: usize, path: String, follow: bool, to: usize, new: String },
    Symlink { at: usize, text: String, path: String },
    ReadLink { at: usize, path: String },
    Sync { at: usize, contents: bool },
}

fn path() -> impl Strategy<Value = String> {
    let name = select(vec![
        "a",
        "b",
        "c",
        "a",
        "b",
        "..",
        ".",
        "\u{e9}",
        "a-long-name-that-is-still-well-below-what-is-allowed",
    ]);
    let plain =
        (vec(name, 1..4), select(vec!["", "", "", "/", "/.", "//"])).prop_map(|(names, end)| names.join("/") + end);
    prop_oneof![
        12 => plain,
        1 => Just(String::new()),
        1 => Just("/a".to_owned()),
        1 => Just("nul\0inside".to_owned()),
        1 => Just("x".repeat(256)),
    ]
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let at = || 0_usize..6;
    prop_oneof![
        6 => (at(), path(), any::<bool>(), 0_u8..16, 0_u8..4)
            .prop_map(|(at, path, follow, how, access)| Op::Open { at, path, follow, how, access }),
        1 => at().prop_map(Op::Close),
        2 => (at(), 0_u64..100_000, select(vec![0, 3, 70_000, u64::MAX]))
            .prop_map(|(at, length, offset)| Op::Read { at, length, offset }),
        3 => (at(), 0_usize..9000, select(vec![0, 5, 5000, u64::MAX]))
            .prop_map(|(at, length, offset)| Op::Write { at, length, offset }),
        2 => (at(), 0_u64..9000).prop_map(|(at, offset)| Op::StreamIn { at, offset }),
        2 => (at(), 0_usize..9000, proptest::option::of(0_u64..9000))
            .prop_map(|(at, length, offset)| Op::StreamOut { at, length, offset }),
        1 => (at(), select(vec![0, 1, 8192, u64::MAX])).prop_map(|(at, size)| Op::SetSize { at, size }),
        1 => (at(), proptest::option::of(path()), any::<bool>())
            .prop_map(|(at, path, follow)| Op::SetTimes { at, path, follow }),
        1 => at().prop_map(Op::Stat),
        3 => (at(), path(), any::<bool>()).prop_map(|(at, path, follow)| Op::StatAt { at, path, follow }),
        1 => at().prop_map(Op::About),
        1 => (at(), at()).prop_map(|(one, other)| Op::Same(one, other)),
        2 => at().prop_map(Op::List),
        4 => (at(), path()).prop_map(|(at, path)| Op::MakeDirectory { at, path }),
        2 => (at(), path()).prop_map(|(at, path)| Op::RemoveDirectory { at, path }),
        2 => (at(), path()).prop_map(|(at, path)| Op::Unlink { at, path }),
        3 => (at(), path(), at(), path()).prop_map(|(at, path, to, new)| Op::Rename { at, path, to, new }),
        2 => (at(), path(), any::<bool>(), at(), path())
            .prop_map(|(at, path, follow, to, new)| Op::Link { at, path, follow, to, new }),
        3 => (at(), path(), path()).prop_map(|(at, text, path)| Op::Symlink { at, text, path }),
        2 => (at(), path()).prop_map(|(at, path)| Op::ReadLink { at, path }),
        1 => (at(), any::<bool>()).prop_map(|(at, contents)| Op::Sync { at, contents }),
    ]
}
