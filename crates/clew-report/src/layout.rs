//! Where the lines of a report stand on pages of A4, and what each line belongs to.
//!
//! Lengths are in points (1/72 inch), from a page's upper left corner.

use crate::measure::{Face, Fonts, Style};
use crate::{Block, Column, Fact, Report, Table};
use clew_wire::visible;

/// Width and height of a page: A4.
pub(crate) const PAGE: (f32, f32) = (595.28, 841.89);
/// The empty border.
pub(crate) const MARGIN: f32 = 56.7;
const WIDTH: f32 = PAGE.0 - 2.0 * MARGIN;
/// The lowest baseline. The footer stands below.
const BOTTOM: f32 = PAGE.1 - MARGIN - 14.0;
/// Between two columns of a table.
const GAP: f32 = 10.0;
/// The column of names.
const NAMES: f32 = 150.0;
/// The column of a step's number.
const NUMBERS: f32 = 22.0;

const TITLE: Style = Style {
    face: Face::Bold,
    size: 17.0,
};
const HEADING: Style = Style {
    face: Face::Bold,
    size: 12.0,
};
const BODY: Style = Style {
    face: Face::Normal,
    size: 9.5,
};
const STRONG: Style = Style {
    face: Face::Bold,
    size: 9.5,
};
const CELL: Style = Style {
    face: Face::Normal,
    size: 8.5,
};
const CELL_HEAD: Style = Style {
    face: Face::Bold,
    size: 8.5,
};
const CODE: Style = Style {
    face: Face::Mono,
    size: 8.0,
};

fn cell_style(column: &Column) -> Style {
    if column.is_code { CODE } else { CELL }
}

/// What a group of lines is, for programs that read them aloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Title,
    Heading(String),
    Paragraph,
    List,
    Item,
    Label,
    ItemBody,
    Table(String),
    Caption,
    Head,
    Rows,
    Row,
    HeadCell,
    /// A cell that names its row.
    RowHead,
    Cell,
    Code,
}

/// A part of the document, and the parts and lines within it.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub role: Role,
    pub children: Vec<Child>,
}

/// What is within a group.
#[derive(Clone, Debug)]
pub(crate) enum Child {
    Group(Group),
    /// By its place in [`Layout::lines`].
    Line(usize),
}

/// A line of text.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub page: usize,
    pub x: f32,
    pub baseline: f32,
    pub style: Style,
    pub text: String,
}

/// A report on pages.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub lines: Vec<Line>,
    /// Horizontal rules: page, height.
    pub rules: Vec<(usize, f32)>,
    pub groups: Vec<Group>,
    pub pages: usize,
}

/// Puts a report on pages. Returns `None` if a font cannot be read.
pub(crate) fn layout(report: &Report) -> Option<Layout> {
    let mut setter = Setter {
        fonts: Fonts::new()?,
        layout: Layout::default(),
        page: 0,
        y: MARGIN,
    };
    let title = setter.paragraph(Role::Title, &report.title, TITLE);
    setter.layout.groups.push(title);
    for block in &report.blocks {
        setter.block(block);
    }
    setter.layout.pages = setter.page + 1;
    Some(setter.layout)
}

struct Setter {
    fonts: Fonts,
    layout: Layout,
    page: usize,
    y: f32,
}

impl Setter {
    fn block(&mut self, block: &Block) {
        self.space(6.0);
        let group = match block {
            Block::Heading(text) => {
                self.space(8.0);
                self.keep(4.0 * HEADING.size);
                self.paragraph(Role::Heading(visible(text)), text, HEADING)
            }
            Block::Text(text) => self.paragraph(Role::Paragraph, text, BODY),
            Block::Code(text) => self.code(text),
            Block::Steps(steps) => self.steps(steps),
            Block::Facts(facts) => self.facts(facts),
            Block::Table(table) => self.table(table),
        };
        self.layout.groups.push(group);
    }

    fn space(&mut self, height: f32) {
        if self.y > MARGIN {
            self.y += height;
        }
    }

    /// Begins a page unless so much is left on this one.
    fn keep(&mut self, height: f32) {
        if self.y + height > BOTTOM && self.y > MARGIN {
            self.page += 1;
            self.y = MARGIN;
        }
    }

    /// Sets lines below each other from the present height on, and moves on.
    fn set(&mut self, x: f32, lines: Vec<String>, style: Style) -> Vec<Child> {
        let mut set = Vec::with_capacity(lines.len());
        for text in lines {
            self.keep(style.size * 1.4);
            self.y += style.size * 1.4;
            set.push(Child::Line(self.layout.lines.len()));
            self.layout.lines.push(Line {
                page: self.page,
                x,
                baseline: self.y,
                style,
                text,
            });
        }
        set
    }

    fn paragraph(&mut self, role: Role, text: &str, style: Style) -> Group {
        let lines = self.fonts.wrap(text, style, WIDTH);
        let children = self.set(MARGIN, lines, style);
        Group { role, children }
    }

    fn code(&mut self, text: &str) -> Group {
        let mut children = Vec::new();
        for line in text.lines() {
            let lines = self.fonts.wrap(line, CODE, WIDTH);
            children.extend(self.set(MARGIN, lines, CODE));
        }
        let code = Group {
            role: Role::Code,
            children,
        };
        Group {
            role: Role::Paragraph,
            children: vec![Child::Group(code)],
        }
    }

    fn steps(&mut self, steps: &[String]) -> Group {
        let mut items = Vec::with_capacity(steps.len());
        for (index, step) in steps.iter().enumerate() {
            let columns = [(0.0, NUMBERS, BODY), (NUMBERS, WIDTH - NUMBERS, BODY)];
            let label = format!("{}.", index + 1);
            let roles = [Role::Label, Role::ItemBody];
            let item = self.side_by_side(Role::Item, &columns, &[&label, step], &roles);
            items.push(Child::Group(item));
        }
        let (role, children) = (Role::List, items);
        Group { role, children }
    }

    fn facts(&mut self, facts: &[Fact]) -> Group {
        let mut rows = Vec::with_capacity(facts.len());
        for fact in facts {
            let value = if fact.is_code { CODE } else { BODY };
            let columns = [
                (0.0, NAMES, STRONG),
                (NAMES + GAP, WIDTH - NAMES - GAP, value),
            ];
            let roles = [Role::RowHead, Role::Cell];
            let texts = [&*fact.name, &*fact.value];
            let row = self.side_by_side(Role::Row, &columns, &texts, &roles);
            rows.push(Child::Group(row));
            self.space(1.5);
        }
        let rows = Group {
            role: Role::Rows,
            children: rows,
        };
        let role = Role::Table("Names and values".to_owned());
        let children = vec![Child::Group(rows)];
        Group { role, children }
    }

    fn table(&mut self, table: &Table) -> Group {
        self.keep(5.0 * CELL.size);
        let caption = self.paragraph(Role::Caption, &table.caption, STRONG);
        self.space(2.0);
        let widths = self.widths(table);
        let mut x = 0.0;
        let mut columns = Vec::with_capacity(widths.len());
        for (width, column) in widths.into_iter().zip(&table.columns) {
            columns.push((x, width, cell_style(column)));
            x += width + GAP;
        }
        let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
        let heads: Vec<_> = columns
            .iter()
            .map(|(x, width, _)| (*x, *width, CELL_HEAD))
            .collect();
        let roles = vec![Role::HeadCell; columns.len()];
        let head = self.side_by_side(Role::Row, &heads, &names, &roles);
        self.rule();
        let roles = vec![Role::Cell; columns.len()];
        let mut rows = Vec::with_capacity(table.rows.len());
        for row in &table.rows {
            let row = self.side_by_side(Role::Row, &columns, row, &roles);
            rows.push(Child::Group(row));
            self.space(1.5);
        }
        self.rule();
        let group = |role, children| Child::Group(Group { role, children });
        let head = group(Role::Head, vec![Child::Group(head)]);
        let children = vec![Child::Group(caption), head, group(Role::Rows, rows)];
        let role = Role::Table(visible(&table.caption));
        Group { role, children }
    }

    fn rule(&mut self) {
        self.y += 3.0;
        self.layout.rules.push((self.page, self.y));
    }

    /// Sets texts in columns (left edge within the page's, width, style) that begin at one height. A
    /// row that has no room begins a page; one longer than a page continues on the next.
    fn side_by_side(
        &mut self,
        role: Role,
        columns: &[(f32, f32, Style)],
        texts: &[impl AsRef<str>],
        roles: &[Role],
    ) -> Group {
        let cells: Vec<Vec<String>> = columns
            .iter()
            .zip(texts)
            .map(|((_, width, style), text)| self.fonts.wrap(text.as_ref(), *style, *width))
            .collect();
        let heights = cells.iter().zip(columns);
        let height = heights.map(|(lines, (_, _, style))| lines.len() as f32 * style.size * 1.4);
        self.keep(height.fold(0.0, f32::max));
        let (page, y) = (self.page, self.y);
        let mut end = (page, y);
        let mut children = Vec::with_capacity(cells.len());
        for ((lines, (x, _, style)), role) in cells.into_iter().zip(columns).zip(roles) {
            (self.page, self.y) = (page, y);
            let set = self.set(MARGIN + x, lines, *style);
            if (self.page, self.y) > end {
                end = (self.page, self.y);
            }
            let role = role.clone();
            children.push(Child::Group(Group {
                role,
                children: set,
            }));
        }
        (self.page, self.y) = end;
        Group { role, children }
    }
    /// Divides a page's width among the columns of a table, by the width of their longest cells.
    fn widths(&self, table: &Table) -> Vec<f32> {
        let head = self.fonts.measure(CELL_HEAD);
        let wanted = |(index, column): (usize, &Column)| {
            let cell = self.fonts.measure(cell_style(column));
            let cells = table.rows.iter().filter_map(|row| row.get(index));
            let widest = cells
                .map(|text| cell.width(text))
                .fold(head.width(&column.name), f32::max);
            widest.clamp(30.0, if column.is_code { 330.0 } else { 240.0 }) + 1.0
        };
        let wanted: Vec<f32> = table.columns.iter().enumerate().map(wanted).collect();
        let gaps = GAP * (wanted.len().max(1) - 1) as f32;
        let room = (WIDTH - gaps).max(1.0);
        let total: f32 = wanted.iter().sum();
        let scale = if total > room { room / total } else { 1.0 };
        wanted.into_iter().map(|width| width * scale).collect()
    }
}
