//! The one way to a `Plan`: checks a table against the common rules and the team's, and reports every mistake.

use super::graph::{self, Lists, all};
use super::index::{BATCH, Index, Link};
use super::{Places, Plan, Problem, Warning};
use crate::id::{ExecMode, TaskIx, check_task_id};
use crate::sheet::{Sheet, closest};
use crate::team::{RowRule, Team};
use std::sync::OnceLock;

mod cells;
mod links;

/// Checks a table and works out its waves. Refused with all of its problems, in the order of the file.
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
    let index = report.index();
    let modes = report.rows();
    report.team_cells(team);
    let deps = report.deps(&index);
    let wave = graph::levels(&deps);
    report.cycles(&deps, &wave);
    let context = report.context(&index, &wave);
    report.pairs(team, &deps);
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
    let header = session_header(sheet.header(), team);
    let graph = Graph { deps, context, wave };
    Ok((
        Plan::assemble_with(
            Parts {
                sheet,
                header,
                places,
                modes,
                graph,
            },
            index,
        ),
        warnings,
    ))
}

/// Finished interactive tasks that others build on and whose result nobody can read any more, for teams that have
/// such a rule. `readable` says whether the task with this id has its result.
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
    // A plan needs these two even if a team forgot to say so.
    let always = ["id", "description"].into_iter();
    let always =
        always.filter(|name| team.column(name).is_none_or(|c| !c.required) && sheet.column(name).is_none());
    always
        .chain(missing.map(|column| column.name.as_str()))
        .map(problem)
        .collect()
}

/// The team's columns in the team's order; a column of the user's own comes after the one it followed in the file.
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

/// Who waits for whom, who reads from whom, and in which wave each runs.
pub(super) struct Graph {
    pub deps: Lists,
    pub context: Lists,
    pub wave: Vec<u32>,
}

pub(super) struct Parts {
    pub sheet: Sheet,
    pub header: Vec<String>,
    pub places: Places,
    pub modes: Vec<ExecMode>,
    pub graph: Graph,
}

impl Plan {
    /// Puts a plan together from checked parts.
    pub(super) fn assemble(parts: Parts) -> Plan {
        let index = Index::of(&parts.sheet, parts.places.id, |_, _| {
            unreachable!("ids of a checked plan are unique")
        });
        Self::assemble_with(parts, index)
    }

    fn assemble_with(parts: Parts, index: Index) -> Plan {
        let Parts {
            sheet,
            header,
            places,
            modes,
            graph,
        } = parts;
        let Graph { deps, context, wave } = graph;
        let dependents = OnceLock::new();
        let waves = wave.iter().max().map_or(0, |w| *w as usize);
        let mut wave_starts = vec![0; waves + 1];
        for w in &wave {
            wave_starts[*w as usize] += 1;
        }
        for w in 1..wave_starts.len() {
            wave_starts[w] += wave_starts[w - 1];
        }
        // Each wave's start moves along as its tasks come in, and ends where the next wave starts.
        let mut next: Vec<u32> = wave_starts.clone();
        let mut by_wave = vec![TaskIx(0); wave.len()];
        for task in all(wave.len()) {
            let slot = &mut next[wave[task.index()] as usize - 1];
            by_wave[*slot as usize] = task;
            *slot += 1;
        }
        Plan {
            sheet,
            header,
            places,
            index,
            modes,
            deps,
            dependents,
            context,
            wave,
            by_wave,
            wave_starts,
        }
    }
}

/// Collects what is wrong while the table is walked.
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

    /// Every id stands once.
    fn index(&mut self) -> Index {
        let column = self.places.id;
        Index::of(self.sheet, column, |task, earlier| {
            let first = self.sheet.cell_line(earlier.index(), column);
            let problem = self.cell_problem(task, column, format!("Duplicate task ID: {}", self.id(task)));
            self.problems
                .push(problem.help(format!("line {first} has the same id")));
        })
    }

    /// The common rules about single cells, all in one walk over the rows: a large table is read from memory once.
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

    /// An id is a good file name.
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
