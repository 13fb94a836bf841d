//! The text below the headings of a review.

use crate::claim::heading::fit;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

#[derive(Default)]
pub(super) struct ReviewText {
    pub verdict: String,
    /// Text below `Findings` that is neither table nor code.
    pub text: String,
    pub tables: Vec<Vec<Vec<String>>>,
    pub code: Vec<String>,
    /// Text below other headings.
    pub elsewhere: String,
    /// Headings other than those of the verdict and the findings, as long as there are no findings.
    others: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    Elsewhere,
    Verdict,
    Findings,
}

impl ReviewText {
    /// Expects the normal form. If no heading is that of the findings, and the review has exactly one section
    /// besides the verdict, that section has the findings.
    pub(super) fn read(text: &str) -> Self {
        let review = Self::read_with(text, None);
        match review.others.as_slice() {
            [only] if !review.verdict.trim().is_empty() && review.is_without_findings() => {
                Self::read_with(text, Some(only))
            }
            _ => review,
        }
    }

    fn is_without_findings(&self) -> bool {
        self.text.trim().is_empty() && self.tables.is_empty() && self.code.is_empty()
    }

    /// `findings` is another title of the findings.
    fn read_with(text: &str, findings: Option<&str>) -> Self {
        let mut review = Self::default();
        let (mut place, mut depth) = (Location::Elsewhere, HeadingLevel::H6);
        let mut title: Option<String> = None;
        let (mut table, mut code) = (false, false);
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => title = Some(String::new()),
                Event::End(TagEnd::Heading(level)) => {
                    let title = title.take().unwrap_or_default();
                    let of_findings = if findings == Some(title.as_str()) {
                        3
                    } else {
                        fit(&title, "Findings")
                    };
                    if level > HeadingLevel::H1 && fit(&title, "Verdict") + of_findings == 0 {
                        review.others.push(title.clone());
                    }
                    let next = match (fit(&title, "Verdict"), of_findings) {
                        (verdict, findings) if verdict > findings => Some(Location::Verdict),
                        (_, findings) if findings > 0 => Some(Location::Findings),
                        // Parts of a section belong to it.
                        _ => (level <= depth).then_some(Location::Elsewhere),
                    };
                    // A finding may be called anything.
                    let within = place == Location::Findings && level > depth;
                    if let Some(next) = next.filter(|_| !within) {
                        (place, depth) = (next, level);
                    }
                }
                Event::Start(Tag::Table(_)) => {
                    table = true;
                    review.tables.extend((place == Location::Findings).then(Vec::new));
                }
                Event::End(TagEnd::Table) => table = false,
                Event::Start(Tag::TableHead | Tag::TableRow) if place == Location::Findings => {
                    if let Some(table) = review.tables.last_mut() {
                        table.push(Vec::new());
                    }
                }
                // Unchanged, because `__init__` is a name, not emphasis.
                Event::Start(Tag::TableCell) if place == Location::Findings => {
                    let cell = text[range].trim().trim_matches('|').trim();
                    let bare = cell.trim_matches(['*', ' ']).trim_matches('`');
                    if let Some(row) = review.tables.last_mut().and_then(|rows| rows.last_mut()) {
                        row.push(bare.to_owned());
                    }
                }
                Event::Start(Tag::CodeBlock(_)) => {
                    code = true;
                    review
                        .code
                        .extend((place == Location::Findings).then(String::new));
                }
                Event::End(TagEnd::CodeBlock) => code = false,
                Event::Text(ref words) | Event::Code(ref words) => {
                    let into = match (&mut title, place) {
                        (Some(title), _) => title,
                        (None, _) if table => continue,
                        (None, Location::Verdict) => &mut review.verdict,
                        (None, Location::Findings) if code => match review.code.last_mut() {
                            Some(code) => code,
                            None => continue,
                        },
                        (None, Location::Findings) => &mut review.text,
                        (None, Location::Elsewhere) => &mut review.elsewhere,
                    };
                    // The same for names in a text.
                    let is_name = |c: char| c == '_';
                    if let Some(before) = text[..range.start]
                        .chars()
                        .next_back()
                        .filter(|c| is_name(*c) && !into.ends_with('_'))
                    {
                        let marks = text[..range.start]
                            .chars()
                            .rev()
                            .take_while(|c| *c == before)
                            .count();
                        into.extend(std::iter::repeat_n(before, marks));
                    }
                    into.push_str(words);
                    let marks = text[range.end..].chars().take_while(|c| is_name(*c)).count();
                    into.extend(std::iter::repeat_n('_', marks));
                }
                Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                    review.verdict.push(' ');
                    review.text.push('\n');
                    review.elsewhere.push('\n');
                }
                _ => {}
            }
        }
        review
    }
}
