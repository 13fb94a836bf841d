//! Reads a Markdown plan into issues. Phases are numbered headings, else headings with check lists, else the
//! items of a numbered list, else all check lists together. The open boxes of a phase are its issues; one
//! without boxes is an issue itself. Phases follow each other unless one names its dependencies.

mod outline;
#[cfg(test)]
mod tests;

use outline::{Item, Outline};
use std::ops::Range;

/// An issue of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    pub title: String,
    /// Its text in the plan.
    pub text: String,
    /// Of its phase, from 1.
    pub wave: u32,
    /// Which of the other issues come first, by their places.
    pub depends_on: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanProblem {
    #[error("the plan is empty")]
    Empty,
    #[error("the plan has no phases: no numbered heading, no checklist, no numbered list")]
    NoPhases,
    #[error("everything in the plan is done: no box is open")]
    AllDone,
    #[error("line {line}: the phase depends on phase {number}, which is not before it")]
    UnknownPhase { line: usize, number: u32 },
}

/// A phase on its way to issues.
struct Phase {
    /// As the plan numbers it.
    number: u32,
    title: String,
    line: usize,
    /// All that belongs to it, without its own heading.
    body: Range<usize>,
    is_done: bool,
}

/// The issues of a plan, in its order.
pub fn read_plan(text: &str) -> Result<Vec<Planned>, PlanProblem> {
    if text.trim().is_empty() {
        return Err(PlanProblem::Empty);
    }
    let outline = Outline::read(text);
    let phases = phases(text, &outline);
    if phases.is_empty() {
        return Err(PlanProblem::NoPhases);
    }
    let mut issues: Vec<Planned> = Vec::new();
    // The issues of each phase, and what it waits for: itself when it has some, else what is before it.
    let mut made: Vec<(u32, Vec<usize>)> = Vec::new();
    for phase in &phases {
        let before = match depends_on(&text[phase.body.clone()]) {
            None => made.last().map_or(Vec::new(), |(_, issues)| issues.clone()),
            Some(numbers) => {
                let mut before = Vec::new();
                for number in numbers {
                    let known = made.iter().find(|(known, _)| *known == number);
                    let line = phase.line;
                    let (_, issues) = known.ok_or(PlanProblem::UnknownPhase { line, number })?;
                    before.extend(issues.iter().copied());
                }
                before
            }
        };
        let new = issues_of(text, &outline, phase);
        if new.is_empty() {
            made.push((phase.number, before));
            continue;
        }
        let above = before.iter().map(|&issue| issues[issue].wave).max();
        let wave = above.unwrap_or(0) + 1;
        let first = issues.len();
        for (title, text) in new {
            issues.push(Planned {
                title,
                text,
                wave,
                depends_on: before.clone(),
            });
        }
        made.push((phase.number, (first..issues.len()).collect()));
    }
    if issues.is_empty() {
        return Err(PlanProblem::AllDone);
    }
    Ok(issues)
}

fn phases(text: &str, outline: &Outline) -> Vec<Phase> {
    let headings = &outline.headings;
    let numbered = headings
        .iter()
        .filter(|heading| number_of(&heading.title).is_some());
    if let Some(level) = numbered.clone().map(|heading| heading.level).min() {
        let here = headings
            .iter()
            .enumerate()
            .filter(|(_, heading)| heading.level == level);
        return here
            .filter_map(|(at, heading)| {
                let (number, title) = number_of(&heading.title)?;
                Some(Phase {
                    number,
                    title,
                    line: heading.line,
                    body: outline.section(at, text.len()),
                    is_done: false,
                })
            })
            .collect();
    }
    // The innermost heading above each check list.
    let mut with_boxes: Vec<usize> = outline
        .boxes(0..text.len())
        .filter_map(|item| {
            headings
                .iter()
                .rposition(|heading| heading.body < item.range.start)
        })
        .collect();
    with_boxes.dedup();
    if !with_boxes.is_empty() {
        return (1..)
            .zip(with_boxes)
            .map(|(number, at)| Phase {
                number,
                title: headings[at].title.clone(),
                line: headings[at].line,
                body: headings[at].body..headings.get(at + 1).map_or(text.len(), |next| next.start),
                is_done: false,
            })
            .collect();
    }
    let steps: Vec<&Item> = outline
        .items
        .iter()
        .filter(|item| item.depth == 1 && item.is_numbered)
        .collect();
    if !steps.is_empty() {
        return (1..)
            .zip(steps)
            .map(|(number, item)| Phase {
                number,
                title: item.title.clone(),
                line: item.line,
                body: item.below..item.range.end,
                is_done: item.is_done == Some(true),
            })
            .collect();
    }
    if outline.boxes(0..text.len()).next().is_none() {
        return Vec::new();
    }
    vec![Phase {
        number: 1,
        title: String::new(),
        line: 1,
        body: 0..text.len(),
        is_done: false,
    }]
}

/// Titles and texts of the issues of a phase.
fn issues_of(text: &str, outline: &Outline, phase: &Phase) -> Vec<(String, String)> {
    if phase.is_done {
        return Vec::new();
    }
    let boxes: Vec<&Item> = outline.boxes(phase.body.clone()).collect();
    if boxes.is_empty() {
        let body = unindented(text[phase.body.clone()].trim_end());
        return vec![(phase.title.clone(), body)];
    }
    let open = boxes.into_iter().filter(|item| item.is_done == Some(false));
    open.map(|item| {
        let mut body = outline.without_done(text, item);
        if !phase.title.is_empty() {
            body = format!("Phase: {}\n\n{body}", phase.title);
        }
        (item.title.clone(), body)
    })
    .collect()
}

/// The dependencies that a phase names: the numbers of other phases, or nothing.
fn depends_on(body: &str) -> Option<Vec<u32>> {
    let line = body.lines().find_map(|line| {
        let line = line.trim_start_matches(['-', '*', '>', '_', ' ']);
        let (word, rest) = line.split_once(':')?;
        let word = word.trim_matches(['*', '_', ' ']).to_ascii_lowercase();
        ["depends on", "dependencies", "after"]
            .contains(&word.as_str())
            .then_some(rest)
    })?;
    let numbers = line.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u32> = numbers.filter_map(|number| number.parse().ok()).collect();
    let nothing = ["none", "nothing", "-", "—"].contains(
        &line
            .trim_matches(['*', '_', ' ', '.'])
            .to_ascii_lowercase()
            .as_str(),
    );
    (nothing || !numbers.is_empty()).then_some(numbers)
}

/// The number of a heading such as `Phase 2: Storage`, `2. Storage` or `Step 2 - Storage`, and its title.
fn number_of(title: &str) -> Option<(u32, String)> {
    const WORDS: [&str; 7] = ["phase", "step", "stage", "wave", "milestone", "part", "sprint"];
    let lower = title.to_ascii_lowercase();
    let word = WORDS.iter().find(|word| {
        lower
            .strip_prefix(**word)
            .is_some_and(|rest| rest.starts_with([' ', '-', '#']))
    });
    let rest = word.map_or(title, |word| {
        title[word.len()..].trim_start_matches([' ', '-', '#'])
    });
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest[..digits].parse().ok()?;
    let after = &rest[digits..];
    let separated = after.is_empty() || after.starts_with(['.', ')', ':', ' ', '-', '–', '—']);
    // `2. Storage` is a phase, `2 ways to store` is not, and neither is `2.1 Details`.
    let bare = word.is_none() && !after.starts_with(['.', ')', ':']);
    let within = after
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !separated || bare || within {
        return None;
    }
    let name = after
        .trim_start_matches(['.', ')', ':', ' ', '-', '–', '—'])
        .trim();
    let name = if name.is_empty() { title } else { name };
    Some((number, name.to_owned()))
}

/// Takes away the indentation that all lines have.
fn unindented(text: &str) -> String {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let common = lines()
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    let line = |line: &str| line.get(common..).unwrap_or_default().trim_end().to_owned();
    let all: Vec<String> = text.lines().map(line).collect();
    all.join("\n").trim_matches('\n').to_owned()
}
