//! Whether a Markdown document has its parts: sections by the meaning of their headings, each with something said in it.

use super::heading::fit;
use super::rules::{Problem, Rule};
use super::text::{
    Gap, admission, defers, gap, is_english, is_nothing, names_a_place, only_asks, particulars_beside,
    quoted, shares_word, shingles, similarity, slot, word_count, words, wrong_share,
};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// What a document is held against beside its own form.
#[derive(Clone, Copy, Default)]
pub struct DocumentContext<'a> {
    /// The instruction of the worker.
    pub instruction: &'a str,
    /// What the person asked for, if that is known.
    pub request: &'a str,
}

/// Sections below this have to name something.
const THIN: usize = 4;
/// A copy of this many words is no coincidence.
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
    /// Only parts of other sections, nothing of its own.
    is_parent: bool,
}

/// A document, as far as it is read.
#[derive(Default, Debug)]
pub(super) struct Outline {
    pub sections: Vec<Section>,
    pub blocks: Vec<Block>,
    /// Sections that what follows belongs to, outermost first.
    open: Vec<usize>,
    block: String,
    plain: String,
    in_code: bool,
}

/// What is wrong with the document, in the order of the wanted headings. Expects the usual form.
pub(super) fn problems(text: &str, headings: &[String], context: DocumentContext<'_>) -> Vec<Problem> {
    let outline = Outline::read(text);
    if !outline.blocks.iter().any(Block::says_something) {
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
                let text = format!("has no heading `{wanted}`: name the section that says it so");
                Problem::new(Rule::Unnamed, text)
            } else {
                Problem::new(Rule::Missing, format!("has no heading `{wanted}`"))
            });
            continue;
        }
        let blocks = sections.iter().flat_map(|section| &section.blocks);
        let blocks: Vec<&Block> = blocks.map(|&at| &outline.blocks[at]).collect();
        if !blocks.iter().any(|block| block.says_something()) {
            problems.push(match blocks.iter().find(|block| block.is_placeholder()) {
                Some(block) => {
                    let said = quoted(&block.text);
                    let text = format!("has only a placeholder below the heading `{wanted}`: {said}");
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
    // A report on work speaks of the work.
    if !headings.is_empty() {
        problems.extend(unrelated(&outline, context));
        problems.extend(without_places(&outline, headings));
    }
    problems
}

/// What is wrong with what one section says.
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
    let says: Vec<&&Block> = blocks.iter().filter(|block| block.says_something()).collect();
    if says.is_empty() {
        return problems;
    }
    let text = says
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
                || defers(&block.text)
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
    if says.iter().all(|block| is_nothing(&block.text))
        || (word_count(&text) < THIN && !names_something && !says.iter().any(|block| block.is_code))
    {
        problems.push(Problem::new(
            Rule::Thin,
            format!("says next to nothing{place}: {}", quoted(&text)),
        ));
    } else if only_asks(&text) {
        problems.push(Problem::new(
            Rule::Thin,
            format!("asks, and does not answer{place}: {}", quoted(&text)),
        ));
    } else if says_nothing_of_its_own(&says, &text, context) {
        problems.push(Problem::new(
            Rule::Thin,
            format!("could stand in any document{place}: {}", quoted(&text)),
        ));
    }
    if let Some(share) = says.iter().find_map(|block| wrong_share(&block.text)) {
        problems.push(Problem::new(
            Rule::Disagrees,
            format!(
                "has per cent that are not those of its counts{place}: {}",
                quoted(share)
            ),
        ));
    }
    problems
}

/// Only words that can be said of everything, and words of the request. Judged where the language is known.
fn says_nothing_of_its_own(says: &[&&Block], text: &str, context: DocumentContext<'_>) -> bool {
    is_english(&words(text))
        && !says.iter().any(|block| block.is_code)
        && !text.contains(|c: char| c.is_ascii_digit())
        && particulars_beside(text, &words(context.request)) == 0
}

/// What of the text is the instruction's own, if most of it is.
pub(super) fn copy_of(text: &str, instruction: &str) -> Option<String> {
    let own = words(text);
    if own.len() < MIN_COPY || instruction.is_empty() {
        return None;
    }
    let told = shingles(&words(instruction), 3);
    let said = shingles(&own, 3);
    let same = said.iter().filter(|shingle| told.contains(*shingle)).count();
    (same * 5 >= said.len() * 4).then(|| quoted(text))
}

/// Sections that say the same, apart from the words of their headings.
fn repetition(parts: &[(&str, Vec<&Block>)]) -> Vec<Problem> {
    let bodies: Vec<(&str, Vec<String>)> = parts
        .iter()
        .map(|(wanted, blocks)| {
            let says: Vec<&str> = blocks
                .iter()
                .filter(|block| block.says_something())
                .map(|block| block.text.as_str())
                .collect();
            let of_title = words(wanted);
            let stem = |word: &str| word.trim_end_matches('s').to_owned();
            let mut body = words(&says.join(" "));
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
                        "says the same below `{first}` and `{second}`: {}",
                        quoted(&a.join(" "))
                    ),
                )];
            }
            if similarity(a, b) > 0.7 {
                return vec![Problem::new(
                    Rule::Similar,
                    format!(
                        "says almost the same below `{first}` and `{second}`: {}",
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
    // A document rarely repeats the one word that its title has. Otherwise a title counts for nothing: it is quickly copied
    // from the request.
    let in_a_title = |section: &Section| shares_word(&words(&section.title), &request);
    let is_titled = request.len() == 1 && outline.sections.iter().any(in_a_title);
    if request.is_empty() || is_titled || !context.request.is_ascii() || !is_english(&text) {
        return None;
    }
    (!shares_word(&text, &request)).then(|| {
        let request = quoted(context.request);
        Problem::new(Rule::Unrelated, format!("names nothing of the request {request}"))
    })
}

/// Whether a document about the parts of a program names nothing that could be looked up.
fn without_places(outline: &Outline, headings: &[String]) -> Option<Problem> {
    let says: Vec<&Block> = outline
        .blocks
        .iter()
        .filter(|block| block.says_something())
        .collect();
    let text: Vec<&str> = says.iter().map(|block| block.text.as_str()).collect();
    let text = text.join("\n");
    let is_bare = headings.iter().any(|wanted| fit(wanted, "Components") > 0)
        && !says.iter().any(|block| block.is_code)
        && is_english(&words(&text))
        && !names_a_place(&text);
    is_bare.then(|| {
        let text = "names no file, no id, no figure and no example in any section";
        Problem::new(Rule::Thin, text)
    })
}

impl Block {
    /// It has words, and they say that others are to come.
    fn is_placeholder(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric) && gap(&self.text).is_some()
    }

    pub(super) fn says_something(&self) -> bool {
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
                // What looks like a tag may be a slot of a template.
                Event::InlineHtml(text) if !text.starts_with("<!--") => outline.push(&mut title, "", &text),
                // A picture says something even without a text of its own.
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

    /// Sections of this heading: those that fit it best.
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

    /// How many sections say something and are none of those wanted.
    fn spare(&self, headings: &[String]) -> usize {
        let is_spare = |section: &&Section| {
            let says = section.blocks.iter().any(|&at| self.blocks[at].says_something());
            says && !section.is_parent && !headings.iter().any(|wanted| fit(&section.title, wanted) > 0)
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

    /// Counts the block for the sections it lies in.
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

/// Where a report on work says that the work was not done.
pub(super) fn admissions(text: &str) -> Vec<Problem> {
    let found = text.lines().find(|line| admission(line).is_some());
    found
        .map(|line| {
            Problem::new(
                Rule::Admits,
                format!("says that it was not done: {}", quoted(line)),
            )
        })
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests;
