//! The pages: Markup from a [`Shot`]. All text of workers passes through maud, which escapes it.

pub mod board;
pub mod conversation;
pub mod diff;
pub mod evidence;
pub mod history;
pub mod inbox;
pub mod markdown;
pub mod message;
pub mod meters;
pub mod notes;
pub mod project;
pub mod receipt;
pub mod run;
pub mod svg;
pub mod task;
pub mod timeline;

use crate::shot::clock;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use wavecrew_core::sanitise::sanitise;

/// The frame around a page.
pub struct Frame<'a> {
    pub title: &'a str,
    /// The names above the page, with their addresses; the last one is the page itself.
    pub trail: Vec<(String, String)>,
    /// Where the page receives changes.
    pub stream: Option<String>,
}

impl Frame<'_> {
    pub fn around(&self, body: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (self.title) " · wavecrew" }
                    link rel="icon" href="/icon.svg" type="image/svg+xml";
                    link rel="stylesheet" href="/style.css";
                    script src="/script.js" defer {}
                }
                body data-stream=[self.stream.as_deref()] data-now=(clock().0) {
                    a.skip-link href="#main" { "Skip to the content" }
                    header.top {
                        nav aria-label="Pages" {
                            a.brand href="/" { "wavecrew" }
                            @for (name, address) in &self.trail {
                                span.soft aria-hidden="true" { "›" }
                                a href=(address) { (name) }
                            }
                        }
                        @if self.stream.is_some() {
                            button type="button" data-notify="" hidden title="Show a notification when a run asks something" { "Notify me" }
                            span.link-state #link-state role="status" data-state="off" {}
                        }
                    }
                    main #main tabindex="-1" { (body) }
                }
            }
        }
    }
}

const PART_BEGINS: &str = "<!--part ";
const PART_NAMED: &str = "-->";
const PART_ENDS: &str = "<!--end-->";

/// The content of the element with this id, which the stream replaces alone if nothing around it changes.
/// Text of workers cannot contain the marks, because it is escaped.
pub fn part(id: &str, content: &Markup) -> Markup {
    html! { (PreEscaped(PART_BEGINS)) (id) (PreEscaped(PART_NAMED)) (content) (PreEscaped(PART_ENDS)) }
}

/// A fragment without the content of its parts, and the ids of the parts with their content and marks.
pub fn split_parts(mut fragment: &str) -> (String, Vec<(&str, &str)>) {
    let (mut around, mut parts) = (String::new(), Vec::new());
    while let Some(begins) = fragment.find(PART_BEGINS) {
        let rest = &fragment[begins..];
        let (Some(named), Some(ends)) = (rest.find(PART_NAMED), rest.find(PART_ENDS)) else {
            break;
        };
        let end = ends + PART_ENDS.len();
        around.push_str(&fragment[..begins]);
        parts.push((&rest[PART_BEGINS.len()..named], &rest[..end]));
        fragment = &rest[end..];
    }
    around.push_str(fragment);
    (around, parts)
}

/// A state as a coloured label, with a sign for readers who cannot distinguish the colours.
pub fn badge(state: &str) -> Markup {
    html! { span class={ "badge is-" (state) } { span aria-hidden="true" { (sign(state)) } (state) } }
}

pub fn sign(state: &str) -> &'static str {
    match state {
        "running" | "revise" => "●",
        "completed" | "verified" | "pass" | "approved" => "✓",
        "failed" | "contradicted" | "broken" | "cancelled" | "stop" => "✕",
        "skipped" => "⤼",
        "paused" => "⏸",
        "stalled" | "warn" | "accepted" | "overridden" => "!",
        _ => "○",
    }
}

/// Text of workers on several lines, without control characters.
pub fn without_controls(text: &str) -> String {
    sanitise(text.as_bytes())
}

/// A long text, folded behind its first line when it is long.
pub fn folded(id: &str, summary: &str, text: &str) -> Markup {
    html! {
        details id=(id) { summary { (summary) } pre.long tabindex="0" { (without_controls(&shortened(text, 200_000))) } }
    }
}

/// At most `most` bytes of a text, with a note of how much is missing.
pub fn shortened(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let kept = &text[..text.floor_char_boundary(most)];
    format!("{kept}\n… {} more bytes", text.len() - kept.len()).into()
}

/// Pages of a list: the range of this page, and how many there are.
pub fn paged(total: usize, per_page: usize, page: usize) -> (std::ops::Range<usize>, usize) {
    let pages = total.div_ceil(per_page).max(1);
    let page = page.min(pages);
    let from = (page - 1) * per_page;
    (from..(from + per_page).min(total), pages)
}

/// Links to the other pages of a list.
pub fn pager(page: usize, pages: usize, link: impl Fn(usize) -> String) -> Markup {
    let page = page.min(pages);
    html! {
        @if pages > 1 {
            nav.row aria-label="Pages of the list" {
                @if page > 1 { a href=(link(page - 1)) { "Previous" } }
                span.soft { "Page " (page) " of " (pages) }
                @if page < pages { a href=(link(page + 1)) { "Next" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_is_split_into_its_parts() {
        let column = |id: &str, text: &str| html! { section id=(id) { (part(id, &html! { p { (text) } })) } };
        let fragment = html! { h2 { "Plan" } (column("wave-1", "<!--part x-->")) (column("wave-2", "b")) };
        let (around, parts) = split_parts(&fragment.0);
        assert_eq!(
            around,
            "<h2>Plan</h2><section id=\"wave-1\"></section><section id=\"wave-2\"></section>"
        );
        let texts = ["&lt;!--part x--&gt;", "b"].map(|text| format!("<p>{text}</p>"));
        assert_eq!(
            parts,
            [
                (
                    "wave-1",
                    format!("<!--part wave-1-->{}<!--end-->", texts[0]).as_str()
                ),
                (
                    "wave-2",
                    format!("<!--part wave-2-->{}<!--end-->", texts[1]).as_str()
                ),
            ]
        );
        assert_eq!(split_parts("<p>a</p>"), ("<p>a</p>".to_owned(), Vec::new()));
    }
}
