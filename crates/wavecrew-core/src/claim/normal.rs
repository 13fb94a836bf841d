//! The normal form of a Markdown document: in every style, headings become `## Title` and ids `FR-001`. All
//! checks of documents read this form.

use super::heading::fit;
use super::text::{is_english, words};

/// The document with headings as lines that begin with `#`: underlined ones, bold lines, HTML, without a
/// space. If a required heading is missing, a label of a paragraph, a list item or a table row takes its
/// place.
pub(super) fn usual_form(text: &str, wanted: &[String]) -> String {
    let text = usual_ids(&headings(text, wanted));
    let mut text = text;
    let missing: Vec<&String> = wanted
        .iter()
        .filter(|wanted| !has_heading(&text, wanted))
        .collect();
    if !missing.is_empty() {
        text = labels(&text, &missing);
        text.push_str(&columns(&text, &missing));
        if !is_english(&words(&text)) {
            text = by_position(&text, wanted);
        }
    }
    text
}

/// In a language with other words for them: as many sections as are wanted, and those that are known in their places. The
/// others are what is wanted in theirs.
fn by_position(text: &str, wanted: &[String]) -> String {
    let mut code = false;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_section: Vec<bool> = lines
        .iter()
        .map(|line| {
            code ^= is_fence(line);
            !code && line.starts_with("## ")
        })
        .collect();
    let places: Vec<usize> = (0..lines.len()).filter(|&at| is_section[at]).collect();
    let known = |at: usize| {
        wanted
            .iter()
            .position(|wanted| fit(&lines[places[at]][3..], wanted) > 0)
    };
    let fits = places.len() == wanted.len()
        && (0..places.len()).all(|at| known(at).is_none_or(|place| place == at))
        && (0..places.len()).any(|at| known(at).is_some());
    if fits {
        let unknown: Vec<usize> = (0..places.len()).filter(|&at| known(at).is_none()).collect();
        for at in unknown {
            lines[places[at]] = format!("## {}", wanted[at]);
        }
    }
    lines.join("\n") + "\n"
}

/// Sections for required headings that are columns of a table: the text of the cells.
fn columns(text: &str, missing: &[&String]) -> String {
    let mut out = String::new();
    for wanted in missing.iter().filter(|wanted| !has_heading(text, wanted)) {
        let mut column = None;
        let mut texts: Vec<&str> = Vec::new();
        for line in text.lines() {
            let Some(row) = line.trim().strip_prefix('|') else {
                column = None;
                continue;
            };
            let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
            match column {
                None => {
                    let at = cells.iter().position(|cell| fit(cell, wanted) > 0);
                    column = Some(at.unwrap_or(usize::MAX));
                }
                Some(at) => texts.extend(cells.get(at).filter(|cell| cell.contains(char::is_alphanumeric))),
            }
        }
        if !texts.is_empty() {
            out.push_str(&format!("\n## {wanted}\n\n- {}\n", texts.join("\n- ")));
        }
    }
    out
}

fn is_fence(line: &str) -> bool {
    let bare = line.trim_start();
    bare.starts_with("```") || bare.starts_with("~~~")
}

fn headings(text: &str, wanted: &[String]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let (mut code, mut at) = (false, 0);
    let mut metadata = lines.first().is_some_and(|line| line.trim_end() == "---");
    let closes = lines.iter().skip(1).any(|line| line.trim_end() == "---");
    metadata &= closes;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if metadata {
            metadata = !(at > 1 && line.trim_end() == "---");
            out.push(line.to_owned());
            continue;
        }
        if is_fence(line) {
            code = !code;
        }
        if code || is_fence(line) {
            out.push(line.to_owned());
            continue;
        }
        let next = lines.get(at).map_or("", |next| next.trim());
        let before_blank = out.last().is_none_or(|line| line.trim().is_empty());
        let bare = line.trim();
        let underlined = |mark: char| next.len() >= 2 && next.chars().all(|c| c == mark);
        if !bare.is_empty()
            && (before_blank || wanted.iter().any(|wanted| fit(bare, wanted) > 1))
            && !bare.starts_with(['#', '|', '-', '>', '*'])
            && (underlined('=') || underlined('-'))
        {
            out.push(format!("{} {bare}", if underlined('=') { "#" } else { "##" }));
            out.push(String::new());
            at += 1;
        } else if let Some(title) = joined(bare) {
            out.push(title);
        } else if let Some(title) = html_heading(bare) {
            out.extend([String::new(), format!("## {title}"), String::new()]);
        } else if let Some(title) = bold_line(bare).filter(|_| before_blank) {
            let is_wanted = wanted.iter().any(|wanted| fit(title, wanted) > 1);
            out.extend([
                String::new(),
                format!("{} {title}", if is_wanted { "##" } else { "######" }),
                String::new(),
            ]);
        } else {
            out.push(line.to_owned());
        }
    }
    out.join("\n") + "\n"
}

/// `##Title`.
fn joined(line: &str) -> Option<String> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let title = &line[level..];
    let is_title = title.starts_with(char::is_alphabetic);
    ((2..=6).contains(&level) && is_title).then(|| format!("{} {title}", &line[..level]))
}

fn html_heading(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("<h").or(line.strip_prefix("<H"))?;
    let (level, rest) = rest.split_once('>')?;
    let title = rest.split("</").next()?;
    (level.len() == 1).then_some(title.trim())
}

/// `**Title**`, alone on its line.
fn bold_line(line: &str) -> Option<&str> {
    let inner = ["**", "__"].iter().find_map(|mark| {
        let rest = line.strip_prefix(mark)?;
        rest.trim_end_matches(':').strip_suffix(mark)
    })?;
    let is_title = !inner.contains("**") && inner.split_whitespace().count() <= 8;
    is_title.then_some(inner.trim_end_matches(':'))
}

fn has_heading(text: &str, wanted: &str) -> bool {
    let mut code = false;
    text.lines().any(|line| {
        code ^= is_fence(line);
        !code && line.starts_with('#') && fit(line.trim_start_matches('#'), wanted) > 0
    })
}

/// Makes headings of labels: `Vision: ...`, `- **Vision** - ...`, `| Vision | ... |`.
fn labels(text: &str, missing: &[&String]) -> String {
    let mut out = Vec::new();
    let mut code = false;
    let metadata = match text.strip_prefix("---\n").and_then(|rest| rest.find("\n---")) {
        Some(end) => text[..end].lines().count() + 1,
        None => 0,
    };
    for (number, line) in text.lines().enumerate() {
        if number < metadata {
            out.push(line.to_owned());
            continue;
        }
        code ^= is_fence(line);
        let labelled = (!code).then(|| label(line)).flatten();
        let wanted = labelled.and_then(|(label, rest)| {
            let wanted = missing.iter().find(|wanted| fit(label, wanted) > 0)?;
            Some((wanted, rest))
        });
        match wanted {
            Some((wanted, rest)) => {
                out.extend([
                    String::new(),
                    format!("## {wanted}"),
                    String::new(),
                    rest.replace('|', " ; "),
                ]);
            }
            None => out.push(line.to_owned()),
        }
    }
    out.join("\n") + "\n"
}

/// The label that a line begins with, and the rest of the line.
fn label(line: &str) -> Option<(&str, &str)> {
    let bare = line.trim();
    if let Some(row) = bare.strip_prefix('|') {
        let (first, rest) = row.split_once('|')?;
        let has_text = rest.chars().any(char::is_alphabetic);
        return has_text.then_some((first.trim(), rest.trim_end_matches('|')));
    }
    let bare = bare.trim_start_matches(['-', '*', '+', '>', ' ', '_']);
    let end = [": ", "：", "** ", ":** ", ":__ ", " - ", " — ", " – ", "** - "]
        .iter()
        .filter_map(|mark| bare.find(mark).map(|at| (at, mark.len())))
        .min()?;
    let (label, rest) = (&bare[..end.0], &bare[end.0 + end.1..]);
    let rest = rest.trim_start_matches(['-', '—', '–', '*', ':', ' ']);
    (label.split_whitespace().count() <= 5 && !rest.is_empty())
        .then_some((label.trim_matches(['*', '_', '`']), rest))
}

/// Ids as `FR-001`, and ranges of them in full.
pub(super) fn usual_ids(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut last: Option<(&'static str, u32, usize)> = None;
    while let Some((at, prefix)) = next_prefix(rest) {
        let begins = out
            .chars()
            .next_back()
            .filter(|_| at == 0)
            .or(rest[..at].chars().next_back());
        let (before, from) = rest.split_at(at);
        let digits = from[prefix.len()..].trim_start_matches(['-', '_', ' ', '\u{2011}']);
        let len = digits.bytes().take_while(u8::is_ascii_digit).count();
        let gap = from.len() - prefix.len() - digits.len();
        let ends = !digits[len..].starts_with(|c: char| c.is_alphanumeric());
        let is_id = (1..=4).contains(&len) && gap <= 1 && ends && begins.is_none_or(|c| !c.is_alphanumeric());
        // `Story 1` is more often a title than an id.
        let is_id = is_id && (prefix != "STORY" && prefix != "EPIC" || from[prefix.len()..].starts_with('-'));
        if !is_id {
            out.push_str(before);
            out.push_str(&from[..prefix.len()]);
            rest = &from[prefix.len()..];
            last = None;
            continue;
        }
        let number: u32 = digits[..len].parse().unwrap_or_default();
        if let Some((same, first, width)) = last.filter(|(same, first, _)| {
            *same == prefix && is_range(before) && *first < number && number - first < 50
        }) {
            for between in first + 1..number {
                out.push_str(&format!(", {same}-{between:0width$}"));
            }
            out.push_str(", ");
        } else {
            out.push_str(before);
        }
        out.push_str(&format!("{prefix}-{}", &digits[..len]));
        last = Some((prefix, number, len));
        rest = &digits[len..];
    }
    out.push_str(rest);
    out
}

fn is_range(between: &str) -> bool {
    matches!(
        between.trim(),
        "to" | ".." | "..." | "-" | "–" | "—" | "bis" | "through" | "至" | "到"
    )
}

fn next_prefix(text: &str) -> Option<(usize, &'static str)> {
    const PREFIXES: [(&str, &str); 3] = [("FR", "fr"), ("EPIC", "epic"), ("STORY", "story")];
    let bytes = text.as_bytes();
    (0..bytes.len()).find_map(|at| {
        let here = |form: &str| bytes[at..].starts_with(form.as_bytes());
        let found = PREFIXES.iter().find(|(large, small)| here(large) || here(small));
        found.map(|(prefix, _)| (at, *prefix))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_any_style() {
        let wanted = ["Scope".to_owned()];
        for text in [
            "# Scope\nx",
            "##Scope\nx",
            "**Scope**\n\nx",
            "__Scope:__\nx",
            "Scope\n-----\nx",
            "<h2>Scope</h2>\nx",
            "Scope: x",
            "- **Scope** - x",
            "| Part | What |\n|--|--|\n| Scope | x |",
            "| Id | Scope |\n|--|--|\n| FR-001 | x |",
        ] {
            assert!(has_heading(&usual_form(text, &wanted), "Scope"), "{text}");
        }
        let wanted = ["Verdict", "Findings", "Scope"].map(str::to_owned);
        let foreign = usual_form("## Verdict\nja\n## Bevindingen\ngeen\n## Scope\nalles\n", &wanted);
        assert!(has_heading(&foreign, "Findings"), "{foreign}");
        let other = usual_form("## Scope\nja\n## Bevindingen\ngeen\n## Verdict\nalles\n", &wanted);
        assert!(!has_heading(&other, "Findings"), "{other}");
        let wanted = ["Scope".to_owned()];
        for text in ["```\n# Scope\n```", "the scope is x", "---\nScope: a\n---\nx"] {
            assert!(!has_heading(&headings(text, &wanted), "Scope"), "{text}");
        }
    }

    #[test]
    fn ids_of_any_style() {
        for (text, expected) in [
            ("fr-001, FR002 and FR_3", "FR-001, FR-002 and FR-3"),
            ("FR-001 to FR-003", "FR-001, FR-002, FR-003"),
            ("FR-001..FR-002.", "FR-001, FR-002."),
            ("from 3 stories, XFR-001", "from 3 stories, XFR-001"),
            ("Story 1 of EPIC-2", "Story 1 of EPIC-2"),
        ] {
            assert_eq!(usual_ids(text), expected, "{text}");
        }
    }
}
