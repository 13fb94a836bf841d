//! The script in a prompt, and the place of a conversation in it. Pure; the dialects bring the conversation.
//!
//! ```text
//! @@tool NAME {json}   call this tool, one line per request of the turn
//! @@shell COMMAND      run this by whatever tool runs commands among those offered
//! @@custom NAME text   call a free-form tool (`\n` is a line break); other dialects see a tool with one `input`
//! @@final TEXT         the answer that ends the turn; without one it is "done"
//! @@next               what follows is for the next turn, when its message brings no script of its own
//! ```

use serde_json::{Value, json};

/// A line of a conversation, as far as a script cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Text of the user's side.
    User(String),
    /// The result of a tool call.
    ToolResult,
    /// An answer of the model that ended a turn.
    Answer,
}

/// What a request asks for, whatever its dialect.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    pub model: String,
    pub messages: Vec<Message>,
    pub tools: Vec<String>,
    /// The tools named are not all there are, so any may be called.
    pub open_tools: bool,
    pub stream: bool,
}

/// What the model does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A call, with its arguments as written.
    Tool {
        name: String,
        arguments: String,
    },
    Custom {
        name: String,
        input: String,
    },
    Final(String),
}

/// A call as the script has it.
#[derive(Debug)]
enum Call {
    Step(Step),
    /// A command line, for a tool that is yet to be chosen.
    Shell(String),
}

/// Tools that run commands, and the argument that takes the command.
const SHELLS: &[(&str, &str)] = &[
    ("exec_command", "cmd"),
    ("Bash", "command"),
    ("run_shell_command", "command"),
    ("bash", "command"),
    ("shell", "command"),
    ("developer__shell", "command"),
];

impl Step {
    /// Name and arguments as JSON for dialects that know only one kind of call.
    pub fn as_call(&self) -> Option<(&str, Value)> {
        match self {
            Self::Tool { name, arguments } => Some((
                name,
                serde_json::from_str(arguments).unwrap_or_else(|_| json!({})),
            )),
            Self::Custom { name, input } => Some((name, json!({ "input": input }))),
            Self::Final(_) => None,
        }
    }

    fn tool_name(&self) -> Option<&str> {
        match self {
            Self::Tool { name, .. } | Self::Custom { name, .. } => Some(name),
            Self::Final(_) => None,
        }
    }
}

impl Call {
    /// The call, of one of these tools if it is a command that any may run.
    fn of(&self, tools: &[String]) -> Step {
        let command = match self {
            Self::Step(step) => return step.clone(),
            Self::Shell(command) => command,
        };
        let offered = |(name, _): &&(&str, &str)| tools.iter().any(|tool| tool == name);
        let (name, argument) = SHELLS.iter().find(offered).unwrap_or(&SHELLS[0]);
        let mut arguments = json!({ *argument: command });
        match *name {
            "Bash" | "bash" => arguments["description"] = "as told".into(),
            "run_shell_command" => arguments["is_background"] = false.into(),
            _ => {}
        }
        Step::Tool {
            name: (*name).to_owned(),
            arguments: arguments.to_string(),
        }
    }
}

#[derive(Debug, Default)]
struct Turn {
    calls: Vec<Call>,
    answer: Option<String>,
}

/// The next step: the turn is counted in answers since the script was given, the call in tool results since then.
pub fn next_step(conversation: &Conversation) -> Step {
    let messages = &conversation.messages;
    let scripted = messages
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, line)| match line {
            Message::User(text) if text.contains("@@") => Some((at, read(text))),
            Message::User(_) | Message::ToolResult | Message::Answer => None,
        });
    let Some((at, turns)) = scripted else {
        return Step::Final("done".into());
    };
    let since = &messages[at + 1..];
    let answers = since.iter().filter(|line| **line == Message::Answer).count();
    let results = since.iter().rev().take_while(|line| **line != Message::Answer);
    let results = results.filter(|line| **line == Message::ToolResult).count();

    let last = turns.len() - 1;
    let turn = &turns[answers.min(last)];
    let final_step = || Step::Final(turn.answer.clone().unwrap_or_else(|| "done".into()));
    // After the end of the script, the last response is repeated.
    let call = if answers > last {
        None
    } else {
        turn.calls.get(results)
    };
    let Some(call) = call.map(|call| call.of(&conversation.tools)) else {
        return final_step();
    };
    let Some(name) = call.tool_name() else {
        return final_step();
    };
    if conversation.open_tools || conversation.tools.iter().any(|tool| tool == name) {
        call
    } else if conversation.tools.is_empty() {
        // Requests on the side, such as one for a title, carry the prompt and no tools.
        final_step()
    } else {
        Step::Final(format!(
            "the tool `{name}` is not among those offered: {}",
            conversation.tools.join(", ")
        ))
    }
}

fn read(text: &str) -> Vec<Turn> {
    let mut turns = vec![Turn::default()];
    for mut line in text.lines().map(str::trim) {
        // Some clients take `@` for a file to include and join the lines around it.
        if let Some(rest) = line.strip_prefix("@@next") {
            turns.push(Turn::default());
            line = rest.trim_start();
        }
        let turn = turns.last_mut().expect("starts with one turn");
        if let Some((name, arguments)) = words(line, "@@tool ") {
            turn.calls.push(Call::Step(Step::Tool { name, arguments }));
        } else if let Some((name, text)) = words(line, "@@custom ") {
            turn.calls.push(Call::Step(Step::Custom {
                name,
                input: text.replace("\\n", "\n"),
            }));
        } else if let Some(command) = line.strip_prefix("@@shell ") {
            turn.calls.push(Call::Shell(command.to_owned()));
        } else if let Some(answer) = line.strip_prefix("@@final ") {
            turn.answer = Some(answer.to_owned());
        }
    }
    turns
}

fn words(line: &str, prefix: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix(prefix)?.trim_start();
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
    Some((name.to_owned(), arguments.trim_start().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::User(text.to_owned())
    }

    fn step(messages: &[Message]) -> Step {
        let tools = vec!["write".to_owned(), "sh".to_owned()];
        next_step(&Conversation {
            messages: messages.to_vec(),
            tools,
            ..Conversation::default()
        })
    }

    fn tool(name: &str, arguments: &str) -> Step {
        Step::Tool {
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    #[test]
    fn calls_come_one_by_one_and_then_the_answer() {
        let script = user("do it:\n  @@tool write {\"a\": 1}\n@@tool sh\n@@final all done");
        assert_eq!(step(std::slice::from_ref(&script)), tool("write", "{\"a\": 1}"));
        assert_eq!(step(&[script.clone(), Message::ToolResult]), tool("sh", "{}"));
        let end = [
            script,
            Message::ToolResult,
            user("<reminder/>"),
            Message::ToolResult,
        ];
        assert_eq!(step(&end), Step::Final("all done".into()));
    }

    #[test]
    fn a_command_goes_to_the_tool_that_runs_commands() {
        let with = |tools: &[&str]| {
            let messages = vec![user("@@shell echo hi")];
            let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
            next_step(&Conversation {
                messages,
                tools,
                ..Conversation::default()
            })
        };
        assert_eq!(
            with(&["Read", "exec_command"]),
            tool("exec_command", r#"{"cmd":"echo hi"}"#)
        );
        assert_eq!(
            with(&["Bash"]),
            tool("Bash", r#"{"command":"echo hi","description":"as told"}"#)
        );
        assert!(matches!(with(&["Read"]), Step::Final(text) if text.contains("not among those offered")));
    }

    #[test]
    fn a_new_script_starts_over_and_none_is_done() {
        assert_eq!(step(&[user("hello")]), Step::Final("done".into()));
        let two = [
            user("@@tool sh"),
            Message::ToolResult,
            Message::Answer,
            user("@@final second"),
        ];
        assert_eq!(step(&two), Step::Final("second".into()));
    }

    #[test]
    fn next_answers_a_message_without_a_script() {
        let script = user("@@tool sh\n@@final bad\n@@next @@tool write\n@@final good");
        let mut messages = vec![script, Message::ToolResult];
        assert_eq!(step(&messages), Step::Final("bad".into()));
        messages.extend([Message::Answer, user("repair it")]);
        assert_eq!(step(&messages), tool("write", "{}"));
        messages.push(Message::ToolResult);
        assert_eq!(step(&messages), Step::Final("good".into()));
        messages.extend([Message::Answer, user("and now?")]);
        assert_eq!(step(&messages), Step::Final("good".into()));
    }

    #[test]
    fn a_tool_that_is_not_offered_is_named() {
        let messages = vec![user("@@tool gone {}\n@@final x")];
        let Step::Final(text) = step(&messages) else {
            panic!("no final")
        };
        assert!(text.contains("`gone`") && text.contains("write, sh"), "{text}");
        let aside = Conversation {
            messages,
            ..Conversation::default()
        };
        assert_eq!(next_step(&aside), Step::Final("x".into()));
    }
}
