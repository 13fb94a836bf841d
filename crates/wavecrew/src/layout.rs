//! A plan as text for people, and as JSON. Text fits a width and has no colours and no control characters.

use crate::show::safe;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::io::{self, IsTerminal, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use wavecrew_core::id::{ExecMode, TaskIx};
use wavecrew_core::plan::Plan;
use wavecrew_core::view::count;

const MIN_WIDTH: usize = 60;

/// Columns of the terminal, or 80 for a file or a pipe.
pub fn width() -> usize {
    if !io::stdout().is_terminal() {
        return 80;
    }
    rustix::termios::tcgetwinsize(io::stdout()).map_or(80, |size| usize::from(size.ws_col).max(MIN_WIDTH))
}

/// `12 tasks in 3 waves`
pub fn size(plan: &Plan) -> String {
    format!(
        "{} in {}",
        count(plan.len(), "task"),
        count(plan.waves() as usize, "wave")
    )
}

/// Columns of the widest text.
pub fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// A task's line in the text graph.
pub fn node(plan: &Plan, task: TaskIx) -> String {
    let (id, title) = (plan.id(task), plan.title(task));
    if title == id {
        id.to_owned()
    } else {
        format!("{id}  {}", fit(title, 48).trim_end())
    }
}

/// The plan by wave. Lines fit into `width`.
pub fn table(plan: &Plan, team: &str, width: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} (team {team})", size(plan))?;
    let columns = Columns::of(plan, width);
    for wave in 1..=plan.waves() {
        let tasks = plan.wave_tasks(wave);
        writeln!(out, "\nWave {wave} · {}", count(tasks.len(), "task"))?;
        for &task in tasks {
            columns.row(plan, task, out)?;
        }
    }
    Ok(())
}

/// Widths of the parts of a line, settled once for the whole table so that waves line up.
struct Columns {
    id: usize,
    role: usize,
    mode: usize,
    title: usize,
    after: usize,
}

impl Columns {
    fn of(plan: &Plan, width: usize) -> Self {
        let widest =
            |most: usize, text: &dyn Fn(TaskIx) -> usize| plan.tasks().map(text).max().unwrap_or(0).min(most);
        let id = widest(24, &|t| plan.id(t).len());
        let role = widest(14, &|t| plan.role(t).width());
        let interactive = plan.tasks().any(|t| plan.mode(t) == ExecMode::Interactive);
        let mode = if interactive {
            ExecMode::Interactive.as_str().len()
        } else {
            0
        };
        let gaps = 2 + [id, role, mode].iter().filter(|w| **w > 0).count() * 2;
        let left = width.saturating_sub(gaps + id + role + mode);
        let deps = |t| plan.deps(t).iter().map(|d| plan.id(*d).len() + 2).sum::<usize>();
        let after = match widest(left / 2, &|t| deps(t)) {
            0 => 0,
            deps => (deps + "after ".len()).min(left / 2),
        };
        Self {
            id,
            role,
            mode,
            title: left - after,
            after,
        }
    }

    fn row(&self, plan: &Plan, task: TaskIx, out: &mut impl Write) -> io::Result<()> {
        let mut line = String::from("  ");
        let mode = match plan.mode(task) {
            ExecMode::Interactive => ExecMode::Interactive.as_str(),
            ExecMode::CsvWave => "",
        };
        for (text, width) in [
            (plan.id(task), self.id),
            (plan.role(task), self.role),
            (mode, self.mode),
        ] {
            if width > 0 {
                line += &fit(text, width);
                line += "  ";
            }
        }
        let title = if plan.title(task) == plan.id(task) {
            plan.description(task)
        } else {
            plan.title(task)
        };
        line += &fit(title, self.title.saturating_sub(2));
        line += "  ";
        if self.after > 0 && !plan.deps(task).is_empty() {
            line += &fit(&after(plan, task, self.after), self.after);
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// `after A, B`, or as many as fit and how many more there are.
fn after(plan: &Plan, task: TaskIx, width: usize) -> String {
    let deps = plan.deps(task);
    let mut text = String::from("after ");
    for (n, dep) in deps.iter().enumerate() {
        let id = plan.id(*dep);
        let rest = deps.len() - n - 1;
        let room = if rest == 0 { 0 } else { format!(" +{rest}").len() };
        if n > 0 && text.len() + 2 + id.len() + room > width {
            return format!("{text} +{}", rest + 1);
        }
        if n > 0 {
            text += ", ";
        }
        text += id;
    }
    text
}

/// The text in exactly `width` columns: control characters out, cut with `…`, filled with spaces.
pub fn fit(text: &str, width: usize) -> String {
    let text = safe(text.lines().next().unwrap_or_default());
    let wide = text.width();
    if wide <= width {
        return format!("{text}{}", " ".repeat(width - wide));
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > width {
            break;
        }
        used += w;
        out.push(c);
    }
    out.push('…');
    let padding = width.saturating_sub(used + 1);
    out + &" ".repeat(padding)
}

/// The plan as one JSON document, written without building it in memory.
pub struct PlanJson<'a> {
    pub team: &'a str,
    pub pipeline: Option<&'a str>,
    pub plan: &'a Plan,
}

impl Serialize for PlanJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("version", &crate::json::VERSION)?;
        map.serialize_entry("team", self.team)?;
        map.serialize_entry("pipeline", &self.pipeline)?;
        map.serialize_entry("waves", &self.plan.waves())?;
        map.serialize_entry("tasks", &Tasks(self.plan))?;
        map.end()
    }
}

struct Tasks<'a>(&'a Plan);

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tasks = serializer.serialize_seq(Some(self.0.len()))?;
        for task in self.0.tasks() {
            tasks.serialize_element(&Row(self.0, task))?;
        }
        tasks.end()
    }
}

struct Row<'a>(&'a Plan, TaskIx);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(plan, task) = *self;
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("id", plan.id(task))?;
        row.serialize_entry("wave", &plan.wave(task))?;
        for column in plan
            .header()
            .iter()
            .filter(|c| !matches!(c.as_str(), "id" | "wave"))
        {
            row.serialize_entry(column, &plan.session_cell(task, column))?;
        }
        row.end()
    }
}
