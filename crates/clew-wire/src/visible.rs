//! Texts of strangers, made visible.

use crate::name::is_refused;
use alloc::format;
use alloc::string::String;

/// Writes the number of each character that would change how others are shown, or would not be seen.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => shown.push_str(&code_point(c)),
            false => shown.push(c),
        }
    }
    shown
}

/// Writes a text as one word: as [`visible`], and the number of each blank. What people read as a sentence
/// of the program, a word of a stranger cannot be part of.
pub fn visible_word(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) || c.is_whitespace() {
            true => shown.push_str(&code_point(c)),
            false => shown.push(c),
        }
    }
    shown
}

/// Returns the number of a character as text.
pub fn code_point(c: char) -> String {
    format!("[U+{:04X}]", u32::from(c))
}

fn is_hidden(c: char) -> bool {
    let is_format = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..
    );
    is_format || c.is_control() || (is_refused(c) && !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_shown_as_its_number() {
        assert_eq!(visible("web-1 \u{e9}\u{4e2d}"), "web-1 \u{e9}\u{4e2d}");
        assert_eq!(visible("a\u{202e}b\nc\u{0}"), "a[U+202E]b[U+000A]c[U+0000]");
        assert_eq!(visible("\u{f0000}"), "[U+F0000]");
        // What names may not have for being invisible, texts show; blanks stay.
        assert_eq!(visible("a\u{115f}\u{2800}"), "a[U+115F][U+2800]");
        assert_eq!(visible("a\u{a0}b c\u{3000}"), "a\u{a0}b c\u{3000}");
    }

    #[test]
    fn a_word_has_no_blanks() {
        let word = visible_word("in.pcap was\u{a0}sent\t\u{115f}\u{e9}");
        assert_eq!(word, "in.pcap[U+0020]was[U+00A0]sent[U+0009][U+115F]\u{e9}");
    }
}
