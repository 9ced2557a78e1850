//! Words of guests on their way to a log: no control characters, no line of their own, bounded, and nothing of a secret,
//! wherever it stands. Secrets are made of letters that no other part of the text has, so that a single one of them in
//! the outcome is a piece of a secret.

use drivebay_observe::guest_log::{LINE, fit};
use drivebay_observe::{Secrets, text};
use drivebay_parts::made::Maker;

use crate::planted;

/// Letters of secrets. The escapes of characters have small ones only.
const LETTERS: &[u8] = b"GHIJKLMNOPQRSTUVWXYZ";
/// The mark of a text that was cut.
const CUT: char = '…';

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let mut maker = Maker::new(bytes, &[]);
    let values: Vec<String> = (0..maker.below(4)).map(|_| secret(&mut maker)).collect();
    let limit = [1, 16, 128, LINE][maker.below(4)];
    let secrets = Secrets::new(values.clone());
    let said = said(&mut maker, &values);
    if let Some(line) = written(&said, limit, &secrets) {
        assert!(line.len() <= limit + CUT.len_utf8(), "{} bytes of {limit}", line.len());
        assert_eq!(line.chars().find(|c| is_unfit(*c)), None, "{line:?}");
        let shown = line.bytes().find(|byte| LETTERS.contains(byte));
        assert_eq!(shown, None, "of {values:?} in {line:?}");
        assert_eq!(text::tame(&line, limit), line, "it is tame already");
    }
    // Without a cut and without secrets everything is there.
    let whole = text::tame(&said, usize::MAX);
    assert!(
        whole.chars().filter(|c| c.is_alphanumeric()).count() >= said.chars().filter(|c| c.is_alphanumeric()).count()
    );
}

/// What the log is given; the planted bug lets one line end through.
fn written(said: &str, limit: usize, secrets: &Secrets) -> Option<String> {
    let line = fit(said, limit, secrets)?;
    Some(if planted() { line.replace("\\u{2028}", "\u{2028}") } else { line })
}

/// From four bytes on secrets are masked, below a line with one is dropped.
fn secret(maker: &mut Maker<'_>) -> String {
    let length = [1, 2, 3, 4, 5, 8, 20, 64][maker.below(8)];
    // The first letter only there: a secret that overlaps itself is no secret.
    let others = (1..length).map(|_| char::from(LETTERS[1 + maker.below(LETTERS.len() - 1)]));
    let mut letters: Vec<char> = std::iter::once(char::from(LETTERS[0])).chain(others).collect();
    if length > 8 && maker.once_in(2) {
        letters[length / 2] = '\n';
    }
    letters.into_iter().collect()
}

/// A text in which secrets stand whole, and between them anything without their letters.
fn said(maker: &mut Maker<'_>, values: &[String]) -> String {
    let mut said = String::new();
    for _ in 0..1 + maker.below(6) {
        match maker.below(4) {
            0 if !values.is_empty() => said.push_str(&values[maker.below(values.len())]),
            // Up to the places where lines are cut.
            1 => {
                let room = maker.below(24);
                let filled = [16, 128, LINE][maker.below(3)].saturating_sub(room);
                said.push_str(&"x".repeat(filled.saturating_sub(said.len())));
            }
            _ => said.extend(maker.text().chars().filter(|c| !LETTERS.iter().any(|letter| char::from(*letter) == *c))),
        }
    }
    said
}

/// Control characters, those that set a text's direction (Unicode's property `Bidi_Control`), line and paragraph
/// separators, characters without width, and tags.
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}
