//! Markdown for a pull request.

use std::fmt::Write as _;

use super::{input_lines, kind, place, summary};
use crate::report::Report;

/// The report with its heading.
pub fn markdown(report: &Report) -> String {
    format!("## What changed\n\n{}", markdown_body(report))
}

/// The report without a heading of its own, as part of another document.
pub fn markdown_body(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _written = write_report(&mut out, report);
    out
}

fn write_report(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "{}\n", summary(report))?;
    for difference in &report.differences {
        writeln!(
            out,
            "### `{}`: {}\n",
            inline(&difference.function),
            kind(difference)
        )?;
        let mut code = String::new();
        for line in input_lines(difference) {
            writeln!(code, "{line}")?;
        }
        let fence = fence_for(&code);
        writeln!(out, "{fence}{}\n{code}{fence}\n", language(&difference.file))?;
        writeln!(out, "| before | after | cause |\n| --- | --- | --- |")?;
        writeln!(
            out,
            "| {} | {} | {} |\n",
            cell(&difference.before),
            cell(&difference.after),
            cell(&place(difference))
        )?;
    }
    if !report.interface.is_empty() {
        writeln!(
            out,
            "### Interface\n\n| change | before | after | file |\n| --- | --- | --- | --- |"
        )?;
        for one in &report.interface {
            let shown = |text: &Option<String>| text.as_deref().map(cell).unwrap_or_default();
            writeln!(
                out,
                "| {} | {} | {} | {} |",
                one.change.as_str(),
                shown(&one.before),
                shown(&one.after),
                cell(&one.file.display().to_string())
            )?;
        }
        writeln!(out)?;
    }
    if !report.notes.is_empty() {
        writeln!(out, "<details><summary>Not compared</summary>\n")?;
        for note in &report.notes {
            writeln!(out, "- `{}`: {}", inline(&note.what), without_markup(&note.why))?;
        }
        writeln!(out, "\n</details>")?;
    }
    Ok(())
}

fn language(file: &std::path::Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("py") => "python",
        Some("ts" | "tsx" | "mts" | "cts") => "ts",
        _ => "js",
    }
}

/// A fence that does not occur in the code.
fn fence_for(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    fence
}

fn inline(text: &str) -> String {
    text.replace('`', "'").replace(['\n', '\r'], " ")
}

/// Code in a cell of a table.
fn cell(text: &str) -> String {
    format!("`{}`", inline(text).replace('|', "\\|"))
}

/// Text without markup of its own.
fn without_markup(text: &str) -> String {
    inline(text)
        .replace('<', "&lt;")
        .replace('[', "\\[")
        .replace('*', "\\*")
}
