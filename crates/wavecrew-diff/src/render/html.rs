//! HTML in one file, without scripts or links to others.

use maud::{DOCTYPE, PreEscaped, html as markup};

use super::{input_lines, kind, place, summary};
use crate::report::Report;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1f2328;background:#fff}\
pre,code{font:13px/1.45 ui-monospace,monospace}pre{background:#f6f8fa;padding:.75rem;overflow-x:auto;border-radius:6px}\
section{border:1px solid #d0d7de;border-radius:6px;padding:.25rem 1rem 1rem;margin:1rem 0}\
dt{color:#59636e}dd{margin:0 0 .4rem}.before{color:#a40e26}.after{color:#116329}\
table{border-collapse:collapse}td,th{border:1px solid #d0d7de;padding:.25rem .6rem;text-align:left;vertical-align:top}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}section,td,th{border-color:#30363d}\
.before{color:#ff7b72}.after{color:#7ee787}dt{color:#9198a1}}";

pub fn html(report: &Report) -> String {
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "What changed" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "What changed" }
                p { (summary(report)) }
                @for difference in &report.differences {
                    section {
                        h2 { code { (difference.function) } ": " (kind(difference)) }
                        pre { @for line in input_lines(difference) { (line) "\n" } }
                        dl {
                            dt { "before" } dd.before { code { (difference.before) } }
                            dt { "after" } dd.after { code { (difference.after) } }
                            dt { "cause" } dd { code { (place(difference)) } }
                        }
                        @if let Some(test) = &difference.test {
                            details { summary { "Test" } pre { (test) } }
                        }
                    }
                }
                @if !report.interface.is_empty() {
                    h2 { "Interface" }
                    table {
                        tr { th { "change" } th { "before" } th { "after" } th { "file" } }
                        @for one in &report.interface {
                            tr {
                                td { (one.change.as_str()) }
                                td { code { (one.before.as_deref().unwrap_or_default()) } }
                                td { code { (one.after.as_deref().unwrap_or_default()) } }
                                td { (one.file.display()) }
                            }
                        }
                    }
                }
                @if !report.notes.is_empty() {
                    h2 { "Not compared" }
                    ul { @for note in &report.notes { li { code { (note.what) } ": " (note.why) } } }
                }
            }
        }
    };
    page.into_string()
}
