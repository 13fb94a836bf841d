//! The caller's output table: the columns of the input, those of the job, and one per property of the schema.

use super::spec::JobSpec;
use super::table::{InputTable, Item};
use super::worktrees::JobWorktrees;
use serde_json::{Map, Value};
use std::borrow::Cow;
use wavecrew_core::engine::{Ledger, TaskProgress, TaskState};
use wavecrew_core::event::{Status, StopReason};
use wavecrew_core::sheet::is_formula_start;
use wavecrew_run::worktree::KeptWorktree;

/// Columns of the job.
const JOB_COLUMNS: [&str; 10] = [
    "job_id",
    "item_id",
    "row_index",
    "source_id",
    "status",
    "attempt_count",
    "last_error",
    "result_json",
    "reported_at",
    "completed_at",
];

/// Further columns if each row has its own worktree.
const WORKTREE_COLUMNS: [&str; 3] = ["worktree", "branch", "diff"];

/// Renders the table.
pub fn render(
    job_id: &str,
    spec: &JobSpec,
    input: &InputTable,
    ledger: &Ledger,
    worktrees: Option<&JobWorktrees>,
) -> Vec<u8> {
    let properties = spec.properties();
    let own: Vec<&str> = properties
        .iter()
        .copied()
        .filter(|name| !input.header.iter().any(|column| column == name))
        .collect();
    let is_taken = |name: &str| own.contains(&name) || input.header.iter().any(|column| column == name);
    let free = |name: &'static str| {
        let mut free = Cow::Borrowed(name);
        while is_taken(&free) {
            free = Cow::Owned(format!("job_{free}"));
        }
        free
    };
    let job_names = JOB_COLUMNS.map(free);
    let worktree_names = worktrees.map(|_| WORKTREE_COLUMNS.map(free));
    let mut out = csv::Writer::from_writer(Vec::new());
    let header = input
        .header
        .iter()
        .map(String::as_str)
        .chain(job_names.iter().map(AsRef::as_ref))
        .chain(own.iter().copied())
        .chain(worktree_names.iter().flatten().map(AsRef::as_ref));
    out.write_record(header).expect("writing to memory");
    for (index, item) in input.items.iter().enumerate() {
        let row = Row::new(job_id, index, item, ledger);
        let given = input.header.iter().zip(&item.cells).map(|(name, cell)| {
            match properties
                .contains(&name.as_str())
                .then(|| row.property(name))
                .flatten()
            {
                Some(value) => value,
                None => Cow::Borrowed(cell.as_str()),
            }
        });
        let job = row.job.iter().map(|cell| Cow::Borrowed(cell.as_str()));
        let results = own.iter().map(|name| row.property(name).unwrap_or_default());
        let tree = worktrees.map(|worktrees| worktree_cells(worktrees.kept(&item.task_id)));
        let tree = tree.into_iter().flatten().map(Cow::Owned);
        for cell in given.chain(job).chain(results).chain(tree) {
            out.write_field(guarded(&cell).as_bytes())
                .expect("writing to memory");
        }
        out.write_record(None::<&[u8]>).expect("writing to memory");
    }
    out.into_inner().expect("writing to memory")
}

/// With `'` before what a spreadsheet would take for a formula. A number is none.
fn guarded(cell: &str) -> Cow<'_, str> {
    let starts_formula = |byte| is_formula_start(byte) && byte != b'\'';
    if cell.bytes().next().is_some_and(starts_formula) && cell.parse::<f64>().is_err() {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

/// Where a row's work is, if it left any.
fn worktree_cells(kept: Option<&KeptWorktree>) -> [String; 3] {
    kept.map_or_else(Default::default, |kept| {
        [
            kept.worktree.to_string_lossy().into_owned(),
            kept.branch.clone(),
            kept.diff.clone(),
        ]
    })
}

/// The result of one row.
struct Row {
    job: [String; 10],
    result: Option<Map<String, Value>>,
}

impl Row {
    fn new(job_id: &str, index: usize, item: &Item, ledger: &Ledger) -> Self {
        let nothing = TaskState::default();
        let state = ledger.plan().find(&item.task_id).map(|task| ledger.task(task));
        let state = state.unwrap_or(&nothing);
        let result_json = state.result.output("result");
        let ended = state.ended.map(|at| at.to_string());
        let over = matches!(state.progress, TaskProgress::Done);
        let when = |shown: bool| ended.clone().filter(|_| shown).unwrap_or_default();
        Self {
            result: serde_json::from_str(result_json).ok(),
            job: [
                job_id.to_owned(),
                item.item_id.clone(),
                index.to_string(),
                item.source_id.clone().unwrap_or_default(),
                status(state).to_owned(),
                state.attempts.to_string(),
                state.result.error.clone(),
                result_json.to_owned(),
                when(over && state.stop == Some(StopReason::Ok)),
                when(over),
            ],
        }
    }

    /// A property's value. One that is named like a column of the job has the job's value where there is no
    /// result, so that a reader of the column `status` finds it for every row.
    fn property(&self, name: &str) -> Option<Cow<'_, str>> {
        if let Some(result) = &self.result {
            match result.get(name)? {
                Value::String(text) => Some(Cow::Borrowed(text)),
                Value::Null => Some(Cow::Borrowed("")),
                other => Some(Cow::Owned(other.to_string())),
            }
        } else {
            let at = JOB_COLUMNS.iter().position(|column| *column == name)?;
            Some(Cow::Borrowed(&self.job[at]))
        }
    }
}

fn status(state: &TaskState) -> &'static str {
    match (state.progress, state.result.status) {
        (TaskProgress::Open { .. }, Status::Pending) => "running",
        (_, status) => status.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::create::plan;
    use crate::job::spec::team;
    use std::path::PathBuf;
    use std::sync::Arc;

    #[test]
    fn no_two_columns_have_the_same_name() {
        let input = InputTable::read(b"status,job_status,worktree\na,b,c\n", None).unwrap();
        let spec = JobSpec {
            output_csv: PathBuf::new(),
            id_column: None,
            result_schema: serde_json::json!({"type": "object", "properties": {"job_id": {}}}),
            concurrency: 1,
            runtime_seconds: 1,
            agent: String::new(),
            allow_stop: false,
            verify: None,
            isolation: wavecrew_run::worktree::Isolation::None,
            limits: wavecrew_core::budget::Budget::default(),
        };
        let team = team(&spec.result_schema, false);
        let plan = plan(&team, &input, "do").unwrap();
        let text = render("j", &spec, &input, &Ledger::new(Arc::new(team), plan), None);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            text.lines().next().unwrap(),
            "status,job_status,worktree,job_job_id,item_id,row_index,source_id,job_job_status,attempt_count,last_error,\
             result_json,reported_at,completed_at,job_id"
        );
    }
}
