//! Checks the parts of a Markdown document: sections, recognised by the meaning of their headings, each with
//! content.

mod evasions;

use super::heading::fit;
use super::rules::{Problem, Rule};
use super::text::{
    Gap, admission, gap, is_english, is_nothing, particulars_beside, quoted, shares_word, shingles,
    similarity, slot, word_count, words, wrong_share,
};
use evasions::{evasions, without_places};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The texts that a document is compared with.
#[derive(Clone, Copy, Default)]
pub struct DocumentContext<'a> {
    /// The instruction of the worker.
    pub instruction: &'a str,
    /// The person's request, if it is known.
    pub request: &'a str,
}

/// Shorter sections must name something specific.
const THIN: usize = 4;
/// Equal sequences of this many words are copies.
const MIN_COPY: usize = 5;

/// A part of a section: a paragraph, a list item, a table row, a block of code.
#[derive(Debug)]
pub(super) struct Block {
    pub text: String,
    /// Without what is written as code.
    plain: String,
    is_code: bool,
}

#[derive(Debug)]
pub(super) struct Section {
    level: HeadingLevel,
    pub title: String,
    /// With those of the sections in it.
    pub blocks: Vec<usize>,
    /// Whether it has only subsections and no content of its own.
    is_parent: bool,
}

/// A document, as far as it was read.
#[derive(Default, Debug)]
pub(super) struct Outline {
    pub sections: Vec<Section>,
    pub blocks: Vec<Block>,
    /// The sections that are open at this point, outermost first.
    open: Vec<usize>,
    block: String,
    plain: String,
    in_code: bool,
}

/// What is wrong with the document, in the order of the required headings. Expects the normal form.
pub(super) fn problems(text: &str, headings: &[String], context: DocumentContext<'_>) -> Vec<Problem> {
    let outline = Outline::read(text);
    if !outline.blocks.iter().any(Block::has_content) {
        let only = outline.blocks.iter().find(|block| block.is_placeholder());
        return vec![match only {
            Some(only) => Problem::new(Rule::Placeholder, format!("says only {}", quoted(&only.text))),
            None => Problem::new(Rule::Missing, "has no text"),
        }];
    }
    let mut problems = Vec::new();
    let mut parts: Vec<(&str, Vec<&Block>)> = Vec::new();
    let missing = headings
        .iter()
        .filter(|wanted| outline.find(wanted).is_empty())
        .count();
    let may_be_there = outline.spare(headings) >= missing;
    for wanted in headings {
        let sections = outline.find(wanted);
        if sections.is_empty() {
            problems.push(if may_be_there {
                let text =
                    format!("has no heading `{wanted}`: give the section with this content that heading");
                Problem::new(Rule::Unnamed, text)
            } else {
                Problem::new(Rule::Missing, format!("has no heading `{wanted}`"))
            });
            continue;
        }
        let blocks = sections.iter().flat_map(|section| &section.blocks);
        let blocks: Vec<&Block> = blocks.map(|&at| &outline.blocks[at]).collect();
        if !blocks.iter().any(|block| block.has_content()) {
            problems.push(match blocks.iter().find(|block| block.is_placeholder()) {
                Some(block) => {
                    let placeholder = quoted(&block.text);
                    let text = format!("has only a placeholder below the heading `{wanted}`: {placeholder}");
                    Problem::new(Rule::Placeholder, text)
                }
                None => Problem::new(Rule::Missing, format!("has nothing below the heading `{wanted}`")),
            });
        }
        parts.push((wanted.as_str(), blocks));
    }
    if headings.is_empty() {
        parts.push(("", outline.blocks.iter().collect()));
    }
    for (wanted, blocks) in &parts {
        let place = if wanted.is_empty() {
            String::new()
        } else {
            format!(" below the heading `{wanted}`")
        };
        problems.extend(part_problems(blocks, &place, context));
    }
    problems.extend(repetition(&parts));
    problems.extend(evasions(&parts));
    // A report about work describes the work itself.
    if !headings.is_empty() {
        problems.extend(unrelated(&outline, context));
        problems.extend(without_places(&outline, headings));
    }
    problems
}

/// The problems of one section's content.
fn part_problems(blocks: &[&Block], place: &str, context: DocumentContext<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(block) = blocks
        .iter()
        .find(|block| !block.is_code && gap(&block.text) == Some(Gap::Filler))
    {
        problems.push(Problem::new(
            Rule::Filler,
            format!("has filler text{place}: {}", quoted(&block.text)),
        ));
        return problems;
    }
    let contents: Vec<&&Block> = blocks.iter().filter(|block| block.has_content()).collect();
    if contents.is_empty() {
        return problems;
    }
    let text = contents
        .iter()
        .map(|block| block.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    if let Some(copied) = copy_of(&text, context.instruction) {
        problems.push(Problem::new(
            Rule::Copied,
            format!("repeats the instruction{place}: {copied}"),
        ));
        return problems;
    }
    let gaps = blocks.iter().find(|block| {
        !block.is_code
            && (gap(&block.text) == Some(Gap::Placeholder)
                || block
                    .text
                    .split('|')
                    .any(|cell| gap(cell) == Some(Gap::Placeholder) && !is_nothing(cell)))
    });
    if let Some(block) = gaps {
        problems.push(Problem::new(
            Rule::Gaps,
            format!("has a placeholder{place}: {}", quoted(&block.text)),
        ));
    } else if let Some(found) = blocks
        .iter()
        .filter(|block| !block.is_code)
        .find_map(|block| slot(&block.plain))
    {
        problems.push(Problem::new(
            Rule::Gaps,
            format!("has a slot of a template{place}: {}", quoted(found)),
        ));
    }
    let names_something = text.chars().any(|c| c.is_ascii_digit()) && word_count(&text) > 1;
    if contents.iter().all(|block| is_nothing(&block.text))
        || (word_count(&text) < THIN && !names_something && !contents.iter().any(|block| block.is_code))
    {
        problems.push(Problem::new(
            Rule::Thin,
            format!("has almost no content{place}: {}", quoted(&text)),
        ));
    } else if has_no_content_of_its_own(&contents, &text, context) {
        problems.push(Problem::new(
            Rule::Thin,
            format!("would fit any document{place}: {}", quoted(&text)),
        ));
    }
    if let Some(share) = contents.iter().find_map(|block| wrong_share(&block.text)) {
        problems.push(Problem::new(
            Rule::Disagrees,
            format!(
                "has a percentage that does not fit its counts{place}: {}",
                quoted(share)
            ),
        ));
    }
    problems
}

/// Whether a text has only words that fit any request, and words of the request. Checked only in known
/// languages.
fn has_no_content_of_its_own(contents: &[&&Block], text: &str, context: DocumentContext<'_>) -> bool {
    is_english(&words(text))
        && !contents.iter().any(|block| block.is_code)
        && !text.contains(|c: char| c.is_ascii_digit())
        && particulars_beside(text, &words(context.request)) == 0
}

/// The part of the text that was copied from the instruction, if that is most of it.
pub(super) fn copy_of(text: &str, instruction: &str) -> Option<String> {
    let own = words(text);
    if own.len() < MIN_COPY || instruction.is_empty() {
        return None;
    }
    let instructed = shingles(&words(instruction), 3);
    let written = shingles(&own, 3);
    let same = written
        .iter()
        .filter(|shingle| instructed.contains(*shingle))
        .count();
    (same * 5 >= written.len() * 4).then(|| quoted(text))
}

/// Sections with the same content, apart from the words of their headings.
fn repetition(parts: &[(&str, Vec<&Block>)]) -> Vec<Problem> {
    let bodies: Vec<(&str, Vec<String>)> = parts
        .iter()
        .map(|(wanted, blocks)| {
            let texts: Vec<&str> = blocks
                .iter()
                .filter(|block| block.has_content())
                .map(|block| block.text.as_str())
                .collect();
            let of_title = words(wanted);
            let stem = |word: &str| word.trim_end_matches('s').to_owned();
            let mut body = words(&texts.join(" "));
            body.retain(|word| {
                !of_title.iter().any(|title| stem(title) == stem(word))
                    && !word.chars().all(|c| c.is_ascii_digit())
            });
            (*wanted, body)
        })
        .collect();
    for (at, (first, a)) in bodies.iter().enumerate() {
        for (second, b) in &bodies[at + 1..] {
            if a.len() < 3 || b.len() < 3 {
                continue;
            }
            if a == b {
                return vec![Problem::new(
                    Rule::Repeated,
                    format!(
                        "has the same text below `{first}` and `{second}`: {}",
                        quoted(&a.join(" "))
                    ),
                )];
            }
            if similarity(a, b) > 0.7 {
                return vec![Problem::new(
                    Rule::Similar,
                    format!(
                        "has almost the same text below `{first}` and `{second}`: {}",
                        quoted(&a.join(" "))
                    ),
                )];
            }
        }
    }
    Vec::new()
}

/// Whether the document names anything of the request, where both are in one language.
fn unrelated(outline: &Outline, context: DocumentContext<'_>) -> Option<Problem> {
    let request = words(context.request);
    let text: Vec<String> = outline
        .blocks
        .iter()
        .flat_map(|block| words(&block.text))
        .collect();
    // A document rarely repeats the one word that its title has. Otherwise the title does not count, because
    // it is easily copied from the request.
    let in_a_title = |section: &Section| shares_word(&words(&section.title), &request);
    let is_titled = request.len() == 1 && outline.sections.iter().any(in_a_title);
    if request.is_empty() || is_titled || !context.request.is_ascii() || !is_english(&text) {
        return None;
    }
    (!shares_word(&text, &request)).then(|| {
        let request = quoted(context.request);
        Problem::new(
            Rule::Unrelated,
            format!("mentions nothing from the request {request}"),
        )
    })
}

impl Block {
    /// It only announces text that is to come.
    fn is_placeholder(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric) && gap(&self.text).is_some()
    }

    pub(super) fn has_content(&self) -> bool {
        let has_words = self.text.chars().any(char::is_alphanumeric);
        has_words && (self.is_code || gap(&self.text) != Some(Gap::Placeholder))
    }
}

impl Outline {
    pub(super) fn read(text: &str) -> Self {
        let mut outline = Self::default();
        let mut title: Option<String> = None;
        let mut html: Option<String> = None;
        let mut metadata = false;
        let mut in_head = false;
        for event in Parser::new_ext(
            text,
            Options::ENABLE_YAML_STYLE_METADATA_BLOCKS | Options::ENABLE_TABLES,
        ) {
            match event {
                Event::Start(Tag::MetadataBlock(_)) => metadata = true,
                Event::End(TagEnd::MetadataBlock(_)) => metadata = false,
                Event::Text(_) if metadata || in_head => {}
                Event::Text(text) => outline.push(&mut title, &text, &text),
                Event::Code(text) => outline.push(&mut title, &format!("`{text}`"), " "),
                Event::SoftBreak | Event::HardBreak => outline.push(&mut title, " ", " "),
                // Text that looks like an HTML tag may be a slot of a template.
                Event::InlineHtml(text) if !text.starts_with("<!--") => outline.push(&mut title, "", &text),
                // A picture counts as content, even without alt text.
                Event::Start(Tag::Image { .. }) => outline.push(&mut title, "picture with a plot ", ""),
                Event::Start(Tag::Heading { .. }) => {
                    outline.end_block();
                    title = Some(String::new());
                }
                Event::End(TagEnd::Heading(level)) => {
                    outline.begin_section(level, title.take().unwrap_or_default());
                }
                Event::Html(text) => html.get_or_insert_default().push_str(&text),
                Event::End(TagEnd::HtmlBlock) => {
                    let html = html.take().unwrap_or_default();
                    if !html.trim_start().starts_with("<!--") {
                        outline.push(&mut title, &html, "");
                    }
                }
                Event::Start(Tag::TableHead) => in_head = true,
                Event::End(TagEnd::TableHead) => in_head = false,
                Event::End(TagEnd::TableCell) if !in_head => outline.push(&mut title, " | ", " "),
                Event::Start(Tag::CodeBlock(kind)) => {
                    outline.end_block();
                    outline.in_code =
                        !matches!(kind, CodeBlockKind::Fenced(ref name) if name.starts_with("text"));
                }
                Event::Start(Tag::List(_)) => outline.end_block(),
                Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::CodeBlock | TagEnd::TableRow) => {
                    outline.end_block();
                }
                _ => {}
            }
        }
        outline.end_block();
        outline
    }

    /// The sections for this heading: those that fit it best.
    pub(super) fn find(&self, wanted: &str) -> Vec<&Section> {
        let best = self
            .sections
            .iter()
            .map(|section| fit(&section.title, wanted))
            .max()
            .unwrap_or(0);
        let fits = |section: &&Section| best > 0 && fit(&section.title, wanted) == best;
        self.sections.iter().filter(fits).collect()
    }

    /// How many sections have content and are not required ones.
    fn spare(&self, headings: &[String]) -> usize {
        let is_spare = |section: &&Section| {
            let has_content = section.blocks.iter().any(|&at| self.blocks[at].has_content());
            has_content
                && !section.is_parent
                && !headings.iter().any(|wanted| fit(&section.title, wanted) > 0)
        };
        self.sections.iter().filter(is_spare).count()
    }

    fn push(&mut self, title: &mut Option<String>, text: &str, plain: &str) {
        if let Some(title) = title {
            title.push_str(text.trim_matches('`'));
        } else {
            self.block.push_str(text);
            self.plain.push_str(plain);
        }
    }

    fn begin_section(&mut self, level: HeadingLevel, title: String) {
        while self
            .open
            .last()
            .is_some_and(|&at| self.sections[at].level >= level)
        {
            self.open.pop();
        }
        if let Some(&above) = self.open.last() {
            self.sections[above].is_parent = true;
        }
        self.open.push(self.sections.len());
        self.sections.push(Section {
            level,
            title,
            blocks: vec![],
            is_parent: false,
        });
    }

    /// Counts the block for the sections that contain it.
    fn end_block(&mut self) {
        let text = std::mem::take(&mut self.block);
        let plain = std::mem::take(&mut self.plain);
        let is_code = std::mem::take(&mut self.in_code);
        if text.trim().is_empty() && slot(&plain).is_none() {
            return;
        }
        for &at in &self.open {
            self.sections[at].blocks.push(self.blocks.len());
        }
        self.blocks.push(Block { text, plain, is_code });
    }
}

/// Where a report about work states that the work was not done.
pub(super) fn admissions(text: &str) -> Vec<Problem> {
    let found = text.lines().find(|line| admission(line).is_some());
    found
        .map(|line| {
            Problem::new(
                Rule::Admits,
                format!("states that it was not done: {}", quoted(line)),
            )
        })
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests;
