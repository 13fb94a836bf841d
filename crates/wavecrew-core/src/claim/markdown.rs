//! Checks that a Markdown document has its headings, each with text below it.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// Placeholders do not count as text.
const PLACEHOLDERS: [&str; 2] = ["todo", "tbd"];

pub(super) const NO_TEXT: &str = "has no text";

struct Section {
    level: HeadingLevel,
    title: String,
    filled: bool,
}

#[derive(Default)]
struct Outline {
    sections: Vec<Section>,
    /// Sections around the current block, outermost first.
    open: Vec<usize>,
    has_text: bool,
    /// The text of the current block, which the parser gives in pieces.
    block: String,
}

/// What is missing in the document, in the order of `headings`.
pub(super) fn problems(text: &str, headings: &[String]) -> Vec<String> {
    let outline = Outline::read(text);
    if !outline.has_text {
        return vec![NO_TEXT.to_owned()];
    }
    let problem = |wanted: &String| {
        let key = key(wanted);
        let mut same = outline
            .sections
            .iter()
            .filter(|section| section.title == key)
            .peekable();
        if same.peek().is_none() {
            Some(format!("has no heading `{wanted}`"))
        } else if same.any(|section| section.filled) {
            None
        } else {
            Some(format!("has nothing below the heading `{wanted}`"))
        }
    };
    headings.iter().filter_map(problem).collect()
}

impl Outline {
    fn read(text: &str) -> Self {
        let mut outline = Self::default();
        let mut title: Option<String> = None;
        let mut html: Option<String> = None;
        let mut metadata = false;
        for event in Parser::new_ext(text, Options::ENABLE_YAML_STYLE_METADATA_BLOCKS) {
            let words = title.as_mut().unwrap_or(&mut outline.block);
            match event {
                Event::Start(Tag::MetadataBlock(_)) => metadata = true,
                Event::End(TagEnd::MetadataBlock(_)) => metadata = false,
                Event::Text(_) if metadata => {}
                Event::Text(text) | Event::Code(text) => words.push_str(&text),
                Event::SoftBreak | Event::HardBreak => words.push(' '),
                // A picture counts as text.
                Event::Start(Tag::Image { .. }) => words.push_str("picture "),
                Event::Start(Tag::Heading { .. }) => {
                    outline.end_block();
                    title = Some(String::new());
                }
                Event::End(TagEnd::Heading(level)) => {
                    outline.begin_section(level, &title.take().unwrap_or_default());
                }
                Event::Html(text) => html.get_or_insert_default().push_str(&text),
                Event::End(TagEnd::HtmlBlock) => {
                    let html = html.take().unwrap_or_default();
                    if !html.trim_start().starts_with("<!--") {
                        words.push_str(&html);
                    }
                }
                Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::CodeBlock) => outline.end_block(),
                _ => {}
            }
        }
        outline.end_block();
        outline
    }

    fn begin_section(&mut self, level: HeadingLevel, title: &str) {
        while self
            .open
            .last()
            .is_some_and(|&at| self.sections[at].level >= level)
        {
            self.open.pop();
        }
        self.open.push(self.sections.len());
        self.sections.push(Section {
            level,
            title: key(title),
            filled: false,
        });
    }

    /// Marks the sections around the block as filled, unless it is empty or a placeholder.
    fn end_block(&mut self) {
        let words = self.block.trim_matches(|c: char| !c.is_alphanumeric());
        let counts = !words.is_empty() && !PLACEHOLDERS.iter().any(|p| words.eq_ignore_ascii_case(p));
        self.block.clear();
        if counts {
            self.has_text = true;
            for &at in &self.open {
                self.sections[at].filled = true;
            }
        }
    }
}

/// A title normalised for comparison: without number, case, closing colon and extra spaces.
pub(super) fn key(title: &str) -> String {
    let mut words: Vec<&str> = title.split_whitespace().collect();
    if words.len() > 1 && is_number(words[0]) {
        words.remove(0);
        if words.len() > 1 && matches!(words[0], "-" | "–" | "—" | ":" | "." | ")") {
            words.remove(0);
        }
    }
    words
        .join(" ")
        .trim_end_matches([':', '.'])
        .trim_end()
        .to_lowercase()
}

/// `1.`, `2)`, `(3)`, `1.2.3`, `4`, `IV.`, `A)`; not a year.
fn is_number(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let digits = |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if bare.split('.').all(digits) {
        return true;
    }
    let letters = bare.len() == 1 && bare.bytes().all(|b| b.is_ascii_uppercase());
    let roman = !bare.is_empty() && bare.bytes().all(|b| b"IVX".contains(&b));
    word.ends_with(['.', ')']) && (letters || roman)
}

#[cfg(test)]
mod tests {
    use super::problems;

    #[test]
    fn headings() {
        let fine: &[&str] = &[];
        let missing: &[&str] = &["has no heading `Scope`"];
        let empty: &[&str] = &["has nothing below the heading `Scope`"];
        for (text, expected) in [
            ("# Scope\nAll of it.", fine),
            ("###### SCOPE ######\n\nx", fine),
            ("## 1. Scope\nx", fine),
            ("## 1.2.3 Scope\nx", fine),
            ("## 1) scope:\nx", fine),
            ("## (1) Scope\nx", fine),
            ("## 1 — Scope\nx", fine),
            ("## IV. Scope\nx", fine),
            ("## A. Scope\nx", fine),
            ("## **Scope**\nx", fine),
            ("## `Scope`\nx", fine),
            ("Scope\n=====\nx", fine),
            ("Scope\n-----\nx", fine),
            ("## Scope\r\n\r\nx\r\n", fine),
            ("---\ntitle: a\n---\n# Scope\nx", fine),
            ("# Scope\n## In\nx", fine),
            ("# Scope\n```\ncode\n```", fine),
            ("# Scope\n- one", fine),
            ("# Scope\n| a | b |\n|---|---|\n| 1 | 2 |", fine),
            ("# Scope\n![](plot.png)", fine),
            ("# Scope\n<table><tr><td>x</td></tr></table>", fine),
            ("# Scope\n\n# Other\nx\n# Scope\nx", fine),
            ("# Scope\nTODO list of the shop", fine),
            ("# Scope\n范围", fine),
            ("## 2024 Scope\nx", missing),
            ("# Out of scope\nx", missing),
            ("#Scope\nx", missing),
            ("**Scope**\n\nx", missing),
            ("```\n# Scope\nx\n```", missing),
            ("~~~\n# Scope\n~~~\nx", missing),
            ("<!--\n# Scope\n-->\nx", missing),
            ("---\nScope: a\n---\nx", missing),
            ("x\n# Scope", empty),
            ("x\n# Scope\n\n \t\n# Next\nx", empty),
            ("x\n# Scope\n## In\n## Out\n", empty),
            ("x\n## Scope\n# Next\nx", empty),
            ("x\n# Scope\n<!-- to be\n\nwritten -->", empty),
            ("x\n# Scope\ntext <!-- x -->", fine),
            ("x\n# Scope\nTODO", empty),
            ("x\n# Scope\n*TBD.*", empty),
            ("x\n# Scope\n...", empty),
            ("x\n# Scope\n---\n", empty),
            ("x\n# Scope\n-\n-\n", empty),
            ("x\n# Scope\n```\n```\n", empty),
        ] {
            assert_eq!(problems(text, &["Scope".to_owned()]), expected, "{text:?}");
        }
    }

    #[test]
    fn every_missing_part_is_named_in_order() {
        let wanted = ["Layers and targets", "Risks", "2. Priorities", "Größe"].map(str::to_owned);
        let text = "# Plan\nx\n## layers  AND Targets\ny\n## Priorities\n## GRÖSSE\nz\n";
        assert_eq!(
            problems(text, &wanted),
            [
                "has no heading `Risks`",
                "has nothing below the heading `2. Priorities`",
                "has no heading `Größe`"
            ]
        );
    }

    #[test]
    fn a_document_without_text() {
        for text in ["", " \n\t\n", "# Title only\n## And another", "<!-- nothing -->"] {
            assert_eq!(problems(text, &[]), ["has no text"], "{text:?}");
        }
        assert!(problems("just a line", &[]).is_empty());
    }
}
