//! Problems on standard error: the message, its location, the offending text marked, and what to do.

use crate::csv_file::CsvFile;
use crate::exit::{Exit, Failure};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::io::{IsTerminal, Write};
use std::ops::Range;
use wavecrew_core::plan::Problem;
use wavecrew_core::team::TeamProblem;

mod mark;

/// A person reads the first few and fixes the cause; the rest is counted.
const SHOWN: usize = 50;

#[derive(Clone, Copy, PartialEq)]
enum Severity {
    Error,
    Warning,
}

/// Part of a file that is not kept in memory.
struct Excerpt {
    file: String,
    first_line: usize,
    text: String,
    marked: Range<usize>,
}

/// Prints why a command failed, unless it was already printed or nobody reads it.
pub fn failure(failure: &Failure) {
    match failure {
        Failure::Refused | Failure::Declined => {}
        failure if failure.exit() == Exit::Done => {}
        failure => error(&failure.to_string(), failure.help()),
    }
}

pub fn error(message: &str, help: Option<&str>) {
    print(Severity::Error, message, help, None);
}

pub fn warning(message: &str, help: Option<&str>) {
    print(Severity::Warning, message, help, None);
}

pub fn problems(file: &CsvFile, problems: &[Problem]) {
    list(file, problems, Severity::Error);
}

pub fn warnings(file: &CsvFile, warnings: &[Problem]) {
    list(file, warnings, Severity::Warning);
}

fn list(file: &CsvFile, problems: &[Problem], severity: Severity) {
    let shown = &problems[..problems.len().min(SHOWN)];
    let wanted: Vec<u32> = shown.iter().map(|p| p.line).collect();
    let lines = file.lines(&wanted);
    let name = file.name();
    let header = lines.get(&1).map_or("", String::as_str);
    for problem in shown {
        let excerpt = lines.get(&problem.line).map(|line| {
            let (text, marked) = mark::marked(header, line, problem);
            Excerpt {
                file: name.clone(),
                first_line: problem.line as usize,
                text,
                marked,
            }
        });
        let message = match (&excerpt, problem.line) {
            (Some(_), _) => problem.message.clone(),
            (None, 0) => format!("{name}: {}", problem.message),
            (None, line) => format!("{name}:{line}: {}", problem.message),
        };
        print(severity, &message, problem.help.as_deref(), excerpt);
    }
    let what = if severity == Severity::Warning {
        "warnings"
    } else {
        "problems"
    };
    match problems.len() {
        0 | 1 => {}
        n if n > SHOWN => line(&format!(
            "{n} {what} in {name}: the first {SHOWN} are above, and {} more",
            n - SHOWN
        )),
        n => line(&format!("{n} {what} in {name}")),
    }
}

pub fn team_problems(text: &str, problems: &[TeamProblem]) {
    for problem in problems {
        let excerpt = Excerpt {
            file: problem.file.clone(),
            first_line: 1,
            text: text.to_owned(),
            marked: problem.span.clone(),
        };
        print(
            Severity::Error,
            &problem.message,
            problem.help.as_deref(),
            Some(excerpt),
        );
    }
}

/// Text of others without control characters.
pub fn safe(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn line(text: &str) {
    // If standard error is closed, nothing can be printed.
    drop(writeln!(anstream::stderr(), "{text}"));
}

fn print(severity: Severity, message: &str, help: Option<&str>, excerpt: Option<Excerpt>) {
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut problem = Group::with_title(level.primary_title(safe(message)));
    if let Some(excerpt) = excerpt {
        let snippet = Snippet::source(excerpt.text)
            .path(excerpt.file)
            .line_start(excerpt.first_line)
            .annotation(AnnotationKind::Primary.span(excerpt.marked));
        problem = problem.element(snippet);
    }
    let renderer = if std::io::stderr().is_terminal() {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    line(&renderer.render(&[problem]));
    if let Some(help) = help {
        line(&renderer.render(&[Group::with_title(Level::HELP.primary_title(safe(help)))]));
    }
}
