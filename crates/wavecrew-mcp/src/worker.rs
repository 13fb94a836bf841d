//! The tools of one worker: everything in them is scoped to its task, attempt and token.

use crate::answer::{arguments, failure, implementation, no_such_tool, structured};
use crate::schema::tool;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io;
use std::sync::Arc;
use wavecrew_core::team::Team;
use wavecrew_run::worker_commands::{POLL, Refused, WorkerCommands};
use wavecrew_session::WisdomFile;

/// Serves the tools of this worker until its agent goes away.
pub fn serve(worker: WorkerCommands) -> io::Result<()> {
    crate::serve(WorkerServer { worker })
}

struct WorkerServer {
    worker: WorkerCommands,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["type", "data"]))]
struct Discover {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::any_object")]
    data: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadDiscoveries {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["type", "summary"]))]
struct SendMessage {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    data: Value,
    to: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskPerson {
    question: String,
    /// Answers to choose from, if there are any.
    #[serde(default)]
    options: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wisdom {
    #[schemars(schema_with = "wisdom_file")]
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
            "message" => arguments(given).map(|message: SendMessage| {
                let to = message.to.as_deref();
                accepted(
                    self.worker
                        .message(&message.kind, &message.summary, message.data, to),
                )
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
    let types = format!("one of: {}", types.join(", "));
    vec![
        Tool::new(
            "report_agent_job_result",
            format!(
                "Report the result of task {task}, once, when it is done. Give id, status (completed or failed), \
                 findings and error, or job_id, item_id and result. You can correct a report that is not accepted and \
                 send it again."
            ),
            Arc::new(report_schema(team, task)),
        ),
        with_types(
            tool::<Discover>(
                "discover",
                "Add an entry to the discovery board that other workers should know.",
            ),
            &types,
        ),
        with_types(
            tool::<ReadDiscoveries>(
                "read_discoveries",
                "Read the discovery board, of one type or of all.",
            ),
            &types,
        ),
        tool::<SendMessage>(
            "message",
            "Send a message to the coordinator; the type `state_update` sets the fields in data.",
        ),
        tool::<AskPerson>(
            "ask",
            "Ask the person who runs this session when a decision is not yours to make, and wait up to two minutes for the \
             answer. If nobody can answer, the answer states that: then decide yourself and mention it in your findings.",
        ),
        tool::<Wisdom>("wisdom", "Record a lesson for later workers."),
    ]
}

/// The report itself is checked when it comes: which fields are there depends on its form.
fn report_schema(team: &Team, task: &str) -> JsonObject {
    let mut properties = team.report_schema()["properties"].take();
    properties["id"] = json!({"type": "string", "description": format!("always {task}")});
    properties["job_id"] = json!({"type": "string"});
    properties["item_id"] = json!({"type": "string", "description": "the same as id"});
    if properties.get("result").is_none() {
        properties["result"] =
            json!({"type": "object", "description": "the report, if it is given as one object"});
    }
    properties["stop"] = json!({"type": "boolean", "description": "true ends the whole job early"});
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties);
    schema
}

/// Describes the argument `type` with the types of the team.
fn with_types(mut tool: Tool, types: &str) -> Tool {
    let schema = Arc::make_mut(&mut tool.input_schema);
    schema["properties"]["type"]["description"] = types.into();
    tool
}

fn wisdom_file(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": WisdomFile::ALL.map(WisdomFile::name)})
}
