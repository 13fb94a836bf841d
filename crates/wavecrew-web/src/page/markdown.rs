//! Markdown of workers as HTML. Raw HTML is shown as text, only web links are links, and images are replaced
//! by their descriptions.

use super::shortened;
use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

const LONGEST: usize = 300_000;

pub fn render(text: &str) -> Markup {
    let text = super::without_controls(&shortened(text, LONGEST));
    let mut out = String::with_capacity(text.len() * 2);
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(tag) => open(&mut out, &tag),
            Event::End(tag) => close(&mut out, tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => escape(&mut out, &text),
            Event::Code(text) => {
                out.push_str("<code>");
                escape(&mut out, &text);
                out.push_str("</code>");
            }
            Event::SoftBreak => out.push('\n'),
            Event::HardBreak => out.push_str("<br>"),
            Event::Rule => out.push_str("<hr>"),
            Event::TaskListMarker(done) => out.push_str(if done { "☑ " } else { "☐ " }),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                escape(&mut out, &text);
            }
        }
    }
    html! { div.prose { (PreEscaped(out)) } }
}

fn open(out: &mut String, tag: &Tag<'_>) {
    match tag {
        Tag::Paragraph => out.push_str("<p>"),
        Tag::Heading { level, .. } => out.push_str(&format!("<{}>", heading(*level))),
        Tag::BlockQuote(_) => out.push_str("<blockquote>"),
        Tag::CodeBlock(kind) => {
            // The language of the code block is text of the worker and is dropped.
            let (CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) = kind;
            out.push_str("<pre tabindex=\"0\"><code>");
        }
        Tag::List(Some(first)) => out.push_str(&format!("<ol start=\"{first}\">")),
        Tag::List(None) => out.push_str("<ul>"),
        Tag::Item => out.push_str("<li>"),
        Tag::Table(_) => out.push_str("<table>"),
        Tag::TableHead => out.push_str("<thead><tr>"),
        Tag::TableRow => out.push_str("<tr>"),
        Tag::TableCell => out.push_str("<td>"),
        Tag::Emphasis | Tag::Image { .. } => out.push_str("<em>"),
        Tag::Strong => out.push_str("<strong>"),
        Tag::Strikethrough => out.push_str("<del>"),
        Tag::Link { dest_url, .. } => {
            let address = dest_url.to_ascii_lowercase();
            let is_web = address.starts_with("https://") || address.starts_with("http://");
            out.push_str("<a");
            if is_web {
                out.push_str(" rel=\"noopener noreferrer\" href=\"");
                escape(out, dest_url);
                out.push('"');
            }
            out.push('>');
        }
        Tag::HtmlBlock => out.push_str("<pre>"),
        Tag::FootnoteDefinition(_)
        | Tag::DefinitionList
        | Tag::DefinitionListTitle
        | Tag::DefinitionListDefinition
        | Tag::Superscript
        | Tag::Subscript
        | Tag::MetadataBlock(_) => out.push_str("<div>"),
    }
}

fn close(out: &mut String, tag: TagEnd) {
    let end = match tag {
        TagEnd::Paragraph => "</p>",
        TagEnd::Heading(level) => return out.push_str(&format!("</{}>", heading(level))),
        TagEnd::BlockQuote(_) => "</blockquote>",
        TagEnd::CodeBlock => "</code></pre>",
        TagEnd::List(true) => "</ol>",
        TagEnd::List(false) => "</ul>",
        TagEnd::Item => "</li>",
        TagEnd::Table => "</tbody></table>",
        TagEnd::TableHead => "</tr></thead><tbody>",
        TagEnd::TableRow => "</tr>",
        TagEnd::TableCell => "</td>",
        TagEnd::Emphasis | TagEnd::Image => "</em>",
        TagEnd::Strong => "</strong>",
        TagEnd::Strikethrough => "</del>",
        TagEnd::Link => "</a>",
        TagEnd::HtmlBlock => "</pre>",
        TagEnd::FootnoteDefinition
        | TagEnd::DefinitionList
        | TagEnd::DefinitionListTitle
        | TagEnd::DefinitionListDefinition
        | TagEnd::Superscript
        | TagEnd::Subscript
        | TagEnd::MetadataBlock(_) => "</div>",
    };
    out.push_str(end);
}

/// Below the headings of the page.
fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "h3",
        HeadingLevel::H2 => "h4",
        HeadingLevel::H3 => "h5",
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => "h6",
    }
}

fn escape(out: &mut String, text: &str) {
    out.push_str(&html! { (text) }.into_string().replace('"', "&quot;"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_it_becomes_markup_of_its_own() {
        let text = "# <script>a()</script>\n\n<img src=x onerror=b()>\n\n[x](javascript:c()) ![y\" onload=\"d](z) \
                    [w](https://example.org/\"onclick=\"e)\n\n```\"><script>\n<svg onload=f()>\n```\n\n| <b> |\n| --- |\n| <i> |";
        let html = render(text).into_string();
        for bad in [
            "<script",
            "<img",
            "<svg",
            "javascript:",
            "<b>",
            "<i>",
            "\"onclick",
            "\" onload",
        ] {
            assert!(!html.contains(bad), "{bad} in {html}");
        }
        assert!(html.contains("<h3>&lt;script&gt;"), "{html}");
    }
}
