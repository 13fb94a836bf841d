//! Reports for people: plain text for a terminal, Markdown for a pull request, HTML in one file.

mod html;
mod markdown;
mod text;

pub use html::html;
pub use markdown::{markdown, markdown_body};
pub use text::text;

use wavecrew_core::view::count;
use wavecrew_testgen::diff::{Difference, LineRange};

use crate::report::Report;

/// One line with the result.
pub fn summary(report: &Report) -> String {
    let what = match report.differences.len() {
        0 if report.is_empty_handed() || report.compared == 0 && !report.notes.is_empty() => {
            "nothing compared".to_owned()
        }
        0 => "no difference".to_owned(),
        number => count(number, "difference"),
    };
    let lines = report.changed_lines;
    format!(
        "{what} between {} and {}: {} compared, {} of {} reached, {:.0} s{}",
        shown_name(&report.base.name),
        shown_name(&report.head.name),
        count(usize::try_from(report.calls).unwrap_or(usize::MAX), "input"),
        lines.reached,
        count(lines.total, "changed line"),
        report.seconds,
        if report.complete { "" } else { ", stopped early" },
    )
}

/// A revision as it was named; the identifier of a commit is shortened.
fn shown_name(name: &str) -> &str {
    let is_identifier = name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_identifier { &name[..12] } else { name }
}

/// Such as `cart.py:12-14`; the lines of the old version if they were removed.
fn place(difference: &Difference) -> String {
    let file = difference.cause_file.display();
    let lines = |ranges: &[LineRange]| {
        ranges
            .iter()
            .take(4)
            .map(|(first, last)| {
                if first == last {
                    first.to_string()
                } else {
                    format!("{first}-{last}")
                }
            })
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (difference.new_lines.as_slice(), difference.old_lines.as_slice()) {
        ([], []) => file.to_string(),
        ([], old) => format!("{file}:{} of the old version", lines(old)),
        (new, _) => format!("{file}:{}", lines(new)),
    }
}

/// The kind of behaviour that differs, in a word.
fn kind(difference: &Difference) -> &'static str {
    match difference.kind.as_str() {
        "exception" => "exception",
        "output" => "output",
        "arguments" => "changed arguments",
        "state" => "state of the object",
        "files" => "written files",
        "hang" => "does not end",
        "crash" => "ends the process",
        "slow" => "slower",
        "test" => "test",
        _ => "result",
    }
}

/// The input with the statements before it.
fn input_lines(difference: &Difference) -> impl Iterator<Item = &str> {
    difference
        .setup
        .iter()
        .chain([&difference.input])
        .flat_map(|statement| statement.lines())
}

#[cfg(test)]
mod tests {
    use super::shown_name;

    #[test]
    fn identifiers_of_commits_are_shortened() {
        assert_eq!(
            shown_name("d19a978e30dd865573aaaf783c3b1b8c27b0e280"),
            "d19a978e30dd"
        );
        assert_eq!(shown_name("merge base with main"), "merge base with main");
    }
}
