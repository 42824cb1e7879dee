//! How wide letters are, and where lines end.

use clew_wire::{code_point, visible};
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::{FontRef, MetadataProvider};

/// A font and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub face: Face,
    pub size: f32,
}

/// The fonts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Normal,
    Bold,
    Mono,
}

impl Face {
    /// The font's file.
    pub(crate) fn file(self) -> &'static [u8] {
        match self {
            Self::Normal => include_bytes!("../fonts/DejaVuSans.ttf"),
            Self::Bold => include_bytes!("../fonts/DejaVuSans-Bold.ttf"),
            Self::Mono => include_bytes!("../fonts/DejaVuSansMono.ttf"),
        }
    }
}

/// The three fonts, to measure with.
pub(crate) struct Fonts([FontRef<'static>; 3]);

impl Fonts {
    pub(crate) fn new() -> Option<Self> {
        let font = |face: Face| FontRef::new(face.file()).ok();
        Some(Self([
            font(Face::Normal)?,
            font(Face::Bold)?,
            font(Face::Mono)?,
        ]))
    }

    pub(crate) fn measure(&self, style: Style) -> Measure<'_> {
        let font = &self.0[style.face as usize];
        let (size, at) = (Size::new(style.size), LocationRef::default());
        Measure {
            font,
            metrics: font.glyph_metrics(size, at),
            fallback: style.size,
        }
    }

    /// Cuts a text into lines of at most that width: between words if it can, else within one. At
    /// least one line.
    pub(crate) fn wrap(&self, text: &str, style: Style, width: f32) -> Vec<String> {
        let measure = self.measure(style);
        let text = measure.drawable(&visible(text));
        let mut lines = Vec::new();
        let mut line = String::new();
        let mut used = 0.0;
        for word in text.split_inclusive(' ') {
            let needed = measure.width(word.trim_end());
            if used + needed > width && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                used = 0.0;
            }
            for c in word.chars() {
                let needed = measure.of(c);
                if used + needed > width && c != ' ' && !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                    used = 0.0;
                }
                line.push(c);
                used += needed;
            }
        }
        if !line.is_empty() || lines.is_empty() {
            lines.push(line);
        }
        lines
    }
}

/// Measures characters of one style. Kerning is left out: it makes a line shorter, if anything.
pub(crate) struct Measure<'f> {
    font: &'f FontRef<'static>,
    metrics: GlyphMetrics<'f>,
    fallback: f32,
}

impl Measure<'_> {
    fn of(&self, c: char) -> f32 {
        let glyph = self.font.charmap().map(c);
        let advance = glyph.and_then(|glyph| self.metrics.advance_width(glyph));
        advance.unwrap_or(self.fallback)
    }

    pub(crate) fn width(&self, text: &str) -> f32 {
        text.chars().map(|c| self.of(c)).sum()
    }

    /// Writes the number of each character that the font does not have.
    fn drawable(&self, text: &str) -> String {
        let charmap = self.font.charmap();
        let mut drawn = String::with_capacity(text.len());
        for c in text.chars() {
            match charmap.map(c) {
                Some(_) => drawn.push(c),
                None => drawn.push_str(&code_point(c)),
            }
        }
        drawn
    }
}
