//! A report as a page of HTML that loads nothing.

use crate::{Block, Column, Fact, Report, Table};
use clew_wire::visible;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = "\
body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;color:#111;background:#fff}
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}caption{text-align:left;font-weight:600;padding-bottom:.4rem}
th,td{border-bottom:1px solid #999;padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:minmax(8rem,14rem) 1fr;gap:.3rem 1rem}
dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f3f3f3;padding:.6rem}
@media(max-width:32rem){dl{display:block}dd{margin-bottom:.5rem}}
@media print{body{margin:0;max-width:none}h2{break-after:avoid}tr{break-inside:avoid}}";

/// Nothing is loaded, and nothing runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Writes a report as one page of HTML 5.
pub fn html(report: &Report) -> String {
    let title = visible(&report.title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    @for part in &report.blocks { (block(part)) }
                }
            }
        }
    };
    page.into_string() + "\n"
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Heading(text) => html! { h2 { (visible(text)) } },
        Block::Text(text) => html! { p { (visible(text)) } },
        Block::Steps(steps) => html! { ol { @for step in steps { li { (visible(step)) } } } },
        Block::Facts(facts) => html! { dl { @for each in facts { (fact(each)) } } },
        Block::Table(table) => self::table(table),
        Block::Code(text) => {
            let lines: Vec<String> = text.lines().map(visible).collect();
            html! { pre { code { (lines.join("\n")) } } }
        }
    }
}

fn fact(fact: &Fact) -> Markup {
    let value = visible(&fact.value);
    html! {
        dt { (visible(&fact.name)) }
        dd { @if fact.is_code { code { (value) } } @else { (value) } }
    }
}

fn cell(text: &str, column: &Column) -> Markup {
    let text = visible(text);
    html! { td { @if column.is_code { code { (text) } } @else { (text) } } }
}

fn table(table: &Table) -> Markup {
    html! {
        table {
            caption { (visible(&table.caption)) }
            thead { tr { @for column in &table.columns { th scope="col" { (visible(&column.name)) } } } }
            tbody {
                @for row in &table.rows {
                    tr { @for (text, column) in row.iter().zip(&table.columns) { (cell(text, column)) } }
                }
            }
        }
    }
}
