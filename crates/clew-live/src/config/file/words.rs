//! Messages of the TOML parser, in words for administrators.

use super::Raw;

/// What is wrong, in words that fit the file.
pub(super) fn plain(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    let words = words.join(" ");
    let number = match words.starts_with("invalid type: string") {
        true => "need a number, without quotes",
        false => "need a whole number, 0 or more",
    };
    let words = words.replace("expected u64", number);
    let unknown = words.strip_prefix("unknown field `");
    let unknown = unknown.and_then(|rest| rest.split('`').next());
    match unknown.filter(|key| is_above_tables(key)) {
        Some(key) => format!("`{key}` belongs above the first [[peer]] or [signing]"),
        None => words,
    }
}

/// Whether the file has this key, outside of all tables.
fn is_above_tables(key: &str) -> bool {
    // Other keys are missing, so it is refused in any case.
    let read = toml::from_str::<Raw>(&format!("{key} = 0"));
    read.is_err_and(|error| !error.message().starts_with("unknown field"))
}
