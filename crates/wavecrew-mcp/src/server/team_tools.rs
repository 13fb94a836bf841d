//! Names, words and arguments of the tools for teams.

use crate::answer::tool;
use crate::limits;
use rmcp::model::Tool;
use serde_json::{Value, json};

pub(super) fn all() -> Vec<Tool> {
    let session = json!({"type": "string", "description": "as team_run or spawn_agents_on_csv gave it"});
    let mut run = json!({
        "agent": {"type": "string", "description": "who does the tasks; default: the server's"},
        "max_workers": {"type": "integer", "minimum": 1, "description": "workers at the same time (3)"},
        "background": {"type": "boolean", "description": "return at once; ask with team_status"},
        "ask": {"type": "boolean", "description": "put the run's questions to you, by elicitation or in team_status; default: whether you have elicitation. Otherwise they get their default answer"},
    });
    for (name, schema) in limits::properties() {
        run[name] = schema;
    }
    let again = |name: &str| run[name].clone();
    vec![
        tool(
            "team_plan",
            "Show what a team would do: its tasks, wave by wave. Runs and writes nothing.",
            object(planned(), &["team"]),
        ),
        tool(
            "team_run",
            "Have a team do what is requested, wave by wave. Blocks until it is done and returns its counts; with background \
             it returns the session at once. A run that stopped at max_cost, max_tokens or max_time_seconds says so in ending, and \
             goes on with team_continue and a higher limit.",
            object(merged(planned(), &run), &["team"]),
        ),
        tool(
            "team_status",
            "Say where a session stands (default: the latest one): its state, counts, tasks and open question. With \
             timeout_ms it waits for the end of the session or for a question.",
            object(
                json!({"session": session, "timeout_ms": {"type": "integer", "minimum": 0}}),
                &[],
            ),
        ),
        tool(
            "team_continue",
            "Go on with a session that was stopped or killed. What was completed is not run again; what failed is, with retry.",
            object(
                json!({
                    "session": session,
                    "retry": {"type": "boolean", "description": "run what failed once more"},
                    "agent": again("agent"), "background": again("background"), "ask": again("ask"),
                    "max_cost": again("max_cost"), "max_tokens": again("max_tokens"),
                    "max_time_seconds": again("max_time_seconds"),
                }),
                &["session"],
            ),
        ),
        tool(
            "team_answer",
            "Answer the open question of a session, with one of its options.",
            object(
                json!({"session": session, "answer": {"type": "string"}}),
                &["session", "answer"],
            ),
        ),
        tool(
            "discoveries",
            "Read the discovery board of a session, of one type or of all.",
            object(
                json!({"session": session, "type": {"type": "string"}}),
                &["session"],
            ),
        ),
        tool(
            "team_msg",
            "Put a message of the coordinator on a session's message bus.",
            object(
                json!({
                    "session": session,
                    "summary": {"type": "string"},
                    "type": {"type": "string", "description": "note"},
                    "to": {"type": "string", "description": "a role"},
                    "data": {},
                }),
                &["session", "summary"],
            ),
        ),
    ]
}

fn planned() -> Value {
    json!({
        "team": {"type": "string", "description": "testing, lifecycle, planex, a team file or a table: TASKS.csv"},
        "request": {"type": "string", "description": "what is wanted, in words"},
        "pipeline": {"type": "string", "description": "in place of the one that fits the request"},
        "rules": {"type": "string", "description": "for a table: the team whose rules it follows (generic)"},
        "switches": {"type": "array", "items": {"type": "string"}, "description": "switches of the team, such as no-supervision"},
    })
}

fn merged(mut properties: Value, more: &Value) -> Value {
    for (name, schema) in more.as_object().into_iter().flatten() {
        properties[name] = schema.clone();
    }
    properties
}

fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "required": required});
    schema["properties"] = properties;
    schema
}
