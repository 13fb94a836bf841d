//! Rules about single cells: description, mode, status, role, and the team's own columns.

use super::{Report, Roles, Rules};
use crate::id::{ExecMode, TaskIx};
use crate::plan::rules::{Check, ColumnRule, Empty, RoleRule};
use crate::plan::{Warning, did_you_mean};

const STATUSES: [&str; 4] = ["pending", "completed", "failed", "skipped"];

impl Report<'_> {
    /// Checks every cell that has a rule, and gives the tasks' modes.
    pub(super) fn cells(&mut self, rules: &Rules) -> Vec<ExecMode> {
        self.descriptions();
        self.statuses();
        if let Roles::Of(roles) = &rules.roles {
            self.roles(roles);
        }
        for rule in &rules.columns {
            if let Some(column) = self.sheet.column(&rule.column) {
                self.column(column, rule);
            }
        }
        self.modes()
    }

    fn descriptions(&mut self) {
        let column = self.places.description;
        for task in self.tasks() {
            if self.sheet.cell(task.index(), column).trim().is_empty() {
                let message = format!("Empty description for task: {}", self.id(task));
                let problem = self.cell_problem(task, column, message);
                self.problems
                    .push(problem.help("say what is to be done, so that the row can be read alone"));
            }
        }
    }

    fn modes(&mut self) -> Vec<ExecMode> {
        let Some(column) = self.places.exec_mode else {
            return vec![ExecMode::default(); self.sheet.rows()];
        };
        let mut modes = Vec::with_capacity(self.sheet.rows());
        for task in self.tasks() {
            let value = self.sheet.cell(task.index(), column);
            let mode = if value.is_empty() {
                Some(ExecMode::default())
            } else {
                ExecMode::parse(value)
            };
            modes.push(mode.unwrap_or_default());
            if mode.is_none() {
                let message = format!("Invalid exec_mode: {value}");
                let help = did_you_mean(value, ["csv-wave", "interactive"])
                    .unwrap_or_else(|| "use `csv-wave` or `interactive`".to_owned());
                self.problems
                    .push(self.cell_problem(task, column, message).help(help));
            }
        }
        modes
    }

    fn statuses(&mut self) {
        let Some(column) = self.places.status else { return };
        for task in self.tasks() {
            let status = self.sheet.cell(task.index(), column);
            if !status.is_empty() && !STATUSES.contains(&status) {
                let help = did_you_mean(status, STATUSES)
                    .unwrap_or_else(|| format!("use one of {}", listed(STATUSES.iter().copied())));
                let problem = self.cell_problem(task, column, format!("Invalid status: {status}"));
                self.problems.push(problem.help(help));
            }
        }
    }

    fn roles(&mut self, roles: &[RoleRule]) {
        let Some(column) = self.places.role else { return };
        for task in self.tasks() {
            let role = self.sheet.cell(task.index(), column);
            let Some(own) = roles.iter().find(|r| r.name == role) else {
                let names = || roles.iter().map(|r| r.name.as_str());
                let help = did_you_mean(role, names())
                    .unwrap_or_else(|| format!("the team's roles are {}", listed(names())));
                let problem = self
                    .cell_problem(task, column, format!("Invalid role: {role}"))
                    .help(help);
                self.problems.push(problem);
                continue;
            };
            self.prefix(task, own, roles);
        }
    }

    /// An id that looks like another role's is allowed, and most likely a slip.
    fn prefix(&mut self, task: TaskIx, own: &RoleRule, roles: &[RoleRule]) {
        let id = self.id(task);
        if own.prefixes.iter().any(|p| has_prefix(id, p)) {
            return;
        }
        if let Some(other) = roles
            .iter()
            .find(|r| r.prefixes.iter().any(|p| has_prefix(id, p)))
        {
            let message = format!(
                "ID {id} has the prefix of role {}, its role is {}",
                other.name, own.name
            );
            let problem = self.cell_problem(task, self.places.id, message);
            let help = own
                .prefixes
                .first()
                .map(|p| format!("ids of {} start with `{p}-`", own.name));
            self.warnings.push(Warning(problem.maybe_help(help)));
        }
    }

    fn column(&mut self, column: usize, rule: &ColumnRule) {
        let name = &rule.column;
        match &rule.check {
            Check::OneOf { values, empty } => {
                for task in self.tasks() {
                    let value = self.sheet.cell(task.index(), column);
                    let allowed = value.is_empty() && *empty == Empty::Allowed;
                    if !allowed && !values.iter().any(|v| v == value) {
                        let known = || values.iter().map(String::as_str);
                        let help = did_you_mean(value, known())
                            .unwrap_or_else(|| format!("use one of {}", listed(known())));
                        let problem = self.cell_problem(task, column, format!("Invalid {name}: {value}"));
                        self.problems.push(problem.help(help));
                    }
                }
            }
            Check::NumberWith { with } => {
                let Some(with_column) = self.sheet.column(with) else {
                    return;
                };
                for task in self.tasks() {
                    let filled = !self.sheet.cell(task.index(), with_column).is_empty();
                    let value = self.sheet.cell(task.index(), column);
                    if filled && !is_number(value) {
                        let message = format!("Invalid {}: {value}", name.replace('_', " "));
                        let problem = self.cell_problem(task, column, message);
                        self.problems
                            .push(problem.help(format!("a task with a {with} needs a number here")));
                    }
                }
            }
            Check::Filled => {
                for task in self.tasks() {
                    // A list of nothing but separators names nothing.
                    let value = self.sheet.cell(task.index(), column);
                    if value.split(';').all(|part| part.trim().is_empty()) {
                        let problem =
                            self.cell_problem(task, column, format!("No {name} for task: {}", self.id(task)));
                        self.problems
                            .push(problem.help(format!("fill in the column `{name}`")));
                    }
                }
            }
        }
    }
}

/// `80`, `79.5`: what a person writes for a figure. No `inf`, no `1e9`.
fn is_number(text: &str) -> bool {
    let text = text.trim();
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.parse::<f64>().is_ok()
}

fn has_prefix(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('-'))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
