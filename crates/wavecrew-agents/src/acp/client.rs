//! The client side of the protocol, without I/O: initialises, opens or resumes a session, prompts, answers requests. Offers
//! no files and no terminals, so that an agent uses its own.

use serde_json::{Value, json};
use wavecrew_core::engine::{Permission, Reply, WorkerRequest};

use super::calls::{action, choice, describe};
use super::updates::SessionUpdates;
use crate::access_policy::AccessPolicy;
use crate::interactive::{InteractiveProtocol, Received};
use crate::launch::{Conversation, McpServer, Request};
use crate::stream::{AgentEvent, FailKind, Failure, ParserState, items, owned, text};

const VERSION: u64 = 1;
/// Codes of errors.
const METHOD_NOT_FOUND: i64 = -32601;
const AUTH_REQUIRED: i64 = -32000;

#[derive(Debug)]
pub(super) struct Client {
    /// The parameters with which a session is opened.
    opening: Value,
    resume: Option<String>,
    model: Option<String>,
    policy: AccessPolicy,
    stage: Stage,
    session: String,
    /// The agent's answer to `initialize`.
    agent_info: Value,
    /// To send once the session is open.
    message: Option<String>,
    last_id: u64,
    state: ParserState,
    updates: SessionUpdates,
    /// What to write to the agent.
    outgoing: String,
    /// Permissions that the agent waits for: the id and the parameters of its request.
    unanswered: Vec<(Value, Value)>,
    /// Those that are not passed on yet.
    requests: Vec<(String, WorkerRequest)>,
    /// The name of our own MCP server.
    tools: Option<String>,
}

/// The stage of the session, with the id of our request that the agent answers next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent yet, or no session could be opened.
    Fresh,
    Initialising(u64),
    Opening(u64, Manner),
    ChoosingModel(u64),
    /// Between turns.
    Open,
    Prompting(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    New,
    /// The agent repeats the conversation so far.
    Resumed,
}

impl Client {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let servers: Vec<Value> = request.mcp.iter().map(|server| mcp_server(server)).collect();
        Self {
            opening: json!({ "cwd": request.project, "mcpServers": servers }),
            resume: match request.conversation {
                Conversation::New { .. } => None,
                Conversation::Resume { id } => Some(id.to_owned()),
            },
            model: request.model.map(str::to_owned),
            policy: AccessPolicy::new(request),
            stage: Stage::Fresh,
            session: String::new(),
            agent_info: Value::Null,
            message: None,
            last_id: 0,
            state: ParserState::default(),
            updates: SessionUpdates::default(),
            outgoing: String::new(),
            unanswered: Vec::new(),
            requests: Vec::new(),
            tools: request.mcp.map(|server| server.name.clone()),
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn send(&mut self, message: &Value) {
        self.outgoing.push_str(&format!("{message}\n"));
    }

    fn take_outgoing(&mut self) -> String {
        std::mem::take(&mut self.outgoing)
    }

    fn initialise(&mut self) {
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "wavecrew", "version": env!("CARGO_PKG_VERSION") },
        });
        self.stage = Stage::Initialising(self.request("initialize", &params));
    }

    fn initialised(&mut self, result: &Value) {
        self.agent_info = result.clone();
        let version = &result["protocolVersion"];
        if *version != VERSION {
            let message = format!("it speaks version {version} of the protocol, wavecrew speaks {VERSION}");
            return self.fail(Failure::of_kind(FailKind::Other, &message));
        }
        let can = &result["agentCapabilities"];
        let resume_method = if can["sessionCapabilities"]["resume"].is_object() {
            Some("session/resume")
        } else if can["loadSession"] == true {
            Some("session/load")
        } else {
            None
        };
        match (self.resume.clone(), resume_method) {
            (Some(id), Some(method)) => {
                let mut params = self.opening.clone();
                params["sessionId"] = id.into();
                self.stage = Stage::Opening(self.request(method, &params), Manner::Resumed);
            }
            (None, _) | (Some(_), None) => self.open_new(),
        }
    }

    fn open_new(&mut self) {
        self.resume = None;
        let params = self.opening.clone();
        self.stage = Stage::Opening(self.request("session/new", &params), Manner::New);
    }

    fn opened(&mut self, result: &Value) {
        self.session = match (&self.resume, result["sessionId"].as_str()) {
            (_, Some(id)) => id.to_owned(),
            (Some(id), None) => id.clone(),
            (None, None) => {
                let message = "it opened a session without a name";
                return self.fail(Failure::of_kind(FailKind::Other, message));
            }
        };
        let model = self.model.clone().or_else(|| current_model(result));
        let version = owned(&self.agent_info["agentInfo"]["version"]);
        self.state.started(&self.session, model, version);
        let Some(model) = self.model.clone() else {
            return self.prompt();
        };
        let session = self.session.clone();
        let id = match model_option(result) {
            Some(option) => {
                let params = json!({ "sessionId": session, "configId": option["id"], "value": model });
                self.request("session/set_config_option", &params)
            }
            None => self.request(
                "session/set_model",
                &json!({ "sessionId": session, "modelId": model }),
            ),
        };
        self.stage = Stage::ChoosingModel(id);
    }

    fn prompt(&mut self) {
        let Some(message) = self.message.take() else {
            self.stage = Stage::Open;
            let message = "the turn was interrupted before it started";
            return self.state.failed(Failure::of_kind(FailKind::Other, message));
        };
        self.updates.start_turn();
        self.state.start_turn();
        let params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": message }] });
        self.stage = Stage::Prompting(self.request("session/prompt", &params));
    }

    fn fail(&mut self, failure: Failure) {
        self.stage = Stage::Fresh;
        self.message = None;
        self.state.failed(failure);
    }

    /// The answer to a request of ours.
    fn answered(&mut self, id: &Value, outcome: Result<&Value, &Value>) {
        match (self.stage, outcome) {
            (Stage::Initialising(due), Ok(result)) if *id == due => self.initialised(result),
            (Stage::Opening(due, _), Ok(result)) if *id == due => self.opened(result),
            // It has lost the session: a new one.
            (Stage::Opening(due, Manner::Resumed), Err(_)) if *id == due => self.open_new(),
            (Stage::Opening(due, Manner::New), Err(error)) if *id == due => {
                let failure = self.not_opened(error);
                self.fail(failure);
            }
            (Stage::ChoosingModel(due), Ok(_)) if *id == due => self.prompt(),
            (Stage::ChoosingModel(due), Err(error)) if *id == due => {
                let model = self.model.clone().unwrap_or_default();
                let message = format!("it does not accept the model `{model}`: {}", error_message(error));
                self.fail(Failure::of_kind(FailKind::BadRequest, &message));
            }
            (Stage::Prompting(due), Ok(result)) if *id == due => {
                self.stage = Stage::Open;
                self.updates.turn_ended(result, &mut self.state);
            }
            (Stage::Prompting(due), Err(error)) if *id == due => {
                self.stage = Stage::Open;
                self.state.failed(failure_of(error));
            }
            (Stage::Initialising(due), Err(error)) if *id == due => self.fail(failure_of(error)),
            (
                Stage::Fresh
                | Stage::Initialising(_)
                | Stage::Opening(..)
                | Stage::ChoosingModel(_)
                | Stage::Open
                | Stage::Prompting(_),
                _,
            ) => self.state.unknown("response"),
        }
    }

    /// Most agents that open no session need a login, and list the ways to log in.
    fn not_opened(&self, error: &Value) -> Failure {
        if error["code"] != AUTH_REQUIRED {
            return failure_of(error);
        }
        let methods = items(&self.agent_info, "authMethods").iter();
        let methods: Vec<&str> = methods
            .map(|method| match text(method, "description") {
                "" => text(method, "name"),
                description => description,
            })
            .collect();
        let mut message = format!("it needs a login: {}", error_message(error));
        if !methods.is_empty() {
            message = format!("{message} (ways to log in: {})", methods.join("; "));
        }
        Failure::of_kind(FailKind::Auth, &message)
    }

    /// A request of the agent.
    fn asked(&mut self, id: &Value, method: &str, params: &Value) {
        if method != "session/request_permission" {
            self.state.unknown(method);
            let error =
                json!({ "code": METHOD_NOT_FOUND, "message": format!("wavecrew does not offer {method}") });
            return self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        let call = &params["toolCall"];
        self.updates.tool(call, &mut self.state);
        match self.policy.decide(&action(call, self.tools.as_deref())) {
            Permission::Granted => self.permit(id, params, Some(Permission::Granted)),
            // A person may still allow it.
            Permission::Denied => {
                self.unanswered.push((id.clone(), params.clone()));
                let tool = describe(call);
                self.requests
                    .push((request_key(id), WorkerRequest::Permission(tool.clone())));
                self.state.push(AgentEvent::Question {
                    id: request_key(id),
                    tool,
                    input: call["rawInput"].clone(),
                });
            }
        }
    }

    /// Answers a request for permission; `None` because the turn ends.
    fn permit(&mut self, id: &Value, params: &Value, permission: Option<Permission>) {
        let call = &params["toolCall"];
        if permission == Some(Permission::Denied) {
            self.state.denied(text(call, "toolCallId"), text(call, "title"));
        }
        let option = permission.and_then(|permission| choice(permission, params));
        let outcome = match option {
            Some(option) => json!({ "outcome": "selected", "optionId": option }),
            None => json!({ "outcome": "cancelled" }),
        };
        let result = json!({ "outcome": outcome });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn notified(&mut self, method: &str, params: &Value) {
        match (method, self.stage) {
            // The conversation so far, repeated.
            ("session/update", Stage::Opening(_, Manner::Resumed)) => {}
            ("session/update", _) => self.updates.read(&params["update"], &mut self.state),
            (other, _) => self.state.unknown(other),
        }
    }
}

impl InteractiveProtocol for Client {
    fn start_turn(&mut self, message: &str) -> String {
        self.message = Some(message.to_owned());
        match self.stage {
            Stage::Fresh => self.initialise(),
            Stage::Open => self.prompt(),
            // No message comes during a turn; before the first one, it waits until the session is open.
            Stage::Initialising(_) | Stage::Opening(..) | Stage::ChoosingModel(_) | Stage::Prompting(_) => {}
        }
        self.take_outgoing()
    }

    fn read(&mut self, line: &str) -> Received {
        let line = line.trim();
        if line.is_empty() {
            return Received::default();
        }
        match serde_json::from_str::<Value>(line) {
            Ok(value) if value.is_object() => match (value["method"].as_str(), value.get("id")) {
                (Some(method), Some(id)) => self.asked(id, method, &value["params"]),
                (Some(method), None) => self.notified(method, &value["params"]),
                (None, Some(id)) => {
                    let error = value.get("error").filter(|error| !error.is_null());
                    self.answered(id, error.map_or(Ok(&value["result"]), Err));
                }
                (None, None) => self.state.unknown("message"),
            },
            // Warnings and banners appear between the messages.
            Ok(_) | Err(_) => self.state.unknown("text"),
        }
        Received {
            events: self.state.take(),
            reply: self.take_outgoing(),
            requests: std::mem::take(&mut self.requests),
        }
    }

    fn answer(&mut self, key: &str, reply: &Reply) -> String {
        let permission = match reply {
            Reply::Permission(permission) => *permission,
            // It asks for nothing else.
            Reply::Text(_) => return String::new(),
        };
        if let Some(at) = self.unanswered.iter().position(|(id, _)| request_key(id) == key) {
            let (id, params) = self.unanswered.swap_remove(at);
            self.permit(&id, &params, Some(permission));
        }
        self.take_outgoing()
    }

    fn interrupt_turn(&mut self) -> String {
        self.message = None;
        for (id, params) in std::mem::take(&mut self.unanswered) {
            self.permit(&id, &params, None);
        }
        if let Stage::Prompting(_) = self.stage {
            let params = json!({ "sessionId": self.session });
            self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
        }
        self.take_outgoing()
    }
}

/// Our key for a request of the agent.
fn request_key(id: &Value) -> String {
    id.to_string()
}

fn mcp_server(server: &McpServer) -> Value {
    let env = server.env.iter();
    let env: Vec<Value> = env
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    json!({ "name": server.name, "command": server.command, "args": server.args, "env": env })
}

fn current_model(session: &Value) -> Option<String> {
    let by_option = || owned(&model_option(session)?["currentValue"]);
    owned(&session["models"]["currentModelId"]).or_else(by_option)
}

/// The option that sets the model, if the agent has one.
fn model_option(session: &Value) -> Option<&Value> {
    let mut options = items(session, "configOptions").iter();
    options.find(|option| text(option, "category") == "model")
}

/// The message of an error, with the message of the service.
fn error_message(error: &Value) -> String {
    let general = text(error, "message");
    let data = &error["data"];
    let detail = [
        &data["message"],
        &data["details"],
        &data["error"]["message"],
        data,
    ];
    match detail.into_iter().find_map(Value::as_str) {
        Some(detail) if detail != general => format!("{general}: {detail}"),
        Some(_) | None => general.to_owned(),
    }
}

fn failure_of(error: &Value) -> Failure {
    // Some agents use the status of their service as the code.
    let code = error["code"].as_i64();
    let status = code.and_then(|code| u16::try_from(code).ok());
    // 500 also stands for a missing connection; the message shows which it is.
    let status = status.filter(|status| (400..600).contains(status) && *status != 500);
    match code {
        Some(AUTH_REQUIRED) => Failure::of_kind(FailKind::Auth, &error_message(error)),
        Some(METHOD_NOT_FOUND) => {
            let message = format!(
                "it does not speak the Agent Client Protocol: {}",
                error_message(error)
            );
            Failure::of_kind(FailKind::Other, &message)
        }
        Some(_) | None => Failure::new(status, &error_message(error)),
    }
}
