//! Roles: names and prefixes that differ, instructions that are not empty, owed files inside the session.

use super::{Check, did_you_mean, is_word, unsafe_path};
use crate::team::Owed;
use crate::team::parse::source::at;

impl Check<'_, '_, '_> {
    pub(super) fn roles(&mut self) {
        let team = self.team;
        if team.roles.is_empty() && !team.any_role {
            let help = Some("add a [[roles]] table, or say any_role = true".to_owned());
            self.problem(&[], "the team has no roles", help);
        }
        self.unique(
            "roles",
            "role",
            "name",
            team.roles.iter().map(|role| role.name.as_str()),
        );
        let mut owners: Vec<(&str, &str)> = vec![];
        let mut taken: Vec<(&str, &str)> = vec![];
        for (r, role) in team.roles.iter().enumerate() {
            let name = role.name.as_str();
            if !is_word(name) {
                let help = Some("use letters, digits, `-` and `_`".to_owned());
                self.problem(
                    at!["roles", r, "name"],
                    format!("a role cannot be called `{name}`"),
                    help,
                );
            }
            if role.instruction.trim().is_empty() {
                let help = Some("an agent plays the role from its instruction alone".to_owned());
                self.problem(
                    at!["roles", r, "instruction"],
                    format!("role `{name}` has an empty instruction"),
                    help,
                );
            }
            if role.prefixes.is_empty() {
                self.problem(
                    at!["roles", r, "prefixes"],
                    format!("role `{name}` has no id prefix"),
                    None,
                );
            }
            for (i, prefix) in role.prefixes.iter().enumerate() {
                if !is_word(prefix) || prefix.ends_with('-') {
                    let help =
                        Some("use letters, digits and `_`; the dash before the number is added".to_owned());
                    let message = format!("role `{name}` cannot have the id prefix `{prefix}`");
                    self.problem(at!["roles", r, "prefixes", i], message, help);
                }
                if let Some((_, other)) = taken.iter().find(|(known, _)| known == prefix) {
                    let message = format!("the id prefix `{prefix}` of role `{name}` belongs to `{other}`");
                    self.problem(at!["roles", r, "prefixes", i], message, None);
                }
                taken.push((prefix, name));
            }
            for (f, field) in role.state.iter().enumerate() {
                if let Some((_, owner)) = owners.iter().find(|(known, _)| known == field) {
                    let message = format!("the state field `{field}` of role `{name}` belongs to `{owner}`");
                    let help = Some("a field of the shared state has one owner".to_owned());
                    self.problem(at!["roles", r, "state", f], message, help);
                }
                owners.push((field, name));
            }
            for (o, owed) in role.owes.iter().enumerate() {
                self.owed(r, o, owed);
            }
        }
    }

    fn owed(&mut self, r: usize, o: usize, owed: &Owed) {
        let what = format!("the owed file `{}`", owed.path);
        self.placeholders(at!["roles", r, "owes", o, "path"], &owed.path, &[], &what);
        if let Some(why) = unsafe_path(&owed.path) {
            self.problem(at!["roles", r, "owes", o, "path"], format!("{what} {why}"), None);
        }
        if owed.max_files.is_some_and(|max| max < owed.min_files) {
            let message = format!("{what} has `max_files` below `min_files` ({})", owed.min_files);
            self.problem(at!["roles", r, "owes", o, "max_files"], message, None);
        }
        let Some(when) = &owed.when else { return };
        self.known_column(
            at!["roles", r, "owes", o, "when", "column"],
            &when.column,
            None,
            &what,
        );
        let Some(column) = self.team.column(&when.column).filter(|c| !c.values.is_empty()) else {
            return;
        };
        for (v, value) in when.is.iter().enumerate() {
            if !column.values.contains(value) {
                let help = did_you_mean(value, column.values.iter().map(String::as_str));
                let message = format!("`{}` is never `{value}`", column.name);
                self.problem(at!["roles", r, "owes", o, "when", "is", v], message, help);
            }
        }
    }
}
