//! Checks rules that the JSON Schema cannot express: names that must exist, ids that must differ, thresholds
//! in order.

mod columns;
mod pipelines;
mod policy;
mod roles;

use super::extend::Written;
use super::source::{Source, Step, at, did_you_mean};
use crate::team::{COMMON_COLUMNS, ColumnKind, Team};

pub(super) fn check(team: &Team, written: &[Written], source: &mut Source<'_>) {
    let mut check = Check { team, source };
    check.names();
    check.columns();
    check.roles();
    check.pipelines(written);
    check.choices();
    check.policy();
    check.boards();
}

struct Check<'a, 'b, 't> {
    team: &'a Team,
    source: &'b mut Source<'t>,
}

impl<'a> Check<'a, '_, '_> {
    fn problem(&mut self, path: &[Step<'_>], message: impl Into<String>, help: Option<String>) {
        self.source.problem_at(path, message.into(), help);
    }

    fn names(&mut self) {
        for (key, value) in [("name", &self.team.name), ("prefix", &self.team.prefix)] {
            if !is_word(value) {
                let help = Some("use letters, digits, `-` and `_`".to_owned());
                self.problem(at![key], format!("`{key}` cannot be `{value}`"), help);
            }
        }
        if !(1..=100).contains(&self.team.slug_len) {
            self.problem(at!["slug_len"], "`slug_len` must be between 1 and 100", None);
        }
        for (f, folder) in self.team.folders.iter().enumerate() {
            if let Some(why) = unsafe_path(folder) {
                self.problem(at!["folders", f], format!("folder `{folder}` {why}"), None);
            }
        }
    }

    /// Reports every name that came before in the same list.
    fn unique<'n>(&mut self, list: &str, what: &str, key: &str, names: impl Iterator<Item = &'n str>) {
        let mut seen: Vec<&str> = vec![];
        for (i, name) in names.enumerate() {
            if seen.contains(&name) {
                self.problem(at![list, i, key], format!("{what} `{name}` is there twice"), None);
            }
            seen.push(name);
        }
    }

    fn known_role(&mut self, path: &[Step<'_>], name: &str, what: &str) {
        if self.team.role(name).is_none() && !self.team.any_role {
            let help = did_you_mean(name, self.team.roles.iter().map(|role| role.name.as_str()));
            self.problem(path, format!("{what} names the unknown role `{name}`"), help);
        }
    }

    fn known_prefix(&mut self, path: &[Step<'_>], prefix: &str, what: &str) {
        let known: Vec<&str> = self.prefixes().collect();
        if !known.contains(&prefix) {
            let help = did_you_mean(prefix, known);
            self.problem(
                path,
                format!("{what} names the id prefix `{prefix}`, which no role has"),
                help,
            );
        }
    }

    fn prefixes(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.team
            .roles
            .iter()
            .flat_map(|role| role.prefixes.iter().map(String::as_str))
    }

    fn known_pipeline(&mut self, path: &[Step<'_>], name: &str, what: &str) {
        if self.team.pipeline(name).is_none() {
            let help = did_you_mean(name, self.team.pipelines.iter().map(|p| p.name.as_str()));
            self.problem(path, format!("{what} names the unknown pipeline `{name}`"), help);
        }
    }

    /// A column of the given kind, or of any kind, the common ones included.
    fn known_column(&mut self, path: &[Step<'_>], name: &str, kind: Option<ColumnKind>, what: &str) {
        let own = self
            .team
            .columns
            .iter()
            .filter(|c| kind.is_none_or(|kind| c.kind == kind));
        let common = COMMON_COLUMNS.iter().filter(|_| kind.is_none()).copied();
        let known: Vec<&str> = own.map(|column| column.name.as_str()).chain(common).collect();
        if !known.contains(&name) {
            let kind = match kind {
                Some(ColumnKind::Input) => "input column",
                Some(ColumnKind::Output) => "output column",
                Some(ColumnKind::Common | ColumnKind::Computed) | None => "column",
            };
            self.problem(
                path,
                format!("{what} names the unknown {kind} `{name}`"),
                did_you_mean(name, known),
            );
        }
    }

    /// Every `{name}` of a text is a column or one of the extra words.
    fn placeholders(&mut self, path: &[Step<'_>], text: &str, extra: &[&str], what: &str) {
        for name in placeholders(text) {
            if !extra.contains(&name) {
                self.known_column(path, name, None, what);
            }
        }
    }
}

/// Names in braces.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Why a path may not be used inside a session folder.
fn unsafe_path(path: &str) -> Option<&'static str> {
    if path.trim().is_empty() {
        Some("is empty")
    } else if path.starts_with('/') || path.contains('\\') || path.contains(':') {
        Some("must be relative to the session folder, with `/` between its parts")
    } else if path.split('/').any(|part| part == "..") {
        Some("leads out of the session folder")
    } else {
        None
    }
}
