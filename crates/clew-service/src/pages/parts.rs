//! What pages are made of.

use clew_wire::visible;
use maud::{Markup, html};

/// A table with its caption. Wide ones scroll by themselves, by keyboard, too.
pub(crate) fn table(id: &str, caption: &str, columns: &[&str], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.scroll role="region" aria-labelledby=(id) tabindex="0" {
            table {
                caption id=(id) { span { (caption) } }
                thead { tr { @for column in columns { th scope="col" { (column) } } } }
                tbody { @for row in rows { tr {
                    @for (place, cell) in row.iter().enumerate() {
                        @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                    }
                } } }
            }
        }
        @if rows.is_empty() { p { "Nothing yet." } }
    }
}

/// Terms and what they are.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! { dl { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } } }
}

/// Text of programs: keys, hashes, commands.
pub(crate) fn code(text: &str) -> Markup {
    html! { code { (visible(text)) } }
}

/// Links to the neighbours of a part of a list that is shown newest first.
pub(crate) fn newer_and_older(newer: Option<&str>, older: Option<&str>) -> Markup {
    html! {
        @if newer.is_some() || older.is_some() {
            nav aria-label="Parts of the list" { ul {
                @if let Some(path) = newer { li { a href=(path) rel="prev" { "Newer" } } }
                @if let Some(path) = older { li { a href=(path) rel="next" { "Older" } } }
            } }
        }
    }
}
