//! Problems on standard error: the message, where it stands, the offending text marked, and what to do.

use crate::csv_file::CsvFile;
use crate::exit::{Exit, Failure};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    Severity, SourceCode, SourceSpan, SpanContents,
};
use std::fmt;
use std::io::{IsTerminal, Write};
use wavecrew_core::plan::Problem;
use wavecrew_core::team::TeamProblem;

mod mark;

/// A person reads the first few and fixes the cause; the rest is counted.
const SHOWN: usize = 50;

/// Why a command failed, unless it has said so or nobody reads it.
pub fn failure(failure: &Failure) {
    match failure {
        Failure::Refused | Failure::Declined => {}
        failure if failure.exit() == Exit::Done => {}
        failure => error(&failure.to_string(), failure.help()),
    }
}

pub fn error(message: &str, help: Option<&str>) {
    plain(message, help, Severity::Error);
}

pub fn warning(message: &str, help: Option<&str>) {
    plain(message, help, Severity::Warning);
}

fn plain(message: &str, help: Option<&str>, severity: Severity) {
    print(&Shown {
        message: safe(message),
        help: help.map(safe),
        severity,
        excerpt: None,
    });
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
            let (text, span) = mark::marked(header, line, problem);
            Excerpt {
                file: name.clone(),
                line: problem.line as usize - 1,
                text,
                span,
            }
        });
        let message = match (&excerpt, problem.line) {
            (Some(_), _) => safe(&problem.message),
            (None, 0) => format!("{name}: {}", safe(&problem.message)),
            (None, line) => format!("{name}:{line}: {}", safe(&problem.message)),
        };
        print(&Shown {
            message,
            help: problem.help.as_deref().map(safe),
            severity,
            excerpt,
        });
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
        let span = SourceSpan::new(problem.span.start.into(), problem.span.len());
        let excerpt = Excerpt {
            file: problem.file.clone(),
            line: 0,
            text: text.to_owned(),
            span,
        };
        print(&Shown {
            message: safe(&problem.message),
            help: problem.help.as_deref().map(safe),
            severity: Severity::Error,
            excerpt: Some(excerpt),
        });
    }
}

/// Text of others without what a terminal would obey.
pub fn safe(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn line(text: &str) {
    // Nothing is left to tell a person whose standard error is closed.
    drop(writeln!(anstream::stderr(), "{text}"));
}

fn print(shown: &Shown) {
    let theme = if std::io::stderr().is_terminal() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::none()
    };
    // Messages stay on one line: people search for them.
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_wrap_lines(false)
        .with_width(100);
    let mut text = String::new();
    if handler.render_report(&mut text, shown).is_ok() {
        line(text.trim_end_matches('\n'));
    }
}

#[derive(Debug)]
struct Shown {
    message: String,
    help: Option<String>,
    severity: Severity,
    excerpt: Option<Excerpt>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {}

impl Diagnostic for Shown {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.excerpt.as_ref()?.span;
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(None, span))))
    }
}

/// Some lines of a file that is not kept in memory.
#[derive(Debug)]
struct Excerpt {
    file: String,
    /// Lines before the excerpt.
    line: usize,
    text: String,
    span: SourceSpan,
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let part = self.text.read_span(span, before, after)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.file.clone(),
            part.data(),
            *part.span(),
            part.line() + self.line,
            part.column(),
            part.line_count(),
        )))
    }
}
