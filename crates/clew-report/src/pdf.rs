//! A report as a PDF for archives: PDF/A-2a, with tags for programs that read it aloud.

use crate::layout::{Child, Group, Layout, Line, MARGIN, PAGE, Role, layout};
use crate::measure::Face;
use crate::{Report, TEXT_MAX, Time};
use clew_wire::visible;
use krilla::configure::{Configuration, Validator};
use krilla::geom::{PathBuilder, Point};
use krilla::metadata::{DateTime, Metadata};
use krilla::page::PageSettings;
use krilla::paint::Stroke;
use krilla::surface::Surface;
use krilla::tagging::{
    ArtifactType, ContentTag, Identifier, ListNumbering, Node, SpanTag, TableHeaderScope, Tag,
    TagGroup, TagKind, TagTree,
};
use krilla::text::{Font, TextDirection};
use krilla::{Document, SerializeSettings};
use std::num::NonZeroU16;
use thiserror::Error;

/// Size of the footer's letters.
const FOOTER: f32 = 7.5;

/// Why there is no PDF.
#[derive(Debug, Error)]
pub enum PdfError {
    /// The report is too long.
    #[error("the report has more than {TEXT_MAX} bytes")]
    TooLong,
    /// A font or the document cannot be made.
    #[error("the PDF cannot be made: {0}")]
    Krilla(String),
}

/// Writes a report as PDF/A-2a.
///
/// # Errors
/// [`PdfError::TooLong`] for more than [`TEXT_MAX`] bytes of text.
pub fn pdf(report: &Report) -> Result<Vec<u8>, PdfError> {
    if report.bytes() > TEXT_MAX {
        return Err(PdfError::TooLong);
    }
    let broken = || PdfError::Krilla("a font cannot be read".to_owned());
    let laid = layout(report).ok_or_else(broken)?;
    let fonts = Fonts::new().ok_or_else(broken)?;
    let mut document = Document::new_with(SerializeSettings {
        configuration: Configuration::new_with_validator(Validator::A2_A),
        enable_tagging: true,
        ..SerializeSettings::default()
    });
    let title = visible(&report.title);
    let mut places = vec![None; laid.lines.len()];
    for page in 0..laid.pages {
        let settings = PageSettings::from_wh(PAGE.0, PAGE.1).ok_or_else(broken)?;
        let mut drawn = document.start_page_with(settings);
        let mut surface = drawn.surface();
        for (line, place) in laid.lines.iter().zip(&mut places) {
            if line.page == page {
                *place = Some(fonts.draw(&mut surface, line));
            }
        }
        rules(&mut surface, &laid, page);
        fonts.footer(&mut surface, &title, page, laid.pages);
        surface.finish();
        drawn.finish();
    }
    let mut tree = TagTree::new().with_lang(Some("en".to_owned()));
    for group in laid.groups {
        tree.push(tags(group, &places));
    }
    document.set_tag_tree(tree);
    document.set_metadata(metadata(title, report.time));
    document
        .finish()
        .map_err(|error| PdfError::Krilla(format!("{error:?}")))
}

fn metadata(title: String, time: Time) -> Metadata {
    let date = DateTime::new(time.year)
        .month(time.month)
        .day(time.day)
        .hour(time.hour)
        .minute(time.minute)
        .second(time.second)
        .utc_offset_hour(0)
        .utc_offset_minute(0);
    Metadata::new()
        .title(title)
        .language("en".to_owned())
        .creator("clew".to_owned())
        .creation_date(date)
}

struct Fonts([Font; 3]);

impl Fonts {
    fn new() -> Option<Self> {
        let font = |face: Face| Font::new(face.file().into(), 0);
        Some(Self([
            font(Face::Normal)?,
            font(Face::Bold)?,
            font(Face::Mono)?,
        ]))
    }

    fn draw(&self, surface: &mut Surface<'_>, line: &Line) -> Identifier {
        let place = surface.start_tagged(ContentTag::Span(SpanTag::empty()));
        let font = self.0[line.style.face as usize].clone();
        let at = Point::from_xy(line.x, line.baseline);
        let direction = TextDirection::Auto;
        surface.draw_text(at, font, line.style.size, &line.text, false, direction);
        surface.end_tagged();
        place
    }

    fn footer(&self, surface: &mut Surface<'_>, title: &str, page: usize, pages: usize) {
        let title: String = title.chars().take(80).collect();
        let text = format!("{title}    {} / {pages}", page + 1);
        surface.start_tagged(ContentTag::Artifact(ArtifactType::Footer));
        let at = Point::from_xy(MARGIN, PAGE.1 - MARGIN / 2.0);
        surface.draw_text(
            at,
            self.0[0].clone(),
            FOOTER,
            &text,
            false,
            TextDirection::Auto,
        );
        surface.end_tagged();
    }
}

fn rules(surface: &mut Surface<'_>, laid: &Layout, page: usize) {
    for (_, y) in laid.rules.iter().filter(|(on, _)| *on == page) {
        let mut path = PathBuilder::new();
        path.move_to(MARGIN, *y);
        path.line_to(PAGE.0 - MARGIN, *y);
        let Some(path) = path.finish() else {
            continue;
        };
        surface.start_tagged(ContentTag::Artifact(ArtifactType::Other));
        surface.set_stroke(Some(Stroke {
            width: 0.5,
            ..Stroke::default()
        }));
        surface.draw_path(&path);
        surface.set_stroke(None);
        surface.end_tagged();
    }
}

fn tags(group: Group, places: &[Option<Identifier>]) -> TagGroup {
    let mut tagged = TagGroup::new(kind(group.role));
    for child in group.children {
        match child {
            Child::Group(group) => tagged.push(Node::Group(tags(group, places))),
            Child::Line(line) => {
                let place = places.get(line).copied().flatten();
                place
                    .into_iter()
                    .for_each(|place| tagged.push(Node::Leaf(place)));
            }
        }
    }
    tagged
}

fn kind(role: Role) -> TagKind {
    let level = |level: u16| NonZeroU16::new(level).unwrap_or(NonZeroU16::MIN);
    match role {
        Role::Title => Tag::Hn(level(1), None).into(),
        Role::Heading(title) => Tag::Hn(level(2), Some(title)).into(),
        Role::Paragraph => Tag::P.into(),
        Role::List => Tag::L(ListNumbering::Decimal).into(),
        Role::Item => Tag::LI.into(),
        Role::Label => Tag::Lbl.into(),
        Role::ItemBody => Tag::LBody.into(),
        Role::Table(summary) => Tag::Table.with_summary(Some(summary)).into(),
        Role::Caption => Tag::Caption.into(),
        Role::Head => Tag::THead.into(),
        Role::Rows => Tag::TBody.into(),
        Role::Row => Tag::TR.into(),
        Role::HeadCell => Tag::TH(TableHeaderScope::Column).into(),
        Role::RowHead => Tag::TH(TableHeaderScope::Row).into(),
        Role::Cell => Tag::TD.into(),
        Role::Code => Tag::Code.into(),
    }
}
