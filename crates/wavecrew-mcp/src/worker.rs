//! The tools of one worker: everything in them is scoped to its task, attempt and token.

use crate::answer::{arguments, failure, implementation, no_such_tool, structured, tool};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io;
use wavecrew_core::team::Team;
use wavecrew_run::worker_commands::{POLL, Refused, WorkerCommands};

/// Serves the tools of this worker until its agent goes away.
pub fn serve(worker: WorkerCommands) -> io::Result<()> {
    crate::serve(WorkerServer { worker })
}

struct WorkerServer {
    worker: WorkerCommands,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Discover {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadDiscoveries {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Say {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    data: Value,
    to: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskPerson {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wisdom {
    file: String,
    text: String,
}

impl WorkerServer {
    fn call(&self, name: &str, given: Option<JsonObject>) -> Result<CallToolResponse, ErrorData> {
        let answer = match name {
            "report_agent_job_result" => Ok(accepted(self.worker.report(&body_of(given)))),
            "discover" => {
                arguments(given).map(
                    |Discover { kind, data }| match self.worker.discover(&kind, data) {
                        Ok(unusual) if !unusual.is_empty() => {
                            structured(json!({"accepted": true, "notes": unusual}))
                        }
                        other => accepted(other.map(drop)),
                    },
                )
            }
            "read_discoveries" => arguments(given).map(|ReadDiscoveries { kind }| {
                match self.worker.discoveries(kind.as_deref()) {
                    Ok(entries) => structured(json!({"discoveries": entries})),
                    Err(error) => failure(error.to_string()),
                }
            }),
            "message" => arguments(given).map(|say: Say| {
                let to = say.to.as_deref();
                accepted(self.worker.message(&say.kind, &say.summary, say.data, to))
            }),
            "wisdom" => {
                arguments(given).map(|Wisdom { file, text }| accepted(self.worker.wisdom(&file, &text)))
            }
            other => return Err(no_such_tool(other)),
        };
        Ok(answer.unwrap_or_else(|problem| failure(format!("{name}: {problem}"))))
    }
}

/// Asks, and lets other calls through until the answer is there.
async fn ask(worker: &WorkerCommands, given: Option<JsonObject>) -> CallToolResponse {
    let asked = arguments(given).map(|AskPerson { question, options }| worker.ask(&question, options));
    let waiting = match asked {
        Ok(Ok(waiting)) => waiting,
        Ok(Err(error)) => return failure(error.to_string()),
        Err(problem) => return failure(format!("ask: {problem}")),
    };
    loop {
        match waiting.poll() {
            Ok(Some(answer)) => return structured(json!({"answer": answer})),
            Ok(None) => tokio::time::sleep(POLL).await,
            Err(error) => return failure(format!("{error}; {}", error.help())),
        }
    }
}

/// The report is the arguments themselves, or stands in `result` with nothing but itself around it.
fn body_of(given: Option<JsonObject>) -> String {
    let mut given = given.unwrap_or_default();
    // Some models write objects as text.
    if let Some(Value::String(text)) = given.get("result")
        && let Ok(Value::Object(result)) = serde_json::from_str(text)
    {
        given.insert("result".into(), Value::Object(result));
    }
    let named = ["id", "item_id", "status"]
        .iter()
        .any(|name| given.contains_key(*name));
    match given.get("result") {
        Some(Value::Object(result)) if !named && result.contains_key("status") => {
            Value::Object(result.clone()).to_string()
        }
        Some(_) | None => Value::Object(given).to_string(),
    }
}

fn accepted(outcome: Result<(), Refused>) -> CallToolResponse {
    match outcome {
        Ok(()) => structured(json!({"accepted": true})),
        Err(error) => {
            structured(json!({"accepted": false, "reason": error.to_string(), "help": error.help()}))
        }
    }
}

impl ServerHandler for WorkerServer {
    fn get_info(&self) -> ServerConfig {
        let task = &self.worker.who.task;
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation())
            .with_instructions(format!(
                "You are the worker of task `{task}`. When it is done, call report_agent_job_result once."
            ))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools(
            &self.worker.team,
            &self.worker.who.task,
        )))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            "ask" => Ok(ask(&self.worker, request.arguments).await),
            name => self.call(name, request.arguments),
        }
    }
}

fn tools(team: &Team, task: &str) -> Vec<Tool> {
    let types: Vec<&str> = team.discoveries.iter().map(|kind| kind.name.as_str()).collect();
    let text = json!({"type": "string"});
    let mut report = team.report_schema();
    let properties = &mut report["properties"];
    properties["id"] = json!({"type": "string", "description": format!("always {task}")});
    properties["job_id"] = text.clone();
    properties["item_id"] = json!({"type": "string", "description": "the same as id"});
    if properties.get("result").is_none() {
        properties["result"] =
            json!({"type": "object", "description": "the report, if it is given as one object"});
    }
    properties["stop"] = json!({"type": "boolean", "description": "true ends the whole job early"});
    // Which of them are there depends on the shape; the report itself is checked when it comes.
    let report = json!({"type": "object", "properties": properties});
    let kind = json!({"type": "string", "description": format!("one of: {}", types.join(", "))});
    vec![
        tool(
            "report_agent_job_result",
            format!(
                "Report the result of task {task}, once, when it is done. Give id, status (completed or failed), \
                 findings and error, or job_id, item_id and result. A report that is not accepted can be corrected and \
                 sent again."
            ),
            report,
        ),
        tool(
            "discover",
            "Put something on the discovery board that other workers should know.",
            json!({
                "type": "object",
                "properties": {"type": kind, "data": {"type": "object"}},
                "required": ["type", "data"],
            }),
        ),
        tool(
            "read_discoveries",
            "Read the discovery board, of one type or of all.",
            json!({"type": "object", "properties": {"type": kind}}),
        ),
        tool(
            "message",
            "Send a message to the coordinator; the type `state_update` sets the fields in data.",
            json!({
                "type": "object",
                "properties": {"type": text, "summary": text, "data": {}, "to": text},
                "required": ["type", "summary"],
            }),
        ),
        tool(
            "ask",
            "Ask the person behind this run when a decision is not yours to make, and wait for the answer, for up to two \
             minutes. When nobody is there the answer says so: decide then, and say so in your findings.",
            json!({
                "type": "object",
                "properties": {
                    "question": text,
                    "options": {"type": "array", "items": text, "description": "answers to choose from, if there are any"},
                },
                "required": ["question"],
            }),
        ),
        tool(
            "wisdom",
            "Write down what matters beyond this task.",
            json!({
                "type": "object",
                "properties": {
                    "file": {"type": "string", "enum": ["learnings", "decisions", "conventions", "issues"]},
                    "text": text,
                },
                "required": ["file", "text"],
            }),
        ),
    ]
}
