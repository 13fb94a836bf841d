//! The only way to a `Plan`: checks a table against the common rules and those of the team, and reports every mistake.

use super::graph::{self, Lists, all};
use super::{Places, Plan, Problem, Warning};
use crate::id::{ExecMode, TaskIx, check_task_id};
use crate::sheet::{Sheet, closest};
use crate::team::{RowRule, Team};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::OnceLock;

mod cells;
mod links;

/// Checks a table and computes its waves; otherwise returns all problems in the order of the file.
pub fn seal(sheet: Sheet, team: &Team) -> Result<(Plan, Vec<Warning>), Vec<Problem>> {
    let missing = missing_columns(&sheet, team);
    if !missing.is_empty() {
        return Err(missing);
    }
    let places = Places::of(&sheet).expect("the columns a plan needs are required by every team");
    let mut report = ProblemLog {
        sheet: &sheet,
        places,
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    let by_id = report.index_ids();
    let modes = report.rows();
    report.team_cells(team);
    let before = report.problems.len();
    let deps = report.deps(&by_id);
    // With a dependency missing, waves mean nothing: what follows from them would only hide the cause.
    let deps_are_known = report.problems.len() == before;
    let wave = graph::levels(&deps);
    report.cycles(&deps, &wave);
    let context = report.context(&by_id, deps_are_known.then_some(&wave));
    if deps_are_known {
        report.pairs(team, &deps);
    }
    report.printed_waves(&wave);
    let ProblemLog {
        mut problems,
        mut warnings,
        ..
    } = report;
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.line);
        return Err(problems);
    }
    warnings.sort_by_key(|warning| warning.0.line);
    let (by_wave, wave_starts) = graph::group_by_wave(&wave);
    let plan = Plan {
        header: session_header(sheet.header(), team),
        sheet,
        places,
        by_id,
        modes,
        deps,
        dependents: OnceLock::new(),
        context,
        wave,
        by_wave,
        wave_starts,
    };
    Ok((plan, warnings))
}

/// Completed interactive tasks that others depend on and that have no readable result, for teams with such a
/// rule. `readable` returns whether the task with this id has its result.
pub fn unresolvable_deps(plan: &Plan, team: &Team, readable: impl Fn(&str) -> bool) -> Vec<Problem> {
    let rule = team
        .rules
        .iter()
        .find(|rule| matches!(rule, RowRule::InteractiveResult { .. }));
    let Some(rule) = rule else { return Vec::new() };
    let mut named = vec![false; plan.len()];
    for task in plan.tasks() {
        for source in plan.deps(task).iter().chain(plan.context(task)) {
            named[source.index()] = true;
        }
    }
    plan.tasks()
        .filter(|t| named[t.index()] && plan.mode(*t) == ExecMode::Interactive)
        .filter(|t| plan.cell(*t, "status") == "completed" && !readable(plan.id(*t)))
        .map(|t| {
            let id = plan.id(t);
            Problem::new(
                plan.line(t),
                filled(rule.message(), |name| if name == "id" { id } else { "" }),
            )
            .at("id", id)
            .help(format!(
                "restore interactive/{id}-result.json, or set the task back to `pending`"
            ))
        })
        .collect()
}

/// A team's message with the names in braces replaced.
fn filled<'a>(message: &str, value: impl Fn(&str) -> &'a str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        out.push_str(before);
        out.push_str(value(name));
        rest = after;
    }
    out + rest
}

fn missing_columns(sheet: &Sheet, team: &Team) -> Vec<Problem> {
    let strangers = || {
        sheet
            .header()
            .iter()
            .map(String::as_str)
            .filter(|name| team.column(name).is_none())
    };
    let missing = team
        .columns
        .iter()
        .filter(|column| column.required && sheet.column(&column.name).is_none());
    let problem = |name: &str| {
        let near = closest(name, strangers());
        let help = match near {
            Some(near) => format!("did you mean `{name}` where the header says `{near}`?"),
            None => format!("add a column named `{name}` to the header"),
        };
        Problem::new(1, format!("Missing column: {name}"))
            .marking(near.unwrap_or_default())
            .help(help)
    };
    // Every plan needs these two columns.
    let always = ["id", "description"].into_iter();
    let always =
        always.filter(|name| team.column(name).is_none_or(|c| !c.required) && sheet.column(name).is_none());
    always
        .chain(missing.map(|column| column.name.as_str()))
        .map(problem)
        .collect()
}

/// The team's columns in the team's order; a user's column comes after the column it followed in the file.
fn session_header(given: &[String], team: &Team) -> Vec<String> {
    let mut header: Vec<String> = team.header().into_iter().map(str::to_owned).collect();
    let mut after = 0;
    for name in given {
        if let Some(at) = header.iter().position(|h| h == name) {
            after = at + 1;
        } else {
            header.insert(after, name.clone());
            after += 1;
        }
    }
    header
}

impl Places {
    pub(super) fn of(sheet: &Sheet) -> Option<Self> {
        Some(Self {
            id: sheet.column("id")?,
            description: sheet.column("description")?,
            title: sheet.column("title"),
            role: sheet.column("role"),
            deps: sheet.column("deps"),
            context_from: sheet.column("context_from"),
            exec_mode: sheet.column("exec_mode"),
            wave: sheet.column("wave"),
            status: sheet.column("status"),
        })
    }
}

/// Collects problems and warnings of a table.
struct ProblemLog<'a> {
    sheet: &'a Sheet,
    places: Places,
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

impl<'a> ProblemLog<'a> {
    fn id(&self, task: TaskIx) -> &'a str {
        self.sheet.cell(task.index(), self.places.id)
    }

    fn at(&self, task: TaskIx, column: Option<usize>) -> &'a str {
        column.map_or("", |column| self.sheet.cell(task.index(), column))
    }

    fn tasks(&self) -> impl Iterator<Item = TaskIx> + use<> {
        all(self.sheet.rows())
    }

    /// A problem with one cell.
    fn cell_problem(&self, task: TaskIx, column: usize, message: String) -> Problem {
        self.text_problem(task, column, self.sheet.cell(task.index(), column), message)
    }

    /// A problem with a part of one cell.
    fn text_problem(&self, task: TaskIx, column: usize, text: &str, message: String) -> Problem {
        Problem::new(self.sheet.cell_line(task.index(), column), message)
            .at(&self.sheet.header()[column], text)
    }

    /// The rows by id. Rows without an id are not in it; a repeated id is a problem.
    fn index_ids(&mut self) -> HashMap<Box<str>, TaskIx> {
        let column = self.places.id;
        let mut by_id = HashMap::with_capacity(self.sheet.rows());
        for task in self.tasks() {
            let id = self.id(task);
            if id.is_empty() {
                continue;
            }
            match by_id.entry(Box::from(id)) {
                Entry::Vacant(entry) => drop(entry.insert(task)),
                Entry::Occupied(entry) => {
                    let earlier: TaskIx = *entry.get();
                    let first = self.sheet.cell_line(earlier.index(), column);
                    let problem = self.cell_problem(task, column, format!("Duplicate task ID: {id}"));
                    self.problems
                        .push(problem.help(format!("line {first} has the same id")));
                }
            }
        }
        by_id
    }

    /// Checks the common rules about single cells in one pass over the rows.
    fn rows(&mut self) -> Vec<ExecMode> {
        let mut modes = Vec::with_capacity(self.sheet.rows());
        for task in self.tasks() {
            self.check_id(task);
            self.check_description(task);
            modes.push(self.check_mode(task));
            self.check_status(task);
        }
        modes
    }

    fn check_id(&mut self, task: TaskIx) {
        let id = self.id(task);
        if let Err(why) = check_task_id(id) {
            let message = format!("Invalid task ID: {}", id.escape_debug());
            let problem = self.cell_problem(task, self.places.id, message);
            self.problems
                .push(problem.help(format!("{why}; ids become part of file names")));
        }
    }

    fn printed_waves(&mut self, wave: &[u32]) {
        let Some(column) = self.places.wave else { return };
        for task in self.tasks() {
            let printed = self.sheet.cell(task.index(), column).trim();
            let computed = wave[task.index()];
            if !printed.is_empty() && computed != 0 && printed.parse() != Ok(computed) {
                let message = format!("Wave of {} is {printed}, computed {computed}", self.id(task));
                let problem = self.text_problem(task, column, printed, message);
                self.warnings
                    .push(Warning(problem.help("the computed wave is used")));
            }
        }
    }
}
