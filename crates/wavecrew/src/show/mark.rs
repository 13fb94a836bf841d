//! Finds the offending text of a problem in its line of the file.

use std::ops::Range;
use wavecrew_core::plan::Problem;

/// Bytes shown before and after the mark of a long line.
const AROUND: usize = 40;

/// The line as it is shown, and the part of it to mark.
pub fn marked(header: &str, line: &str, problem: &Problem) -> (String, Range<usize>) {
    let (start, end) = place(header, line, problem);
    let from = floor(line, start.saturating_sub(AROUND));
    let to = ceil(line, (end + AROUND).min(line.len()));
    let cut = |part: &str| super::safe(part);
    let before = format!("{}{}", if from > 0 { "…" } else { "" }, cut(&line[from..start]));
    let inside = cut(&line[start..end]);
    let after = format!(
        "{}{}",
        cut(&line[end..to]),
        if to < line.len() { "…" } else { "" }
    );
    let span = before.len()..before.len() + inside.len();
    (before + &inside + &after, span)
}

/// Where the text stands: in its own cell if that is known, else at its first occurrence in the line, else
/// the whole line.
fn place(header: &str, line: &str, problem: &Problem) -> (usize, usize) {
    let column = problem.column.as_ref().and_then(|name| {
        fields(header)
            .iter()
            .position(|&(start, end)| header[start..end].trim_matches('"') == name)
    });
    let field = column.and_then(|column| fields(line).get(column).copied());
    let raw = problem.text.replace('"', "\"\"");
    let raw = raw.split(['\r', '\n']).next().unwrap_or_default();
    if let Some((start, end)) = field {
        if raw.is_empty() {
            return (start, end);
        }
        if let Some(at) = word(&line[start..end], raw) {
            return (start + at, start + at + raw.len());
        }
    }
    match line.find(raw) {
        Some(at) if !raw.is_empty() => (at, at + raw.len()),
        _ => (0, line.len().min(ceil(line, AROUND.min(line.len())))),
    }
}

/// The text as a whole entry of a `;` list if it is one, else anywhere.
fn word(cell: &str, text: &str) -> Option<usize> {
    let edge = |c: Option<char>| c.is_none_or(|c| matches!(c, ';' | '"') || c.is_whitespace());
    let whole =
        |at: &usize| edge(cell[..*at].chars().next_back()) && edge(cell[at + text.len()..].chars().next());
    cell.match_indices(text)
        .map(|(at, _)| at)
        .find(whole)
        .or_else(|| cell.find(text))
}

/// Where the fields of a line start and end, with their quotes.
fn fields(line: &str) -> Vec<(usize, usize)> {
    let mut fields = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => {
                fields.push((start, at));
                start = at + 1;
            }
            _ => {}
        }
    }
    fields.push((start, line.len()));
    fields
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(header: &str, line: &str, column: &str, text: &str) -> String {
        let (shown, span) = marked(header, line, &Problem::new(2, "x").at(column, text));
        shown[span].to_owned()
    }

    #[test]
    fn marks_the_text_in_its_own_cell() {
        let (shown, span) = marked(
            "id,description,deps",
            "A-1,waits for A-1,A-1",
            &Problem::new(2, "x").at("deps", "A-1"),
        );
        assert_eq!((shown.as_str(), span), ("A-1,waits for A-1,A-1", 18..21));
    }

    #[test]
    fn marks_a_whole_entry_of_a_list() {
        let (_, span) = marked(
            "id,deps",
            "X,\"A-10; A-1\"",
            &Problem::new(2, "x").at("deps", "A-1"),
        );
        assert_eq!(span.start, 9);
    }

    #[test]
    fn marks_quoted_cells_empty_cells_and_control_characters() {
        assert_eq!(
            mark(
                "id,description",
                "A,\"say \"\"hi\"\"\"",
                "description",
                "say \"hi\""
            ),
            "say \"\"hi\"\""
        );
        assert_eq!(mark("id,description", "A,\"\"", "description", ""), "\"\"");
        assert_eq!(
            mark("id,description", "A,\x1b[2J", "description", "\x1b[2J"),
            "\u{fffd}[2J"
        );
    }

    #[test]
    fn cuts_long_lines_around_the_mark() {
        let line = format!("{},bad,{}", "ä".repeat(500), "b".repeat(500));
        let (shown, span) = marked("a,b,c", &line, &Problem::new(2, "x").at("b", "bad"));
        assert!(
            shown.starts_with('…') && shown.ends_with('…') && shown.len() < 300,
            "{shown}"
        );
        assert_eq!(&shown[span], "bad");
    }
}
