//! A guest's words as they are searched: in small ASCII letters, as they are, with percent-encoding undone, or with the
//! backslashes of a quoted text undone (JSON, and what languages print for their authors). Knows where each byte stands in
//! the words.

/// The bytes that are searched, and where they stand.
#[derive(Debug)]
pub(super) struct View {
    pub bytes: Vec<u8>,
    /// Where each byte begins in the words, and the end of the last one; none: where it stands here.
    places: Option<Vec<usize>>,
}

impl View {
    /// Every way to read the words.
    pub(super) fn all(text: &[u8]) -> Vec<Self> {
        let plain = std::iter::once(Self::plain(text));
        plain.chain(Self::decoded(text)).chain(Self::unquoted(text)).collect()
    }

    /// The words as they are.
    fn plain(text: &[u8]) -> Self {
        Self { bytes: text.to_ascii_lowercase(), places: None }
    }

    /// The words without percent-encoding; none: there is none in them.
    fn decoded(text: &[u8]) -> Option<Self> {
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

    /// The words without a quoted text's backslashes; none: there is none in them.
    fn unquoted(text: &[u8]) -> Option<Self> {
        if !text.contains(&b'\\') {
            return None;
        }
        let (mut bytes, mut places, mut at) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len() + 1), 0);
        while let Some(&byte) = text.get(at) {
            let letter = text.get(at..).and_then(unescaped);
            match letter {
                Some((letter, _)) => bytes.extend(letter.encode_utf8(&mut [0; 4]).to_ascii_lowercase().bytes()),
                None => bytes.push(byte.to_ascii_lowercase()),
            }
            places.resize(bytes.len(), at);
            at += letter.map_or(1, |(_, length)| length);
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

/// The letter that a backslash at the beginning makes, and how long it is written; none: it makes none.
fn unescaped(text: &[u8]) -> Option<(char, usize)> {
    let (b'\\', rest) = text.split_first()? else { return None };
    let simple = |letter| Some((letter, 2));
    match rest {
        [b'n', ..] => simple('\n'),
        [b'r', ..] => simple('\r'),
        [b't', ..] => simple('\t'),
        [b'b', ..] => simple('\u{8}'),
        [b'f', ..] => simple('\u{c}'),
        [b'0', ..] => simple('\0'),
        [letter @ (b'"' | b'\'' | b'\\' | b'/'), ..] => simple(char::from(*letter)),
        [b'x', rest @ ..] => char::from_u32(number(rest.get(..2)?)?).map(|letter| (letter, 4)),
        [b'u', b'{', rest @ ..] => {
            let digits = rest.get(..rest.iter().take(7).position(|byte| *byte == b'}')?)?;
            char::from_u32(number(digits)?).map(|letter| (letter, digits.len() + 4))
        }
        [b'u', rest @ ..] => match (number(rest.get(..4)?)?, rest.get(4..)) {
            (high @ 0xd800..0xdc00, Some([b'\\', b'u', rest @ ..])) => {
                let low = number(rest.get(..4)?).filter(|low| (0xdc00..0xe000).contains(low))?;
                char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)).map(|letter| (letter, 12))
            }
            (letter, _) => char::from_u32(letter).map(|letter| (letter, 6)),
        },
        _ => None,
    }
}

/// A number in hexadecimal digits.
fn number(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// How many bytes at the end are the beginning of an escape.
pub(super) fn unfinished(text: &str) -> usize {
    let text = text.as_bytes();
    let is_begun = |length: usize| text.len().checked_sub(length).and_then(|at| text.get(at)) == Some(&b'%');
    let percent = [1, 2].into_iter().find(|length| is_begun(*length)).unwrap_or(0);
    percent.max(unfinished_quoted(text))
}

/// The same of a quoted text.
fn unfinished_quoted(text: &[u8]) -> usize {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        rest = rest.get(at..).unwrap_or_default();
        let length = match unescaped(rest) {
            Some((_, length)) => length,
            None if is_begun(rest) => return rest.len(),
            None => 1,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    0
}

/// Whether a few more letters would make one escape of all of it.
fn is_begun(text: &[u8]) -> bool {
    const LONGEST: usize = 12;
    const MORE: [&[u8]; 14] = [
        b"n",
        b"1",
        b"41",
        b"041",
        b"0041",
        b"}",
        b"1}",
        b"\\udc00",
        b"udc00",
        b"dc00",
        b"c00",
        b"00",
        b"3d\\udc00",
        b"d\\udc00",
    ];
    let makes_one =
        |more: &[u8]| unescaped(&[text, more].concat()).is_some_and(|(_, all)| all == text.len() + more.len());
    text.len() < LONGEST && MORE.into_iter().any(makes_one)
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
        for (text, letters, places) in [
            (r#"a\"\\B"#, r#"a"\b"#, vec![0, 1, 3, 5, 6]),
            (r"\u00e4\x41\u{62}-", "äa b-".replace(' ', "").as_str(), vec![0, 0, 6, 10, 16, 17]),
            (r"\ud83d\ude00x", "\u{1f600}x", vec![0, 0, 0, 0, 12, 13]),
            (r"\q\ud83dx\", r"\q\ud83dx\", (0..=10).collect()),
        ] {
            let view = View::unquoted(text.as_bytes()).unwrap();
            assert_eq!(view.bytes, letters.as_bytes(), "{text}");
            assert_eq!((0..=view.bytes.len()).map(|at| view.place(at)).collect::<Vec<_>>(), places, "{text}");
        }
        assert!(View::unquoted(b"a%").is_none());
        let whole = r"-\u0041-\ud83d\ude00-\x41-\u{10ffff}-\\-\n";
        let view = View::unquoted(whole.as_bytes()).unwrap();
        for cut in 0..=whole.len() {
            let begun = unfinished(&whole[..cut]);
            let places: Vec<_> = (0..=view.bytes.len()).map(|at| view.place(at)).collect();
            assert!(places.contains(&(cut - begun)), "{cut}: {begun}");
        }
        assert_eq!(["a%", "a%4", "a%41", "", "4"].map(unfinished), [1, 2, 0, 0, 0]);
    }
}
