//! What makes one tester different from another: a text in the compiled file that tests change, so that
//! one build gives any number of versions. It owns the words; what each does stands where it is done.

/// Every field keeps its length when a test changes it.
static STAMP: &str = "tester-stamp name=tester.drivebay.dev version=1.0.1000 writes=1 reads=1 mood=good ";

/// A field of the stamp.
pub(crate) fn field(name: &str) -> &'static str {
    // Whatever the compiler knew of the text would no longer be true of a changed file.
    let stamp = std::hint::black_box(STAMP);
    let value = stamp.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_default()
}

/// A number in the stamp.
pub(crate) fn number(name: &str) -> u32 {
    field(name).parse().unwrap_or(0)
}

/// Whether this tester has this mood: `desc` and `trap` fail or trap when described, `prob` when probed,
/// `self` in the self-test; `less` and `more` describe a feature less or more, `want` a grant that nobody
/// gives; `thrd` traps on one new volume in three, `rtrp` whenever the capacity is asked for; `diff` answers that
/// otherwise, and writes while it does.
pub(crate) fn is(mood: &str) -> bool {
    field("mood") == mood
}
