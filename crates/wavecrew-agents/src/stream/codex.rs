//! `codex exec --json`: a thread of items. An item of type `error` is a warning; only `turn.failed` ends a turn badly.

use serde_json::Value;

use super::failure::Failure;
use super::tools::{Kit, brief};
use super::usage::{Span, Usage};
use super::{AgentEvent, State, items, text};

const KIT: Kit = Kit {
    telling: &["command", "query"],
    writers: &[],
};

pub(super) fn read(value: &Value, state: &mut State) {
    match text(value, "type") {
        "thread.started" => state.push(AgentEvent::Started {
            conversation: text(value, "thread_id").to_owned(),
            model: None,
            version: None,
        }),
        "turn.started" | "item.updated" => {}
        "item.started" => item(&value["item"], state, Phase::Started),
        "item.completed" => item(&value["item"], state, Phase::Completed),
        "turn.completed" => {
            state.push(AgentEvent::Usage(usage(&value["usage"])));
            state.answered(None);
        }
        // Comes before each retry and once more before `turn.failed`.
        "error" => state.retrying(Failure::new(None, text(value, "message"))),
        "turn.failed" => state.failed(Failure::new(None, text(&value["error"], "message"))),
        kind => state.unknown(kind),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Started,
    Completed,
}

fn item(item: &Value, state: &mut State, phase: Phase) {
    let id = text(item, "id");
    let completed = phase == Phase::Completed;
    match text(item, "type") {
        "agent_message" if completed => state.says(text(item, "text")),
        "command_execution" if completed => {
            let code = item["exit_code"].as_i64();
            state.tool_end(id, code == Some(0), code, &item["aggregated_output"]);
        }
        "command_execution" => state.tool_start(&KIT, id, "shell", item),
        "mcp_tool_call" if completed => {
            let failed = !item["error"].is_null() || item["status"] == "failed";
            let output = match &item["error"]["message"] {
                Value::Null => &item["result"]["content"],
                message => message,
            };
            state.tool_end(id, !failed, None, output);
        }
        "mcp_tool_call" => {
            let name = format!("{}.{}", text(item, "server"), text(item, "tool"));
            state.push(AgentEvent::ToolStart {
                id: id.to_owned(),
                name,
                summary: brief(&item["arguments"].to_string()),
            });
        }
        "file_change" if completed && item["status"] != "failed" => {
            for change in items(item, "changes") {
                state.push(AgentEvent::FileChange {
                    path: text(change, "path").to_owned(),
                });
            }
        }
        "web_search" if completed => {
            state.tool_start(&KIT, id, "web_search", item);
            state.tool_end(id, true, None, &Value::Null);
        }
        "agent_message" | "file_change" | "web_search" | "reasoning" | "todo_list" | "error" => {}
        kind => state.unknown(kind),
    }
}

fn usage(usage: &Value) -> Usage {
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    Usage {
        span: Span::Conversation,
        input: count("input_tokens"),
        cached: count("cached_input_tokens"),
        output: count("output_tokens"),
        cost: None,
    }
}
