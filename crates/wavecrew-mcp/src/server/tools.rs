//! Names, words and arguments of the tools.

use super::team_tools;
use crate::answer::tool;
use crate::limits;
use rmcp::model::Tool;
use serde_json::{Value, json};

pub(super) fn all() -> Vec<Tool> {
    let mut table = json!({
        "csv_path": {"type": "string", "description": "the input, with a header row"},
        "instruction": {"type": "string", "description": "what each worker is to do; {column} is filled from its row, {{ and }} are braces"},
        "id_column": {"type": "string", "description": "the column with the rows' ids; without it they are row-1, row-2, ..."},
        "output_csv_path": {"type": "string", "description": "where results go; default: beside the input"},
        "output_schema": {"type": "object", "description": "JSON Schema of each worker's result; enforced, and its properties become columns"},
        "max_concurrency": {"type": "integer", "minimum": 1, "description": "workers at the same time (16)"},
        "max_workers": {"type": "integer", "minimum": 1, "description": "the same as max_concurrency"},
        "max_runtime_seconds": {"type": "integer", "minimum": 1, "description": "limit for each worker (1800)"},
        "agent": {"type": "string", "description": "which agent does the rows, such as codex, claude, acp:PROGRAM or command:PROGRAM; default: the server's"},
        "verify": {"type": "string", "description": "a shell command run in each row's folder when its worker has a result; it has to succeed, or the worker is told what it printed and tries again. WAVECREW_ROW and WAVECREW_RESULT hold the row and the result as JSON"},
        "isolation": isolation(),
        "resume_job_id": {"type": "string", "description": "go on with this job instead of beginning one; everything else but background and the limits is then as it was"},
        "background": {"type": "boolean", "description": "return at once; ask with wait_agent_job"},
        "allow_stop": {"type": "boolean", "description": "whether a worker may end the whole job (true)"},
    });
    for (name, schema) in limits::properties() {
        table[name] = schema;
    }
    let job_id = json!({"type": "string", "description": "as spawn_agents_on_csv gave it"});
    vec![
        tool(
            "spawn_agents_on_csv",
            "Process a CSV file with one worker agent per row. The instruction is a template: {column} is replaced by \
             the row's value. Blocks until all rows are done and returns the path of a CSV with the results; with \
             background it returns a job_id at once. A job that stopped at max_cost, max_tokens or max_time_seconds says so \
             in job_error, has the status stopped, and goes on with resume_job_id and a higher limit.",
            json!({"type": "object", "properties": table, "required": ["csv_path", "instruction"]}),
        ),
        tool(
            "wait_agent_job",
            "Wait for a job that runs in the background, at most timeout_ms (30000), and say how it stands.",
            json!({
                "type": "object",
                "properties": {"job_id": job_id, "timeout_ms": {"type": "integer", "minimum": 0}},
                "required": ["job_id"],
            }),
        ),
        tool(
            "cancel_agent_job",
            "End a job and its workers. Finished rows keep their results.",
            json!({"type": "object", "properties": {"job_id": job_id}, "required": ["job_id"]}),
        ),
        tool(
            "spawn_agent",
            "Start a conversation with another agent and give it its first message. Returns agent_id at once; wait says \
             when its turn is over and what it answered. Close it when it is not needed any more.",
            json!({
                "type": "object",
                "properties": {
                    "message": {"type": "string", "description": "what the agent is to do"},
                    "agent": {"type": "string", "description": "which agent, such as codex, claude, acp:PROGRAM or command:PROGRAM; default: the server's"},
                    "cwd": {"type": "string", "description": "the folder it works in, within the project"},
                    "isolation": isolation(),
                },
                "required": ["message"],
            }),
        ),
        tool(
            "send_input",
            "Say something more to an agent. It hears it after the turn that is under way, or at once with interrupt.",
            json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "as spawn_agent gave it"},
                    "message": {"type": "string"},
                    "interrupt": {"type": "boolean", "description": "end the turn that is under way first"},
                },
                "required": ["id", "message"],
            }),
        ),
        tool(
            "wait",
            "Wait until one of the agents has ended its turn, at most timeout_ms (30000), and say how all of them stand: \
             running, {completed: its last message}, {errored: why}, shutdown or not_found.",
            json!({
                "type": "object",
                "properties": {
                    "ids": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                    "timeout_ms": {"type": "integer", "minimum": 0},
                },
                "required": ["ids"],
            }),
        ),
        tool(
            "close_agent",
            "End an agent and everything it started. Says how it stood, and where its work is if it had a worktree of its own.",
            json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}),
        ),
    ]
    .into_iter()
    .chain(team_tools::all())
    .collect()
}

fn isolation() -> Value {
    json!({
        "type": "string",
        "enum": ["none", "worktree"],
        "description": "worktree: work in a git worktree of its own, kept when it has changes (none)",
    })
}
