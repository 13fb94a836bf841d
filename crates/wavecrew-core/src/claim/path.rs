//! Paths that a role owes: columns filled in, `*` and `**` matched against names. Refuses paths that leave their folder.

use crate::prompt::{fill, placeholders};

/// Replaces `*` while columns are filled in, so that a star in a value stays a star.
const ANY: char = '\0';

/// The value of a column in a path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    One(&'a str),
    /// Separated by `;`.
    List(&'a str),
}

/// A path that leads out of its folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathEscape(pub String);

/// A path relative to a folder; `*` matches within a name, `**` any number of folders. Names that start with a
/// dot are matched only where the pattern has the dot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Name(String),
    /// The texts between the stars; two or more.
    Stars(Vec<String>),
    Folders,
}

impl Pattern {
    fn new(marked: &str) -> Result<Self, PathEscape> {
        let text = marked.replace(ANY, "*");
        if !stays_inside(&text) {
            return Err(PathEscape(text));
        }
        let folders = [ANY, ANY].iter().collect::<String>();
        let part = |part: &str| {
            if part == folders {
                Part::Folders
            } else if part.contains(ANY) {
                Part::Stars(part.split(ANY).map(str::to_owned).collect())
            } else {
                Part::Name(part.to_owned())
            }
        };
        let parts = names(marked).map(part).collect();
        Ok(Self { text, parts })
    }

    /// A pattern without columns in it.
    pub fn parse(text: &str) -> Result<Self, PathEscape> {
        Self::new(&text.replace('*', "\0"))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it names exactly one file.
    pub fn is_literal(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Name(_)))
    }

    /// The folder that contains every match; the whole path of a literal pattern.
    pub fn base(&self) -> String {
        let last = self.parts.len().saturating_sub(usize::from(!self.is_literal()));
        let names = self.parts[..last].iter().map_while(|part| match part {
            Part::Name(name) => Some(name.as_str()),
            Part::Stars(_) | Part::Folders => None,
        });
        names.collect::<Vec<_>>().join("/")
    }

    pub fn matches(&self, path: &str) -> bool {
        let path: Vec<&str> = names(path).collect();
        *self.reaches(&path).last().expect("one more than there are parts")
    }

    /// Whether something below this folder can match.
    pub fn leads_into(&self, folder: &str) -> bool {
        let path: Vec<&str> = names(folder).collect();
        let mut reaches = self.reaches(&path);
        if self.parts.last() != Some(&Part::Folders) {
            // A complete match is a file.
            reaches.pop();
        }
        reaches.contains(&true)
    }

    /// For 0, 1, 2, ... parts: whether the first n parts match the whole path.
    fn reaches(&self, path: &[&str]) -> Vec<bool> {
        let end = path.len();
        // `reach[n]`: the parts so far match the first n names.
        let mut reach = vec![false; end + 1];
        reach[0] = true;
        let mut whole = vec![reach[end]];
        for (at, part) in self.parts.iter().enumerate() {
            let mut next = vec![false; end + 1];
            if *part == Part::Folders && at + 1 < self.parts.len() {
                // It may match no folder; at the end of the pattern it matches files, and so at least one
                // name.
                next.clone_from(&reach);
            }
            for n in 0..end {
                next[n + 1] |= match part {
                    Part::Folders => (reach[n] || next[n]) && !path[n].starts_with('.'),
                    Part::Name(name) => reach[n] && name == path[n],
                    Part::Stars(pieces) => reach[n] && name_matches(pieces, path[n]),
                };
            }
            reach = next;
            whole.push(reach[end]);
        }
        whole
    }
}

fn name_matches(pieces: &[String], name: &str) -> bool {
    let [first, middle @ .., last] = pieces else {
        return false;
    };
    if first.is_empty() && name.starts_with('.') {
        return false;
    }
    let Some(mut rest) = name
        .strip_prefix(first.as_str())
        .and_then(|rest| rest.strip_suffix(last.as_str()))
    else {
        return false;
    };
    middle.iter().all(|piece| {
        let found = rest.split_once(piece.as_str());
        found.is_some_and(|(_, after)| {
            rest = after;
            true
        })
    })
}

/// Whether a relative path stays in its folder.
fn stays_inside(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|name| name != "..")
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

/// The entries of a `;`-separated list.
pub(super) fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|entry| !entry.is_empty())
}

/// Fills columns into an owed path: one pattern for each entry of a list. An empty column matches any name.
pub(super) fn fill_all<'a>(
    template: &str,
    cell: impl Fn(&str) -> Option<Cell<'a>>,
) -> Vec<Result<Pattern, PathEscape>> {
    let template = template.replace('*', "\0");
    let mut rows: Vec<Vec<(String, &str)>> = vec![vec![]];
    for name in placeholders(&template) {
        let values = match cell(&name) {
            None => continue,
            Some(Cell::One("")) => vec!["\0"],
            Some(Cell::One(value)) => vec![value],
            Some(Cell::List(values)) => {
                let mut seen: Vec<&str> = list(values).collect();
                seen.sort_unstable();
                seen.dedup();
                seen
            }
        };
        let with = |row: &Vec<(String, &'a str)>, value| {
            let mut row = row.clone();
            row.push((name.clone(), value));
            row
        };
        rows = rows
            .iter()
            .flat_map(|row| values.iter().map(|value| with(row, *value)))
            .collect();
    }
    let fill_in = |row: &Vec<(String, &str)>| {
        let value = |name: &str| row.iter().find(|(known, _)| known == name).map(|(_, v)| *v);
        Pattern::new(&fill(&template, value))
    };
    rows.iter().map(fill_in).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).expect("stays inside")
    }

    #[test]
    fn globs() {
        for (glob, path, expected) in [
            ("spec/brief.md", "spec/brief.md", true),
            ("spec/brief.md", "./spec//brief.md", true),
            ("spec/brief.md", "spec/Brief.md", false),
            ("spec/brief.md", "brief.md", false),
            ("spec/brief.md", "spec/brief.md/x", false),
            ("plan/TASK-*.json", "plan/TASK-001.json", true),
            ("plan/TASK-*.json", "plan/TASK-.json", true),
            ("plan/TASK-*.json", "plan/sub/TASK-1.json", false),
            ("plan/TASK-*.json", "plan/TASK-1.json.bak", false),
            ("*", "a", true),
            ("*", ".hidden", false),
            (".*", ".hidden", true),
            ("*", "a/b", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*ü*", "grüße", true),
            ("a**b", "axxb", true),
            ("tests/L1-*/**", "tests/L1-unit/a.py", true),
            ("tests/L1-*/**", "tests/L1-unit/deep/er/a.py", true),
            ("tests/L1-*/**", "tests/L1-unit", false),
            ("tests/L1-*/**", "tests/L2-integration/a.py", false),
            ("tests/L1-*/**", "tests/L1-unit/.cache/a.py", false),
            ("tests/L1-*/**", "tests/L1-unit/.gitkeep", false),
            ("**/a.md", "a.md", true),
            ("**/a.md", "x/y/a.md", true),
            ("**/a.md", "x/y/b.md", false),
            ("x/**/a.md", "x/a.md", true),
            ("x/**/y/**/z", "x/y/1/y/2/z", true),
            ("x/**/y/**/z", "x/1/2/z", false),
            ("**", "a/b/c", true),
            ("**/**", "a", true),
            ("**", "", false),
            ("my file (1)/[x]?.md", "my file (1)/[x]?.md", true),
            ("[ab].md", "a.md", false),
        ] {
            assert_eq!(pattern(glob).matches(path), expected, "{glob} on {path}");
        }
    }

    #[test]
    fn many_stars_cost_no_exponential_time() {
        let glob = format!("{}/end", vec!["**/*a*a*"; 30].join("/"));
        let path = vec!["aaaaaaaaaaaaaaaa"; 200].join("/");
        assert!(!pattern(&glob).matches(&path));
    }

    #[test]
    fn where_to_look() {
        for (glob, base, into, not_into) in [
            (
                "plan/TASK-*.json",
                "plan",
                &["", "plan"][..],
                &["plan/TASK-1.json", "plan/x", "spec"][..],
            ),
            (
                "tests/L1-*/**",
                "tests",
                &["tests", "tests/L1-unit", "tests/L1-unit/a/b"],
                &["tests/L2-e2e", "tests/L1-unit/.cache"],
            ),
            ("*.md", "", &[""], &["a", "a.md"]),
            ("**", "", &["", "a", "a/b"], &[".git", "a/.git"]),
            ("**/a.md", "", &["", "a.md"], &[".git"]),
            ("./a//b/*/c", "a/b", &["a", "a/b/x"], &["a/b/x/c", "a/c"]),
            (".x/*", ".x", &[".x"], &[".y"]),
        ] {
            let pattern = pattern(glob);
            assert_eq!(pattern.base(), base, "{glob}");
            for folder in into {
                assert!(pattern.leads_into(folder), "{glob} into {folder}");
            }
            for folder in not_into {
                assert!(!pattern.leads_into(folder), "{glob} not into {folder}");
            }
        }
        assert_eq!(pattern("spec/brief.md").base(), "spec/brief.md");
    }

    #[test]
    fn filled_paths() {
        let cell = |name: &str| match name {
            "id" => Some(Cell::One("T-1")),
            "layer" => Some(Cell::One("L1")),
            "none" => Some(Cell::One("")),
            "star" => Some(Cell::One("*")),
            "file" => Some(Cell::One("src/a b.rs")),
            "up" => Some(Cell::One("../..")),
            "root" => Some(Cell::One("/etc")),
            "ids" => Some(Cell::List("B; A ;;B")),
            "more" => Some(Cell::List("1;2")),
            "empty" => Some(Cell::List(" ; ")),
            _ => None,
        };
        let filled = |template: &str| -> Vec<String> {
            let show = |pattern: Result<Pattern, PathEscape>| match pattern {
                Ok(pattern) => pattern.as_str().to_owned(),
                Err(PathEscape(path)) => format!("leaves: {path}"),
            };
            fill_all(template, cell).into_iter().map(show).collect()
        };
        for (template, expected) in [
            ("a/{id}-report.md", &["a/T-1-report.md"][..]),
            ("tests/{layer}-*/**", &["tests/L1-*/**"]),
            ("tests/{none}-*/**", &["tests/*-*/**"]),
            ("s/{ids}.json", &["s/A.json", "s/B.json"]),
            ("{ids}/{ids}", &["A/A", "B/B"]),
            ("{ids}{more}", &["A1", "A2", "B1", "B2"]),
            ("s/{empty}.json", &[]),
            ("{unknown}.md", &["{unknown}.md"]),
            ("{{id}}.md", &["{id}.md"]),
            ("r/{file}.md", &["r/src/a b.rs.md"]),
            ("a/{up}/x", &["leaves: a/../../x"]),
            ("{root}/x", &["leaves: /etc/x"]),
        ] {
            assert_eq!(filled(template), expected, "{template}");
        }
    }

    #[test]
    fn a_star_in_a_value_is_only_a_star() {
        let patterns = fill_all("a/{star}.md", |_| Some(Cell::One("*")));
        let pattern = patterns[0].as_ref().expect("stays inside");
        assert!(pattern.is_literal());
        assert!(pattern.matches("a/*.md") && !pattern.matches("a/b.md"));
    }
}
