//! Unified diffs as in a code review: files, hunks, and both line numbers beside every line.

use super::{shortened, without_controls};
use maud::{Markup, html};

/// Bytes of a diff that are shown.
const BYTES: usize = 120_000;

/// A unified diff. Text before it, such as the message of a commit, is shown unchanged.
pub fn diff(text: &str) -> Markup {
    let text = without_controls(&shortened(text, BYTES));
    let (mut old, mut new, mut in_hunk) = (0, 0, false);
    html! {
        div.diff tabindex="0" role="region" aria-label="Changes" {
            @for line in text.lines() {
                @if let Some((from, to)) = hunk(line) {
                    ({ (old, new, in_hunk) = (from, to, true); html! { span.hunk { (line) } } })
                } @else if is_heading(line, in_hunk) {
                    ({ in_hunk = false; html! { span.file { (line) } } })
                } @else if in_hunk {
                    ({
                        let (was, is) = (!line.starts_with('+'), !line.starts_with('-'));
                        let shown = line_of(was.then_some(old), is.then_some(new), line);
                        (old, new) = (old + u64::from(was), new + u64::from(is));
                        shown
                    })
                } @else { span { (line) } }
            }
        }
    }
}

/// A line of a hunk with its numbers before and after the change.
pub fn line_of(old: Option<u64>, new: Option<u64>, line: &str) -> Markup {
    let class = match line.as_bytes().first() {
        Some(b'+') => Some("add"),
        Some(b'-') => Some("del"),
        _ => None,
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    html! {
        span class=[class] {
            span.at aria-hidden="true" { (number(old)) } span.at aria-hidden="true" { (number(new)) }
            (without_controls(line))
        }
    }
}

/// Where a hunk starts, before and after the change.
fn hunk(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let first = |word: &str| word.split(',').next()?.parse().ok();
    let old = first(words.next()?)?;
    let new = first(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

/// Lines that name the files. Inside a hunk, only the line of the next file counts.
fn is_heading(line: &str, in_hunk: bool) -> bool {
    let starts = |with: &[&str]| with.iter().any(|with| line.starts_with(with));
    starts(&["diff "]) || (!in_hunk && starts(&["--- ", "+++ "])) || line.starts_with("--- /dev/null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_numbers_on_both_sides() {
        let text = "commit 1\n---\n a | 2 +-\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -3,2 +3,3 @@ fn\n same\n-- old <b>\n+new\n+er\n";
        let shown = diff(text).0;
        for part in [
            "<span>---</span>",
            "<span class=\"file\">--- a/a</span>",
            "<span class=\"hunk\">@@ -3,2 +3,3 @@ fn</span>",
            "aria-hidden=\"true\">3</span><span class=\"at\" aria-hidden=\"true\">3</span> same",
            "aria-hidden=\"true\">4</span><span class=\"at\" aria-hidden=\"true\"></span>-- old &lt;b&gt;",
            "aria-hidden=\"true\"></span><span class=\"at\" aria-hidden=\"true\">5</span>+er",
        ] {
            assert!(shown.contains(part), "no {part} in {shown}");
        }
    }

    #[test]
    fn new_files_after_one_another_are_told_apart() {
        let shown =
            diff("--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+x\n--- /dev/null\n+++ b\n@@ -0,0 +1,1 @@\n+y\n").0;
        assert_eq!(shown.matches("class=\"file\"").count(), 4, "{shown}");
    }
}
