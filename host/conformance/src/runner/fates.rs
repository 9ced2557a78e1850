//! What becomes of the rules that a driver's end cut off. A table, and no effects: a driver is accused of ending under a
//! rule only when nothing else can have ended it.

/// What becomes of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The driver ended because of it.
    Finding,
    /// It is judged once more, with nothing beside it, to see whether the driver ends because of it.
    Alone,
    /// It is judged from its beginning.
    Again,
    /// It cannot be judged any more; so many other rules may have ended the driver as well.
    Open(usize),
}

/// The fates of all rules that were cut off: of each, whether a call of it was under way; and whether the driver is back.
pub(super) fn of(under_way: &[bool], is_back: bool) -> Vec<Fate> {
    let suspects = under_way.iter().filter(|it| **it).count();
    let fate = |&is_suspect: &bool| match (is_suspect, suspects, is_back) {
        (true, 1, _) => Fate::Finding,
        (true, _, true) => Fate::Alone,
        (false, _, true) => Fate::Again,
        (true, _, false) => Fate::Open(suspects.saturating_sub(1)),
        (false, _, false) => Fate::Open(suspects),
    };
    under_way.iter().map(fate).collect()
}

#[cfg(test)]
mod tests {
    use super::Fate::{Again, Alone, Finding, Open};
    use super::of;

    #[test]
    fn a_driver_is_accused_only_where_nothing_else_can_have_ended_it() {
        for (under_way, is_back, fates) in [
            (&[true, false][..], false, &[Finding, Open(1)][..]),
            (&[true, false], true, &[Finding, Again]),
            (&[true, true, false], false, &[Open(1), Open(1), Open(2)]),
            (&[true, true, false], true, &[Alone, Alone, Again]),
            (&[false, false], false, &[Open(0), Open(0)]),
            (&[false, false], true, &[Again, Again]),
            (&[], true, &[]),
        ] {
            assert_eq!(of(under_way, is_back), fates, "{under_way:?} {is_back}");
        }
    }
}
