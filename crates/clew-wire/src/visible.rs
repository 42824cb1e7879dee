//! Texts of strangers, made visible.

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
    is_format || c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_shown_as_its_number() {
        assert_eq!(visible("web-1 \u{e9}\u{4e2d}"), "web-1 \u{e9}\u{4e2d}");
        assert_eq!(visible("a\u{202e}b\nc\u{0}"), "a[U+202E]b[U+000A]c[U+0000]");
        assert_eq!(visible("\u{f0000}"), "[U+F0000]");
    }
}
