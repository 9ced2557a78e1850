//! Choices that a seed makes: the same seed makes the same ones.

/// A source of choices (`SplitMix64`).
#[derive(Debug, Clone)]
pub(super) struct Seed(u64);

impl Seed {
    /// For one purpose, so that the choices of one scenario do not depend on which others ran before it.
    pub(super) fn new(seed: u64, purpose: &str) -> Self {
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(purpose.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix))
    }

    /// The next number.
    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of these; none of none.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        let count = u64::try_from(choices.len()).unwrap_or(u64::MAX);
        let index = usize::try_from(self.number().checked_rem(count)?).ok()?;
        choices.get(index).copied()
    }

    /// At most so many of these, in their order.
    pub(super) fn some_of<T>(&mut self, most: usize, mut choices: Vec<T>) -> Vec<T> {
        while choices.len() > most {
            let count = u64::try_from(choices.len()).unwrap_or(u64::MAX);
            let index = usize::try_from(self.number() % count).unwrap_or_default();
            choices.remove(index);
        }
        choices
    }
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn a_seed_decides_and_a_purpose_too() {
        let draw = |seed, purpose: &str| Seed::new(seed, purpose).some_of(5, (0..100).collect());
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert!(draw(1, "a") != draw(2, "a") && draw(1, "a") != draw(1, "b"));
        assert!(draw(1, "a").is_sorted());
        assert_eq!(Seed::new(1, "").one_of::<u8>(&[]), None);
    }
}
