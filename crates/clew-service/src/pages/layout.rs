//! The frame of every page.

use super::answer::{Keep, STYLE_NAME, html};
use axum::http::StatusCode;
use axum::response::Response;
use clew_wire::visible;
use maud::{DOCTYPE, Markup, html};

/// A page of a site, by its name in the folder.
pub(crate) struct Link {
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
}

/// What all pages of one site have.
pub(crate) struct Site<'s> {
    /// What it is about: "Log of log.example/acme".
    pub(crate) name: &'s str,
    /// Its pages.
    pub(crate) links: &'static [Link],
    /// What the reader has to know of all pages.
    pub(crate) foot: &'static str,
}

/// One page.
pub(crate) struct Page<'p> {
    pub(crate) site: &'p Site<'p>,
    /// Its heading, and the first words of its title.
    pub(crate) title: &'p str,
    /// The path of the link that leads to it.
    pub(crate) here: &'static str,
    /// What stands beside the links: who is logged in.
    pub(crate) aside: Option<Markup>,
    pub(crate) body: Markup,
}

impl Page<'_> {
    /// Answers with a page that everybody may see.
    pub(crate) fn public(self) -> Response {
        html(StatusCode::OK, self.markup(), Keep::Again)
    }

    /// Answers with a page for one visitor, or about a request that failed.
    pub(crate) fn private(self, status: StatusCode) -> Response {
        html(status, self.markup(), Keep::Nobody)
    }

    fn markup(self) -> Markup {
        let Self {
            site, title, here, ..
        } = self;
        let (title, name) = (visible(title), visible(site.name));
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " – " (name) }
                    link rel="stylesheet" href=(*STYLE_NAME);
                }
                body {
                    a.skip href="#main" { "Skip to content" }
                    header {
                        p.site { (name) }
                        @if !site.links.is_empty() {
                            nav aria-label="Pages" {
                                ul { @for link in site.links {
                                    li { a href=(link.path) aria-current=[(link.path == here).then_some("page")] { (link.name) } }
                                } }
                            }
                        }
                        @if let Some(aside) = self.aside { (aside) }
                    }
                    main id="main" tabindex="-1" {
                        h1 { (title) }
                        (self.body)
                    }
                    footer { p { (site.foot) } }
                }
            }
        }
    }
}

/// Answers that something is not there, or was not asked rightly.
pub(crate) fn fault(site: &Site<'_>, status: StatusCode, title: &str, why: &str) -> Response {
    let page = Page {
        site,
        title,
        here: "",
        aside: None,
        body: html! { p { (visible(why)) } },
    };
    page.private(status)
}
