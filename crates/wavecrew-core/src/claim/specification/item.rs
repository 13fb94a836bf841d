//! Finds the items that a Markdown document defines: headings, list items, table rows or paragraphs that start with an id.

use std::collections::BTreeSet;

/// An item and its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub id: &'a str,
    /// Its lines, the one with the id first.
    pub text: String,
    /// The headings above it, outermost first.
    pub under: Vec<&'a str>,
    /// For a table row: the names of the columns.
    pub columns: Vec<&'a str>,
}

struct Line<'a> {
    text: &'a str,
    kind: ItemKind,
    /// Indices of the headings above it; a heading includes itself.
    under: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Heading(usize),
    Row,
    Text,
    Code,
}

/// All items whose ids have this prefix.
pub(super) fn defined<'a>(document: &'a str, prefix: &str) -> Vec<Item<'a>> {
    let lines = lines(document);
    let mut items: Vec<Item<'a>> = vec![];
    for (at, line) in lines.iter().enumerate() {
        let Some(id) = leading_id(line.text, prefix).filter(|_| line.kind != ItemKind::Code) else {
            continue;
        };
        let rest = &lines[at + 1..];
        let starts_another = |other: &Line<'_>| {
            other.kind != ItemKind::Code && leading_id(other.text, prefix).is_some_and(|found| found != id)
        };
        let ends = |other: &Line<'_>| match (line.kind, other.kind) {
            (ItemKind::Heading(own), ItemKind::Heading(level)) => level <= own || starts_another(other),
            (ItemKind::Row, _) | (_, ItemKind::Heading(_)) => true,
            _ => starts_another(other),
        };
        let body = rest
            .iter()
            .take_while(|other| !ends(other))
            .map(|other| other.text);
        let text: Vec<&str> = std::iter::once(line.text).chain(body).collect();
        let heading = |&place: &usize| lines[place].text.trim_matches(['#', ' ', '\t']);
        let columns = match line.kind {
            ItemKind::Row => first_row(&lines[..at]),
            ItemKind::Heading(_) | ItemKind::Text | ItemKind::Code => vec![],
        };
        items.push(Item {
            id,
            text: text.join("\n"),
            under: line
                .under
                .iter()
                .filter(|&&place| place != at)
                .map(heading)
                .collect(),
            columns,
        });
    }
    items
}

/// All ids with this prefix in the text.
pub(super) fn named(text: &str, prefix: &str) -> BTreeSet<String> {
    let starts = text.match_indices(prefix).filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric())
    });
    starts
        .filter_map(|(at, _)| id_at(&text[at..], prefix))
        .map(str::to_owned)
        .collect()
}

/// The text below headings for which `wanted` returns true, at any depth.
pub(super) fn below(document: &str, wanted: impl Fn(&str) -> bool) -> String {
    let lines = lines(document);
    let inside = |line: &&Line<'_>| {
        line.under.iter().any(|&place| {
            wanted(
                &lines[place]
                    .text
                    .trim_matches(['#', ' ', '\t', ':'])
                    .to_lowercase(),
            )
        })
    };
    let text: Vec<&str> = lines.iter().filter(inside).map(|line| line.text).collect();
    text.join("\n")
}

/// The cells of a table row, without markup.
pub(super) fn cells(row: &str) -> impl Iterator<Item = &str> {
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    inner
        .split('|')
        .map(|cell| cell.trim_matches([' ', '\t', '*', '_', '`']))
}

fn lines(document: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = vec![];
    let mut open: Vec<(usize, usize)> = vec![];
    let mut fence: Option<&str> = None;
    for (at, text) in document.lines().enumerate() {
        let bare = text.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        let kind = match (fence, mark) {
            (None, Some(_)) => {
                fence = mark;
                ItemKind::Code
            }
            (Some(opened), closing) => {
                if closing == Some(opened) {
                    fence = None;
                }
                ItemKind::Code
            }
            (None, None) => kind_of(bare),
        };
        if let ItemKind::Heading(level) = kind {
            open.retain(|(above, _)| *above < level);
            open.push((level, at));
        }
        let under = open.iter().map(|(_, place)| *place).collect();
        lines.push(Line { text, kind, under });
    }
    lines
}

fn kind_of(bare: &str) -> ItemKind {
    let level = bare.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&level) && bare[level..].starts_with([' ', '\t']) {
        ItemKind::Heading(level)
    } else if bare.starts_with('|') {
        ItemKind::Row
    } else {
        ItemKind::Text
    }
}

/// The first row of the table at the end of these lines.
fn first_row<'a>(lines: &[Line<'a>]) -> Vec<&'a str> {
    let row = lines
        .iter()
        .rev()
        .take_while(|line| line.kind == ItemKind::Row)
        .last();
    row.map_or(vec![], |row| cells(row.text).collect())
}

/// The id at the start of a line, after any markup.
fn leading_id<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let bare = |text: &'a str| text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let text = bare(line);
    let unnumbered = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = if unnumbered.starts_with(['.', ')']) {
        bare(unnumbered)
    } else {
        text
    };
    id_at(text, prefix)
}

/// `FR-001` at the start of the text.
fn id_at<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('-')?;
    let len = digits.bytes().take_while(u8::is_ascii_digit).count();
    let ends = !digits[len..].starts_with(|c: char| c.is_alphanumeric());
    (len > 0 && ends).then(|| &text[..prefix.len() + 1 + len])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_by_their_form() {
        let heading = "## All\n### FR-001: Undo\nbody\n#### More\nx\n### FR-002 Redo\n";
        let list = "- **FR-001** undo\n  - sub\n1. FR-002: redo\n# End\nx";
        let table = "| Id | Priority |\n|---|---|\n| FR-001 | Must |\n| FR-002 | Could |\n";
        for (text, expected) in [
            (heading, &[("FR-001", 4), ("FR-002", 1)][..]),
            (list, &[("FR-001", 2), ("FR-002", 1)]),
            (table, &[("FR-001", 1), ("FR-002", 1)]),
            ("FR-1a\nXFR-001\nsee FR-001", &[]),
            ("```\nFR-001\n```\n~~~\nFR-002\n~~~", &[]),
        ] {
            let items = defined(text, "FR");
            let found: Vec<_> = items.iter().map(|i| (i.id, i.text.lines().count())).collect();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(defined(table, "FR")[1].columns, ["Id", "Priority"]);
        assert_eq!(defined(heading, "FR")[0].under, ["All"]);
    }

    #[test]
    fn names_and_sections() {
        let names = named("FR-001, (FR-002) `FR-003`; XFR-004 FR-5x", "FR");
        assert_eq!(
            names.into_iter().collect::<Vec<_>>(),
            ["FR-001", "FR-002", "FR-003"]
        );
        assert_eq!(
            below("# A\nx\n## B\ny\n# C\nz", |title| title == "a"),
            "# A\nx\n## B\ny"
        );
    }
}
