//! A guest's words as they are searched: in small ASCII letters, as they are or with percent-encoding undone. Knows
//! where each byte stands in the words.

/// The bytes that are searched, and where they stand.
#[derive(Debug)]
pub(super) struct View {
    pub bytes: Vec<u8>,
    /// Where each byte begins in the words, and the end of the last one; none: where it stands here.
    places: Option<Vec<usize>>,
}

impl View {
    /// The words as they are.
    pub(super) fn plain(text: &[u8]) -> Self {
        Self { bytes: text.to_ascii_lowercase(), places: None }
    }

    /// The words without percent-encoding; none: there is none in them.
    pub(super) fn decoded(text: &[u8]) -> Option<Self> {
        if !text.contains(&b'%') {
            return None;
        }
        let (mut bytes, mut places, mut at) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len() + 1), 0);
        while let Some(&byte) = text.get(at) {
            let escaped = text.get(at..).and_then(escaped);
            bytes.push(escaped.unwrap_or(byte).to_ascii_lowercase());
            places.push(at);
            at += if escaped.is_some() { 3 } else { 1 };
        }
        places.push(at);
        Some(Self { bytes, places: Some(places) })
    }

    /// Where a byte stands in the words; of the byte behind the last: their end.
    pub(super) fn place(&self, at: usize) -> usize {
        self.places.as_ref().map_or(at, |places| places.get(at).copied().unwrap_or(at))
    }
}

/// The byte that an escape at the beginning stands for.
fn escaped(text: &[u8]) -> Option<u8> {
    let &[b'%', high, low, ..] = text else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// How many bytes at the end are the beginning of an escape.
pub(super) fn unfinished(text: &str) -> usize {
    let text = text.as_bytes();
    let is_begun = |length: usize| text.len().checked_sub(length).and_then(|at| text.get(at)) == Some(&b'%');
    [1, 2].into_iter().find(|length| is_begun(*length)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_found_again() {
        let view = View::decoded(b"A%41%2fb%zz%").unwrap();
        assert_eq!(view.bytes, b"aa/b%zz%");
        let places: Vec<_> = (0..=view.bytes.len()).map(|at| view.place(at)).collect();
        assert_eq!(places, [0, 1, 4, 7, 8, 9, 10, 11, 12]);
        assert!(View::decoded(b"a+b").is_none());
        assert_eq!(["a%", "a%4", "a%41", "", "4"].map(unfinished), [1, 2, 0, 0, 0]);
    }
}
