//! claude with `--input-format stream-json`: one process that is given one message after the other, and asks before it does
//! what its permission mode does not cover. What the policy allows is allowed at once; the rest is for somebody else to
//! answer, and so is what its model wants to know.

use serde_json::{Map, Value, json};
use wavecrew_core::engine::{Permission, Reply, WorkerRequest};

use super::Claude;
use crate::access_policy::{AccessPolicy, ToolAction};
use crate::interactive::{InteractiveProtocol, Received};
use crate::launch::Request;
use crate::stream::{AgentEvent, StreamParser, items, text};

/// The tool by which its model asks people.
const ASK: &str = "AskUserQuestion";

#[derive(Debug)]
pub(super) struct ClaudeProtocol {
    stream: StreamParser,
    policy: AccessPolicy,
    interrupts: u32,
    asked: Vec<PendingRequest>,
}

/// What it asked and was not told yet.
#[derive(Debug)]
struct PendingRequest {
    /// The id of its request.
    request: String,
    /// The arguments of the tool.
    input: Value,
    /// For its model's questions: one for each.
    answers: Vec<Option<String>>,
}

impl ClaudeProtocol {
    pub(super) fn new(request: &Request<'_>) -> Self {
        Self {
            stream: StreamParser::new(&Claude),
            policy: AccessPolicy::new(request),
            interrupts: 0,
            asked: Vec::new(),
        }
    }

    /// It waits for an answer: from us, or from whoever takes the question on.
    fn asked(&mut self, request: &str, tool: &str, input: &Value, received: &mut Received) {
        let asked = |answers| PendingRequest {
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
                received.questions.push((key(request, n), advice(question)));
            }
            return self.asked.push(asked(vec![None; questions.len()]));
        }
        match self.policy.decide(&action(tool, input)) {
            Permission::Granted => {
                received.events.clear();
                received.reply = allow(request, input);
            }
            // Not by itself: a person may know better.
            Permission::Denied => {
                received
                    .questions
                    .push((key(request, 0), request_text(tool, input)));
                self.asked.push(asked(Vec::new()));
            }
        }
    }
}

impl InteractiveProtocol for ClaudeProtocol {
    fn start_turn(&mut self, message: &str) -> String {
        // What it remembers is of one turn.
        self.stream = StreamParser::new(&Claude);
        self.asked.clear();
        let content = json!([{ "type": "text", "text": message }]);
        line(&json!({ "type": "user", "message": { "role": "user", "content": content } }))
    }

    fn read(&mut self, said: &str) -> Received {
        let mut received = Received {
            events: self.stream.line(said),
            ..Received::default()
        };
        if let [AgentEvent::Question { id, tool, input }] = &received.events[..] {
            let (id, tool, input) = (id.clone(), tool.clone(), input.clone());
            self.asked(&id, &tool, &input, &mut received);
        }
        received
    }

    fn answer(&mut self, question: &str, reply: &Reply) -> String {
        let found = self.asked.iter_mut().enumerate().find_map(|(at, asked)| {
            let places = 0..asked.answers.len().max(1);
            let n = places.into_iter().find(|n| key(&asked.request, *n) == question)?;
            Some((at, n, asked))
        });
        let Some((at, n, asked)) = found else {
            return String::new();
        };
        if let (Reply::Text(words), Some(answer)) = (reply, asked.answers.get_mut(n)) {
            *answer = Some(words.clone());
            if asked.answers.iter().any(Option::is_none) {
                return String::new();
            }
        }
        let PendingRequest {
            request,
            mut input,
            answers,
        } = self.asked.swap_remove(at);
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

/// Our name for a question: a request may hold several.
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

/// What a call of a tool does.
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
fn request_text(tool: &str, input: &Value) -> WorkerRequest {
    let telling = ["command", "file_path", "notebook_path", "url", "query"];
    let about = telling.iter().find_map(|name| input[*name].as_str());
    WorkerRequest::Permission(match about {
        Some(about) => format!("use {tool}: {about}"),
        None => format!("use {tool}"),
    })
}

fn advice(question: &Value) -> WorkerRequest {
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
    use crate::launch::Conversation;
    use std::path::Path;
    use wavecrew_core::id::ExecMode;
    use wavecrew_core::team::Access;

    fn talk(access: Access) -> ClaudeProtocol {
        ClaudeProtocol::new(&Request {
            prompt: "do it",
            mode: ExecMode::Interactive,
            access,
            model: None,
            mcp: None,
            schema: None,
            conversation: Conversation::New { id: "c" },
            project: Path::new("/project"),
            scratch: Path::new("/scratch"),
            folders: &[],
            extra: &[],
        })
    }

    fn asks(tool: &str, input: &Value) -> String {
        let request = json!({ "subtype": "can_use_tool", "tool_name": tool, "input": input });
        json!({ "type": "control_request", "request_id": "q", "request": request }).to_string()
    }

    fn told(written: &str) -> Value {
        let written: Value = serde_json::from_str(written).unwrap();
        assert_eq!(written["response"]["request_id"], "q");
        written["response"]["response"].clone()
    }

    #[test]
    fn messages_go_in_and_results_end_turns() {
        let mut talk = talk(Access::Source);
        let said: Value = serde_json::from_str(&talk.start_turn("do\nit")).unwrap();
        assert_eq!(said["message"]["content"][0]["text"], "do\nit");
        let received = talk.read(r#"{"type":"result","is_error":false,"result":"one"}"#);
        assert!(matches!(received.events.last(), Some(AgentEvent::Final { text, .. }) if text == "one"));
        assert!(received.reply.is_empty());
        assert!(talk.interrupt_turn().contains(r#""subtype":"interrupt""#));
        assert!(
            talk.read(r#"{"type":"control_response","response":{}}"#)
                .events
                .is_empty()
        );
    }

    #[test]
    fn what_the_policy_allows_is_allowed_at_once() {
        let fetch = json!({ "url": "http://x", "prompt": "p" });
        let received = talk(Access::ReadOnly).read(&asks("WebFetch", &fetch));
        let answer = told(&received.reply);
        assert_eq!(
            (&answer["behavior"], &answer["updatedInput"]),
            (&"allow".into(), &fetch)
        );
        assert!(
            received.events.is_empty() && received.questions.is_empty(),
            "{received:?}"
        );
    }

    #[test]
    fn what_it_does_not_allow_is_answered_once_by_somebody_else() {
        let mut talk = talk(Access::ReadOnly);
        for (permission, behavior) in [(Permission::Denied, "deny"), (Permission::Granted, "allow")] {
            let received = talk.read(&asks("Bash", &json!({ "command": "touch x" })));
            assert!(matches!(received.events[..], [AgentEvent::Question { .. }]));
            let [(key, request_text)] = &received.questions[..] else {
                panic!("{received:?}")
            };
            assert_eq!(
                *request_text,
                WorkerRequest::Permission("use Bash: touch x".to_owned())
            );
            let reply = Reply::Permission(permission);
            assert_eq!(told(&talk.answer(key, &reply))["behavior"], behavior);
            assert_eq!(talk.answer(key, &reply), "");
        }
    }

    #[test]
    fn questions_of_its_model_are_answered_when_all_are() {
        let mut talk = talk(Access::Source);
        let questions = json!([
            { "question": "Which?", "options": [{ "label": "this" }, { "label": "that" }] },
            { "question": "When?", "options": [] },
        ]);
        let received = talk.read(&asks(ASK, &json!({ "questions": questions })));
        assert!(received.events.is_empty() && received.reply.is_empty());
        let keys: Vec<&str> = received.questions.iter().map(|(key, _)| key.as_str()).collect();
        let options = vec!["this".to_owned(), "that".to_owned()];
        let question = "Which?".to_owned();
        assert_eq!(
            received.questions[0].1,
            WorkerRequest::Question { question, options }
        );
        assert_eq!(talk.answer(keys[1], &Reply::Text("now".to_owned())), "");
        let answer = told(&talk.answer(keys[0], &Reply::Text("that".to_owned())));
        assert_eq!(answer["behavior"], "allow");
        let input = &answer["updatedInput"];
        assert_eq!(input["answers"], json!({ "Which?": "that", "When?": "now" }));
        assert_eq!(input["questions"], questions);
    }
}
