//! Foreign text made fit for a log line or a status message. Pure.

use super::drill::{self, Defence};

/// Text with control characters escaped (a newline would forge a log line, an escape sequence
/// would reach the reader's terminal) and cut to at most `limit` bytes, then with a mark that it was.
pub fn tame(text: &str, limit: usize) -> String {
    let is_tamed = drill::stands(Defence::Lines);
    let mut out = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        let before = out.len();
        if is_tamed && (c.is_control() || is_format(c)) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        if out.len() > limit {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
}

/// Characters that are not shown but change how a line reads: direction marks, separators, tags.
const fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::tame;

    #[test]
    fn no_line_can_be_forged() {
        assert_eq!(tame("a\nERROR b\r\u{1b}[31m", 100), "a\\nERROR b\\r\\u{1b}[31m");
        assert_eq!(tame("a\u{202e}b\u{61c}", 100), "a\\u{202e}b\\u{61c}");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(tame("ääää", 5), "ää…");
        assert_eq!(tame("abc", 3), "abc");
    }
}
