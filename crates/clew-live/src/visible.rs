//! Text of others for a terminal or a log: nothing in it controls either.

use serde_json::Value;

/// Returns a text in one line, with control characters written as their numbers. So are the marks that
/// change the direction of writing, which would make a line look like another one.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_plain(c) {
            true => out.push(c),
            false => out.extend(c.escape_default()),
        }
    }
    out
}

fn is_plain(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns
}

/// Returns the same value, with [`visible`] texts and names of fields.
pub fn visible_json(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible(&text)),
        Value::Array(values) => values.into_iter().map(visible_json).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (visible(&name), visible_json(value)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_controls_a_terminal() {
        for (text, shown) in [
            ("web-1 in Zürich", "web-1 in Zürich"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("a\nclew: b\r\t", "a\\nclew: b\\r\\t"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
        ] {
            assert_eq!(visible(text), shown);
        }
        let value = json!({ "a\u{1b}": ["\n", 1, null, { "b": "\u{1b}c" }] });
        let shown = json!({ "a\\u{1b}": ["\\n", 1, null, { "b": "\\u{1b}c" }] });
        assert_eq!(visible_json(value), shown);
    }
}
