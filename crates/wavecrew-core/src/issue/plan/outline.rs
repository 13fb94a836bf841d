//! The parts of a Markdown document that a plan is made of: headings and list items, with their places in the text.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::ops::Range;

#[derive(Debug)]
pub(super) struct Heading {
    pub level: HeadingLevel,
    pub title: String,
    pub line: usize,
    pub start: usize,
    /// Where what stands below it begins.
    pub body: usize,
}

#[derive(Debug)]
pub(super) struct Item {
    pub title: String,
    pub line: usize,
    /// From 1.
    pub depth: usize,
    pub is_numbered: bool,
    /// Its box, if it has one.
    pub is_done: Option<bool>,
    /// It lies within an item that has a box.
    pub below_box: bool,
    pub range: Range<usize>,
    /// Where what stands below its first paragraph begins.
    pub below: usize,
}

#[derive(Debug, Default)]
pub(super) struct Outline {
    pub headings: Vec<Heading>,
    /// In the order in which they begin.
    pub items: Vec<Item>,
}

impl Outline {
    pub fn read(text: &str) -> Self {
        let options = Options::ENABLE_TASKLISTS | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        let mut outline = Self::default();
        let mut lists: Vec<bool> = Vec::new();
        // Places of the items that are open, with whether their title is still being read.
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut heading: Option<String> = None;
        let mut lines = Lines::new(text);
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(level)) => {
                    let title = heading.take().unwrap_or_default().trim().to_owned();
                    let (start, body) = (range.start, range.end);
                    let line = lines.of(start);
                    outline.headings.push(Heading {
                        level,
                        title,
                        line,
                        start,
                        body,
                    });
                }
                Event::Start(Tag::List(first)) => {
                    end_title(&mut outline, &mut open, range.start);
                    lists.push(first.is_some());
                }
                Event::End(TagEnd::List(_)) => drop(lists.pop()),
                Event::Start(Tag::Item) => {
                    let below_box = open
                        .iter()
                        .any(|(item, _)| outline.items[*item].is_done.is_some());
                    open.push((outline.items.len(), true));
                    outline.items.push(Item {
                        title: String::new(),
                        line: lines.of(range.start),
                        depth: lists.len(),
                        is_numbered: lists.last().copied().unwrap_or(false),
                        is_done: None,
                        below_box,
                        below: range.end,
                        range,
                    });
                }
                Event::End(TagEnd::Item) => drop(open.pop()),
                Event::End(TagEnd::Paragraph) => end_title(&mut outline, &mut open, range.end),
                Event::Start(Tag::CodeBlock(_)) => end_title(&mut outline, &mut open, range.start),
                Event::TaskListMarker(done) => {
                    if let Some((item, _)) = open.last() {
                        outline.items[*item].is_done = Some(done);
                    }
                }
                Event::Text(words) | Event::Code(words) => add(&mut outline, &open, &mut heading, &words),
                Event::SoftBreak | Event::HardBreak => add(&mut outline, &open, &mut heading, " "),
                _ => {}
            }
        }
        for item in &mut outline.items {
            item.title = item.title.trim().to_owned();
        }
        outline
    }

    /// What belongs to a heading: all up to the next one that is not below it.
    pub fn section(&self, at: usize, end: usize) -> Range<usize> {
        let heading = &self.headings[at];
        let next = self.headings[at + 1..]
            .iter()
            .find(|next| next.level <= heading.level);
        heading.body..next.map_or(end, |next| next.start)
    }

    /// The outermost items with a box in a part of the text.
    pub fn boxes(&self, within: Range<usize>) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| {
            let here = within.start <= item.range.start && item.range.end <= within.end;
            here && item.is_done.is_some() && !item.below_box
        })
    }

    /// What stands below an item's first paragraph, without boxes that are done.
    pub fn without_done(&self, text: &str, item: &Item) -> String {
        // From the beginning of its line, so that all lines have their indentation.
        let line = text[..item.below].rfind('\n').map_or(0, |newline| newline + 1);
        let begins = if text[line..item.below].trim().is_empty() {
            line
        } else {
            item.below
        };
        let below = begins..item.range.end;
        let done = self.items.iter().filter(|other| {
            other.is_done == Some(true) && below.start <= other.range.start && other.range.end <= below.end
        });
        let (mut left, mut at) = (String::new(), below.start);
        for done in done {
            if done.range.start >= at {
                // Its line begins with the indentation.
                let line = text[at..done.range.start]
                    .rfind('\n')
                    .map_or(at, |newline| at + newline + 1);
                left.push_str(&text[at..line]);
                at = done.range.end;
            }
        }
        left.push_str(&text[at..below.end]);
        let body = super::unindented(&left);
        if body.is_empty() {
            item.title.clone()
        } else {
            format!("{}\n\n{body}", item.title)
        }
    }
}

fn end_title(outline: &mut Outline, open: &mut [(usize, bool)], below: usize) {
    if let Some((item, reading)) = open.last_mut()
        && *reading
    {
        *reading = false;
        outline.items[*item].below = below;
    }
}

fn add(outline: &mut Outline, open: &[(usize, bool)], heading: &mut Option<String>, words: &str) {
    if let Some(title) = heading {
        title.push_str(words);
    } else if let Some((item, true)) = open.last() {
        outline.items[*item].title.push_str(words);
    }
}

/// Line numbers of places that are asked for in order.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    fn of(&mut self, place: usize) -> usize {
        if place > self.at {
            self.line += self.text[self.at..place].matches('\n').count();
            self.at = place;
        }
        self.line
    }
}
