//! The text with its syntax tree: finds the span of any place in it and collects problems.

use super::TeamProblem;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A step on the way from the top of the file to a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// `at!["roles", 2, "prefixes"]`
macro_rules! at {
    ($($step:expr),* $(,)?) => { &[$($crate::team::parse::source::Step::from($step)),*] };
}
pub(super) use at;

pub(super) struct Source<'t> {
    file: &'t str,
    text: &'t str,
    pub root: Spanned<DeTable<'t>>,
    problems: Vec<TeamProblem>,
}

impl<'t> Source<'t> {
    /// Every syntax error is reported, not only the first.
    pub fn read(file: &'t str, text: &'t str) -> Result<Self, Vec<TeamProblem>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        let mut source = Self {
            file,
            text,
            root,
            problems: vec![],
        };
        for error in errors {
            source.problem(error.span().unwrap_or(0..0), error.message().to_owned(), None);
        }
        source.finish()?;
        Ok(source)
    }

    pub fn problem(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        let start = span.start.min(self.text.len());
        let line = 1 + self.text.bytes().take(start).filter(|b| *b == b'\n').count();
        self.problems.push(TeamProblem {
            file: self.file.to_owned(),
            line,
            span,
            message,
            help,
        });
    }

    /// A problem at a path; a path that is not in the file is marked at its nearest part that is.
    pub fn problem_at(&mut self, path: &[Step<'_>], message: String, help: Option<String>) {
        let span = self.span(path);
        self.problem(span, message, help);
    }

    pub fn span(&self, path: &[Step<'_>]) -> Range<usize> {
        let mut span = self.root.span();
        let mut table = Some(self.root.get_ref());
        let mut value: Option<&Spanned<DeValue<'_>>> = None;
        for step in path {
            let next = match step {
                Step::Key(key) => table
                    .or_else(|| value.and_then(|v| v.get_ref().as_table()))
                    .and_then(|t| t.get(*key)),
                Step::Index(index) => value
                    .and_then(|v| v.get_ref().as_array())
                    .and_then(|a| a.get(*index)),
            };
            let Some(next) = next else { break };
            span = next.span();
            table = None;
            value = Some(next);
        }
        span
    }

    /// Hands over what was found so far, if anything.
    pub fn finish(&mut self) -> Result<(), Vec<TeamProblem>> {
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(in_order(std::mem::take(&mut self.problems)))
        }
    }

    pub fn into_problems(self) -> Vec<TeamProblem> {
        in_order(self.problems)
    }
}

fn in_order(mut problems: Vec<TeamProblem>) -> Vec<TeamProblem> {
    problems.sort_by_key(|problem| problem.span.start);
    problems
}

/// The known name closest to a mistyped one.
pub(super) fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let best = known
        .iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&wrong.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((likeness, name)) if likeness > 0.8 => Some(format!("did you mean `{name}`?")),
        _ if known.is_empty() => None,
        _ => Some(format!("known are: {}", known.join(", "))),
    }
}
