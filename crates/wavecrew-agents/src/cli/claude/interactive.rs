//! claude with `--input-format stream-json`: one process for all messages, which asks for permission. What the policy allows
//! is allowed at once. Other permissions and the questions of its model go to the run.

use serde_json::{Map, Value, json};
use wavecrew_core::engine::{Permission, Reply, WorkerRequest};

use super::Claude;
use crate::access_policy::{AccessPolicy, ToolAction};
use crate::interactive::{InteractiveProtocol, Received};
use crate::launch::Request;
use crate::stream::{AgentEvent, StreamParser, items, text};

/// The tool with which its model asks a person.
const ASK: &str = "AskUserQuestion";

#[derive(Debug)]
pub(super) struct ClaudeProtocol {
    stream: StreamParser,
    policy: AccessPolicy,
    interrupts: u32,
    pending: Vec<PendingRequest>,
}

/// A request without an answer.
#[derive(Debug)]
struct PendingRequest {
    /// The id of its request.
    request: String,
    /// The arguments of the tool.
    input: Value,
    /// One for each question of its model.
    answers: Vec<Option<String>>,
}

impl ClaudeProtocol {
    pub(super) fn new(request: &Request<'_>) -> Self {
        Self {
            stream: StreamParser::new(&Claude),
            policy: AccessPolicy::new(request),
            interrupts: 0,
            pending: Vec::new(),
        }
    }

    /// Answers a request, or passes it on.
    fn handle_request(&mut self, request: &str, tool: &str, input: &Value, received: &mut Received) {
        let pending = |answers| PendingRequest {
            request: request.to_owned(),
            input: input.clone(),
            answers,
        };
        if tool == ASK {
            received.events.clear();
            let questions = items(input, "questions");
            if questions.is_empty() {
                received.reply = allow(request, input);
                return;
            }
            for (n, question) in questions.iter().enumerate() {
                received
                    .requests
                    .push((key(request, n), worker_question(question)));
            }
            return self.pending.push(pending(vec![None; questions.len()]));
        }
        match self.policy.decide(&action(tool, input)) {
            Permission::Granted => {
                received.events.clear();
                received.reply = allow(request, input);
            }
            // A person may still allow it.
            Permission::Denied => {
                received
                    .requests
                    .push((key(request, 0), permission_request(tool, input)));
                self.pending.push(pending(Vec::new()));
            }
        }
    }
}

impl InteractiveProtocol for ClaudeProtocol {
    fn start_turn(&mut self, message: &str) -> String {
        self.stream = StreamParser::new(&Claude);
        self.pending.clear();
        let content = json!([{ "type": "text", "text": message }]);
        line(&json!({ "type": "user", "message": { "role": "user", "content": content } }))
    }

    fn read(&mut self, output: &str) -> Received {
        let mut received = Received {
            events: self.stream.line(output),
            ..Received::default()
        };
        if let [AgentEvent::Question { id, tool, input }] = &received.events[..] {
            let (id, tool, input) = (id.clone(), tool.clone(), input.clone());
            self.handle_request(&id, &tool, &input, &mut received);
        }
        received
    }

    fn answer(&mut self, question: &str, reply: &Reply) -> String {
        let found = self.pending.iter_mut().enumerate().find_map(|(at, pending)| {
            let numbers = 0..pending.answers.len().max(1);
            let n = numbers
                .into_iter()
                .find(|n| key(&pending.request, *n) == question)?;
            Some((at, n, pending))
        });
        let Some((at, n, pending)) = found else {
            return String::new();
        };
        if let (Reply::Text(text), Some(answer)) = (reply, pending.answers.get_mut(n)) {
            *answer = Some(text.clone());
            if pending.answers.iter().any(Option::is_none) {
                return String::new();
            }
        }
        let PendingRequest {
            request,
            mut input,
            answers,
        } = self.pending.swap_remove(at);
        match reply {
            Reply::Permission(Permission::Granted) => allow(&request, &input),
            Reply::Permission(Permission::Denied) => {
                let denial = json!({ "behavior": "deny", "message": "This worker may not do that." });
                response(&request, &denial)
            }
            Reply::Text(_) => {
                let questions = items(&input, "questions").iter();
                let asked = questions.map(|question| text(question, "question").to_owned());
                let answers = answers.into_iter().flatten().map(Value::from);
                let answers: Map<String, Value> = asked.zip(answers).collect();
                input["answers"] = answers.into();
                allow(&request, &input)
            }
        }
    }

    fn interrupt_turn(&mut self) -> String {
        self.interrupts += 1;
        let id = format!("interrupt-{}", self.interrupts);
        line(&json!({ "type": "control_request", "request_id": id, "request": { "subtype": "interrupt" } }))
    }
}

/// Our key for a question: a request may contain several.
fn key(request: &str, n: usize) -> String {
    format!("{request} {n}")
}

fn allow(request: &str, input: &Value) -> String {
    response(request, &json!({ "behavior": "allow", "updatedInput": input }))
}

fn response(request: &str, answer: &Value) -> String {
    let response = json!({ "subtype": "success", "request_id": request, "response": answer });
    line(&json!({ "type": "control_response", "response": response }))
}

/// The action of a tool call.
fn action(tool: &str, input: &Value) -> ToolAction {
    let path = ["file_path", "notebook_path"]
        .iter()
        .find_map(|name| input[*name].as_str());
    match tool {
        "Edit" | "Write" | "NotebookEdit" => ToolAction::Write(path.map(str::to_owned).into_iter().collect()),
        "Bash" | "Monitor" => ToolAction::Run,
        "EnterPlanMode" | "ExitPlanMode" => ToolAction::SwitchMode,
        _ => ToolAction::Other,
    }
}

/// The same for a person.
fn permission_request(tool: &str, input: &Value) -> WorkerRequest {
    let describing = ["command", "file_path", "notebook_path", "url", "query"];
    let about = describing.iter().find_map(|name| input[*name].as_str());
    WorkerRequest::Permission(match about {
        Some(about) => format!("use {tool}: {about}"),
        None => format!("use {tool}"),
    })
}

fn worker_question(question: &Value) -> WorkerRequest {
    let options = items(question, "options").iter();
    WorkerRequest::Question {
        question: text(question, "question").to_owned(),
        options: options.map(|option| text(option, "label").to_owned()).collect(),
    }
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wavecrew_core::team::Access;

    fn protocol(access: Access) -> ClaudeProtocol {
        ClaudeProtocol::new(&Request {
            access,
            ..Request::new("do it", Path::new("/project"), Path::new("/scratch"))
        })
    }

    fn request(tool: &str, input: &Value) -> String {
        let request = json!({ "subtype": "can_use_tool", "tool_name": tool, "input": input });
        json!({ "type": "control_request", "request_id": "q", "request": request }).to_string()
    }

    fn response_in(written: &str) -> Value {
        let written: Value = serde_json::from_str(written).unwrap();
        assert_eq!(written["response"]["request_id"], "q");
        written["response"]["response"].clone()
    }

    #[test]
    fn a_message_starts_a_turn_and_a_result_ends_it() {
        let mut protocol = protocol(Access::Source);
        let written: Value = serde_json::from_str(&protocol.start_turn("do\nit")).unwrap();
        assert_eq!(written["message"]["content"][0]["text"], "do\nit");
        let received = protocol.read(r#"{"type":"result","is_error":false,"result":"one"}"#);
        assert!(matches!(received.events.last(), Some(AgentEvent::Final { text, .. }) if text == "one"));
        assert!(received.reply.is_empty());
        assert!(protocol.interrupt_turn().contains(r#""subtype":"interrupt""#));
        assert!(
            protocol
                .read(r#"{"type":"control_response","response":{}}"#)
                .events
                .is_empty()
        );
    }

    #[test]
    fn actions_that_the_policy_allows_are_allowed_at_once() {
        let fetch = json!({ "url": "http://x", "prompt": "p" });
        let received = protocol(Access::ReadOnly).read(&request("WebFetch", &fetch));
        let answer = response_in(&received.reply);
        assert_eq!(
            (&answer["behavior"], &answer["updatedInput"]),
            (&"allow".into(), &fetch)
        );
        assert!(
            received.events.is_empty() && received.requests.is_empty(),
            "{received:?}"
        );
    }

    #[test]
    fn other_actions_wait_for_an_answer_which_counts_once() {
        let mut protocol = protocol(Access::ReadOnly);
        for (permission, behavior) in [(Permission::Denied, "deny"), (Permission::Granted, "allow")] {
            let received = protocol.read(&request("Bash", &json!({ "command": "touch x" })));
            assert!(matches!(received.events[..], [AgentEvent::Question { .. }]));
            let [(key, wanted)] = &received.requests[..] else {
                panic!("{received:?}")
            };
            assert_eq!(*wanted, WorkerRequest::Permission("use Bash: touch x".to_owned()));
            let reply = Reply::Permission(permission);
            assert_eq!(response_in(&protocol.answer(key, &reply))["behavior"], behavior);
            assert_eq!(protocol.answer(key, &reply), "");
        }
    }

    #[test]
    fn questions_of_the_model_are_answered_together() {
        let mut protocol = protocol(Access::Source);
        let questions = json!([
            { "question": "Which?", "options": [{ "label": "this" }, { "label": "that" }] },
            { "question": "When?", "options": [] },
        ]);
        let received = protocol.read(&request(ASK, &json!({ "questions": questions })));
        assert!(received.events.is_empty() && received.reply.is_empty());
        let keys: Vec<&str> = received.requests.iter().map(|(key, _)| key.as_str()).collect();
        let options = vec!["this".to_owned(), "that".to_owned()];
        let question = "Which?".to_owned();
        assert_eq!(
            received.requests[0].1,
            WorkerRequest::Question { question, options }
        );
        assert_eq!(protocol.answer(keys[1], &Reply::Text("now".to_owned())), "");
        let answer = response_in(&protocol.answer(keys[0], &Reply::Text("that".to_owned())));
        assert_eq!(answer["behavior"], "allow");
        let input = &answer["updatedInput"];
        assert_eq!(input["answers"], json!({ "Which?": "that", "When?": "now" }));
        assert_eq!(input["questions"], questions);
    }
}
