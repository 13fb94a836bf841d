//! Creates the session of a job. Refuses a wrong call before anything is written.

use super::spec::{JobSpec, SpawnOnCsv, default_output, team};
use super::status::JobStatus;
use super::table::InputTable;
use crate::paths::Root;
use std::fs;
use wavecrew_core::plan::{Plan, Problem, seal};
use wavecrew_core::prompt::fill;
use wavecrew_core::sheet::SheetBuilder;
use wavecrew_core::team::Team;
use wavecrew_run::agent_name::by_name;
use wavecrew_run::session::NewSession;
use wavecrew_run::worktree::{Isolation, Worktree};
use wavecrew_session::{Holder, SessionDir, SessionError, SessionInfo, atomic, session_id};

/// Creates the session of a new job with this agent, and at most `ceiling` workers at the same time.
pub fn create(
    root: &Root,
    agent: &str,
    ceiling: Option<usize>,
    call: &SpawnOnCsv,
) -> Result<SessionDir, String> {
    if call.instruction.trim().is_empty() {
        return Err("instruction must be non-empty".to_owned());
    }
    by_name(agent).map_err(|error| error.to_string())?;
    let (concurrency, runtime_seconds) = (call.concurrency(ceiling)?, call.runtime_seconds()?);
    let (result_schema, limits) = (call.result_schema()?, call.limits()?);
    if call
        .verify
        .as_deref()
        .is_some_and(|command| command.trim().is_empty())
    {
        return Err("verify must be a command".to_owned());
    }
    if call.isolation == Isolation::Worktree {
        Worktree::check_possible(root.path()).map_err(|error| error.to_string())?;
    }
    let csv = root.existing(&call.csv_path)?;
    let output = call
        .output_csv_path
        .as_deref()
        .map(|path| root.output(path))
        .transpose()?;
    let bytes = fs::read(&csv).map_err(|error| format!("failed to read csv {}: {error}", call.csv_path))?;
    let input = InputTable::read(&bytes, call.id_column.as_deref())?;
    let allow_stop = call.allow_stop.unwrap_or(true);
    let team = team(&result_schema, allow_stop);
    let plan = plan(&team, &input, &call.instruction)?;

    let stem = csv.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let now = jiff::Timestamp::now();
    let id_base = session_id(
        &team.prefix,
        &stem,
        team.slug_len,
        &now.strftime("%Y%m%d").to_string(),
    );
    let started_at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let team_text = toml::to_string(&team).map_err(|error| error.to_string())?;
    let new = NewSession {
        project: root.path(),
        id_base: &id_base,
        team: &team,
        team_text: &team_text,
        plan: &plan,
        holder: Holder::this_process(&started_at, "wavecrew mcp"),
    };
    let (session, _) = new
        .create(|dir: &SessionDir| SessionInfo {
            source_file: Some(csv.clone()),
            ..SessionInfo::begin(dir.id(), &team.name, started_at.clone(), agent, concurrency)
        })
        .map_err(|error| described(&error))?;
    let dir = session.dir.clone();
    let spec = JobSpec {
        output_csv: match output {
            Some(path) => path,
            None => default_output(root, &csv, dir.id())?,
        },
        id_column: call.id_column.clone(),
        result_schema,
        concurrency,
        runtime_seconds,
        agent: agent.to_owned(),
        allow_stop,
        verify: call.verify.clone(),
        isolation: call.isolation,
        limits,
    };
    let text = serde_json::to_vec_pretty(&spec).expect("plain data");
    let store = |error: SessionError| error.to_string();
    atomic::write(&dir.job_input(), &bytes).map_err(store)?;
    atomic::write(&dir.job_file(), &text).map_err(store)?;
    JobStatus::starting(dir.id(), &spec.output_csv, input.items.len())
        .write(&dir)
        .map_err(store)?;
    Ok(dir)
}

/// One task per row, with the instruction filled by it.
pub(super) fn plan(team: &Team, input: &InputTable, instruction: &str) -> Result<Plan, String> {
    let header = ["id", "description", "role", "row"].map(str::to_owned).to_vec();
    let mut sheet = SheetBuilder::new(header);
    for (row, item) in input.items.iter().enumerate() {
        let description = fill(instruction, |column| input.cell(row, column));
        let line = u32::try_from(row + 2).map_err(|_| "csv input has too many rows".to_owned())?;
        let cells = [&item.task_id, &description, "worker", &input.row_json(row)];
        sheet.row(line, cells);
    }
    let (plan, _) = seal(sheet.finish(), team).map_err(|problems| joined(&problems))?;
    Ok(plan)
}

fn joined(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .take(5)
        .map(|problem| format!("row {}: {}", problem.line, problem.message))
        .collect();
    lines.join("; ")
}

pub(super) fn described(error: &SessionError) -> String {
    format!("{error}; {}", error.help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instruction_is_filled_by_the_row() {
        let input = InputTable::read(b"path,two words\na.rs,2\nb.rs,{path}\n", None).unwrap();
        let team = team(&serde_json::json!({"type": "object"}), true);
        let plan = plan(&team, &input, "Look at {path} ({two words}), {{x}}, {other}").unwrap();
        let filled = plan.tasks().map(|task| plan.description(task));
        assert_eq!(
            filled.collect::<Vec<_>>(),
            [
                "Look at a.rs (2), {x}, {other}",
                "Look at b.rs ({path}), {x}, {other}"
            ]
        );
    }

    #[test]
    fn a_call_that_cannot_work_leaves_nothing_behind() {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("in.csv"), "a\n1\n").unwrap();
        let root = Root::new(project.path()).unwrap();
        let call = |csv: &str, instruction: &str| SpawnOnCsv {
            csv_path: csv.to_owned(),
            instruction: instruction.to_owned(),
            ..SpawnOnCsv::default()
        };
        for (call, agent, message) in [
            (
                call("in.csv", " "),
                "command:true",
                "instruction must be non-empty",
            ),
            (
                call("none.csv", "do"),
                "command:true",
                "failed to read csv none.csv",
            ),
            (call("in.csv", "{a} {b}"), "nonsense", "nonsense"),
        ] {
            let error = create(&root, agent, None, &call).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let names: Vec<_> = fs::read_dir(project.path()).unwrap().collect();
        assert_eq!(names.len(), 1);
    }
}
