//! Rules about single cells: description, mode, status, role, and the team's own columns.

use super::{ProblemLog, filled};
use crate::id::{ExecMode, TaskIx};
use crate::plan::{Warning, did_you_mean};
use crate::team::{Column, ColumnCheck, Role, Team};

const STATUSES: [&str; 4] = ["pending", "completed", "failed", "skipped"];

impl ProblemLog<'_> {
    /// The team's rules about single cells.
    pub(super) fn team_cells(&mut self, team: &Team) {
        if !team.any_role {
            self.roles(team);
        }
        for rule in &team.columns {
            if let Some(column) = self.sheet.column(&rule.name) {
                for check in &rule.checks {
                    self.column(column, rule, check);
                }
            }
        }
    }

    pub(super) fn check_description(&mut self, task: TaskIx) {
        let column = self.places.description;
        if self.sheet.cell(task.index(), column).trim_start().is_empty() {
            let message = format!("Empty description for task: {}", self.id(task));
            let problem = self.cell_problem(task, column, message);
            self.problems.push(
                problem.help("describe the task so that a worker understands it without the other rows"),
            );
        }
    }

    /// An empty cell means the default, as a missing column does.
    pub(super) fn check_mode(&mut self, task: TaskIx) -> ExecMode {
        let value = self.at(task, self.places.exec_mode);
        if value.is_empty() {
            return ExecMode::default();
        }
        ExecMode::parse(value).unwrap_or_else(|| {
            let help = did_you_mean(value, ["csv-wave", "interactive"])
                .unwrap_or_else(|| "use `csv-wave` or `interactive`".to_owned());
            self.refuse(
                task,
                self.places.exec_mode,
                format!("Invalid exec_mode: {value}"),
                help,
            );
            ExecMode::default()
        })
    }

    pub(super) fn check_status(&mut self, task: TaskIx) {
        let status = self.at(task, self.places.status);
        if !status.is_empty() && !STATUSES.contains(&status) {
            let help = did_you_mean(status, STATUSES)
                .unwrap_or_else(|| format!("use one of {}", listed(STATUSES.iter().copied())));
            self.refuse(
                task,
                self.places.status,
                format!("Invalid status: {status}"),
                help,
            );
        }
    }

    fn refuse(&mut self, task: TaskIx, column: Option<usize>, message: String, help: String) {
        let column = column.unwrap_or(self.places.id);
        self.problems
            .push(self.cell_problem(task, column, message).help(help));
    }

    fn roles(&mut self, team: &Team) {
        let Some(column) = self.places.role else { return };
        for task in self.tasks() {
            let role = self.sheet.cell(task.index(), column);
            if let Some(own) = team.role(role) {
                self.prefix(task, own, team);
                continue;
            }
            let names = || team.roles.iter().map(|r| r.name.as_str());
            let help = did_you_mean(role, names())
                .unwrap_or_else(|| format!("the team's roles are {}", listed(names())));
            self.problems.push(
                self.cell_problem(task, column, format!("Invalid role: {role}"))
                    .help(help),
            );
        }
    }

    /// An id with the prefix of another role is allowed, but probably a mistake.
    fn prefix(&mut self, task: TaskIx, own: &Role, team: &Team) {
        let id = self.id(task);
        if own.prefixes.iter().any(|p| {
            id.strip_prefix(p.as_str())
                .is_some_and(|rest| rest.starts_with('-'))
        }) {
            return;
        }
        if let Some(other) = team.role_for_prefix(id) {
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

    fn column(&mut self, column: usize, rule: &Column, check: &ColumnCheck) {
        // The column that enables a check; without it there is nothing to check.
        let when = match check {
            ColumnCheck::Numeric { when: Some(name), .. } => match self.sheet.column(name) {
                Some(column) => Some(column),
                None => return,
            },
            ColumnCheck::OneOf { .. }
            | ColumnCheck::Numeric { when: None, .. }
            | ColumnCheck::NonEmpty { .. } => None,
        };
        for task in self.tasks() {
            let value = self.sheet.cell(task.index(), column);
            let good = match check {
                ColumnCheck::OneOf { allow_empty, .. } => {
                    (*allow_empty && value.is_empty()) || rule.values.iter().any(|v| v == value)
                }
                ColumnCheck::Numeric { .. } => {
                    when.is_some_and(|when| self.sheet.cell(task.index(), when).is_empty())
                        || is_number(value)
                }
                // A list of separators only is empty.
                ColumnCheck::NonEmpty { .. } => value.split(';').any(|part| !part.trim().is_empty()),
            };
            if !good {
                let message = filled(check.message(), |name| self.named(task, name, value));
                let problem = self
                    .cell_problem(task, column, message)
                    .help(check_help(rule, check, value));
                self.problems.push(problem);
            }
        }
    }

    /// The value of a name in a team's message.
    pub(super) fn named<'b>(&'b self, task: TaskIx, name: &str, value: &'b str) -> &'b str {
        match name {
            "value" => value,
            column => self
                .sheet
                .column(column)
                .map_or("", |column| self.sheet.cell(task.index(), column)),
        }
    }
}

fn check_help(rule: &Column, check: &ColumnCheck, value: &str) -> String {
    match check {
        ColumnCheck::OneOf { .. } => {
            let known = || rule.values.iter().map(String::as_str);
            did_you_mean(value, known()).unwrap_or_else(|| format!("use one of {}", listed(known())))
        }
        ColumnCheck::Numeric { when: Some(when), .. } => format!("a task with a {when} needs a number here"),
        ColumnCheck::Numeric { when: None, .. } => "write a number such as 80".to_owned(),
        ColumnCheck::NonEmpty { .. } => format!("fill in the column `{}`", rule.name),
    }
}

/// `80`, `79.5`; not `inf`, not `1e9`.
fn is_number(text: &str) -> bool {
    let text = text.trim();
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.parse::<f64>().is_ok()
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
