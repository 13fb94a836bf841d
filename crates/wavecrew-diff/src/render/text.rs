//! Plain text for a terminal.

use std::fmt::Write as _;

use super::{input_lines, kind, place, summary};
use crate::interface::InterfaceChangeKind;
use crate::report::{FileStatus, Report};

/// How many notes are shown; further ones are counted.
const MAX_NOTES: usize = 12;

/// The report as text. It contains values of the compared code; the caller makes them safe for a terminal.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _written = write_report(&mut out, report);
    out
}

fn write_report(out: &mut String, report: &Report) -> std::fmt::Result {
    for difference in &report.differences {
        writeln!(out, "{} ({})", difference.function, kind(difference))?;
        for line in input_lines(difference) {
            writeln!(out, "    {}", line.replace('\t', "    "))?;
        }
        writeln!(out, "  before  {}", difference.before)?;
        writeln!(out, "  after   {}", difference.after)?;
        write!(out, "  cause   {}", place(difference))?;
        if difference.inputs > 1 {
            write!(out, " ({} inputs)", difference.inputs)?;
        }
        writeln!(out, "\n")?;
    }
    if !report.interface.is_empty() {
        writeln!(out, "Interface")?;
        for one in &report.interface {
            let file = one.file.display();
            match (one.change, &one.before, &one.after) {
                (InterfaceChangeKind::Added, _, Some(after)) => {
                    writeln!(out, "  added      {after}  {file}")?;
                }
                (InterfaceChangeKind::Removed, Some(before), _) => {
                    writeln!(out, "  removed    {before}  {file}")?;
                }
                (InterfaceChangeKind::Renamed, Some(before), Some(after)) => {
                    writeln!(out, "  renamed    {before} → {after}  {file}")?;
                }
                (_, before, after) => writeln!(
                    out,
                    "  signature  {} → {}  {file}",
                    before.as_deref().unwrap_or_default(),
                    after.as_deref().unwrap_or_default()
                )?,
            }
        }
        writeln!(out)?;
    }
    let cosmetic = report
        .files
        .iter()
        .filter(|file| file.status == FileStatus::Cosmetic);
    for file in cosmetic {
        writeln!(
            out,
            "{}: only comments, layout, types or the version number changed",
            file.file.display()
        )?;
    }
    if !report.notes.is_empty() {
        writeln!(out, "Not compared")?;
        for note in report.notes.iter().take(MAX_NOTES) {
            writeln!(out, "  {}: {}", note.what, note.why)?;
        }
        if report.notes.len() > MAX_NOTES {
            writeln!(
                out,
                "  and {} more (--json lists all)",
                report.notes.len() - MAX_NOTES
            )?;
        }
        writeln!(out)?;
    }
    for written in &report.written {
        writeln!(out, "wrote {} ({})", written.file.display(), written.tests.len())?;
    }
    writeln!(out, "{}", summary(report))
}
