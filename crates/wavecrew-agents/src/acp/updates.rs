//! Updates of a session that is spoken to over the Agent Client Protocol, and the ends of its turns.

use serde_json::Value;

use crate::stream::tools::brief;
use crate::stream::{AgentEvent, FailKind, Failure, ParserState, Usage, UsageScope, items, text};

/// What has to be remembered between updates.
#[derive(Debug, Default)]
pub(super) struct SessionUpdates {
    open: Vec<Tool>,
    /// Calls of this turn that are over; some agents speak of them again.
    over: Vec<String>,
    /// What the session has cost so far.
    cost: Option<f64>,
    /// What had been paid for when the turn began.
    paid: f64,
    /// The agent gave up on the model service, and will word it as an answer.
    broken: bool,
}

#[derive(Debug)]
struct Tool {
    id: String,
    writes: bool,
    paths: Vec<String>,
}

impl SessionUpdates {
    pub(super) fn turn_begins(&mut self) {
        self.over.clear();
        self.broken = false;
        self.paid = self.cost.unwrap_or(0.0);
    }

    pub(super) fn read(&mut self, update: &Value, state: &mut ParserState) {
        match text(update, "sessionUpdate") {
            "agent_message_chunk" => {
                // qwen tells of each request in a message that is empty otherwise.
                if let Some(usage) = tokens(&update["_meta"]["usage"]) {
                    state.push(AgentEvent::Usage(usage));
                }
                let piece = text(&update["content"], "text");
                state.text.push_str(piece);
                if !piece.trim().is_empty() {
                    let line = state.text.rsplit('\n').find(|line| !line.trim().is_empty());
                    state.push(AgentEvent::Text(brief(line.unwrap_or_default())));
                }
            }
            // The past told once more: what was said before it is not the answer.
            "user_message_chunk" => state.text.clear(),
            "tool_call" | "tool_call_update" => self.tool(update, state),
            "usage_update" => {
                let cost = update["cost"]["amount"].as_f64();
                // Models without a price cost 0 here, which is not the same as free.
                let in_dollars = update["cost"]["currency"] == "USD";
                self.cost = cost.filter(|cost| in_dollars && *cost > 0.0).or(self.cost);
            }
            "session_info_update" => self.codex(&update["_meta"]["codex"], state),
            "agent_thought_chunk"
            | "plan"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update" => {}
            kind => state.unknown(&format!("session/update/{kind}")),
        }
    }

    /// codex tells of trouble beside the protocol.
    fn codex(&mut self, told: &Value, state: &mut ParserState) {
        if let Some(message) = told["error"]["message"].as_str() {
            let detail = told["error"]["additionalDetails"].as_str().unwrap_or(message);
            state.retrying(Failure::new(None, detail));
        }
        self.broken |= told["threadStatus"]["type"] == "systemError";
    }

    /// A call of a tool, as far as it has got. Agents leave out what they said of it before.
    pub(super) fn tool(&mut self, call: &Value, state: &mut ParserState) {
        let id = text(call, "toolCallId");
        if self.over.iter().any(|over| over == id) {
            return;
        }
        let at = self.open.iter().position(|tool| tool.id == id);
        let at = at.unwrap_or_else(|| {
            // What was said before a call is not the answer.
            state.text.clear();
            state.push(AgentEvent::ToolStart {
                id: id.to_owned(),
                name: call["kind"].as_str().unwrap_or("tool").to_owned(),
                summary: brief(text(call, "title")),
            });
            self.open.push(Tool {
                id: id.to_owned(),
                writes: false,
                paths: Vec::new(),
            });
            self.open.len() - 1
        });
        let tool = &mut self.open[at];
        if let Some(kind) = call["kind"].as_str() {
            tool.writes = matches!(kind, "edit" | "delete" | "move");
        }
        for path in paths_of(call) {
            if !tool.paths.contains(&path) {
                tool.paths.push(path);
            }
        }
        let ok = match text(call, "status") {
            "completed" => true,
            "failed" => false,
            _ => return,
        };
        let tool = self.open.swap_remove(at);
        self.over.push(tool.id.clone());
        state.push(AgentEvent::ToolEnd {
            id: tool.id,
            ok,
            exit_code: call["_meta"]["terminal_exit"]["exit_code"].as_i64(),
            output: contents(call),
        });
        for path in tool.paths.into_iter().filter(|_| ok && tool.writes) {
            state.push(AgentEvent::FileChange { path });
        }
    }

    /// The answer to a prompt.
    pub(super) fn turn_ended(&mut self, result: &Value, state: &mut ParserState) {
        self.open.clear();
        if let Some(usage) = self.usage(result) {
            state.push(AgentEvent::Usage(usage));
        }
        let failure = match text(result, "stopReason") {
            "end_turn" if self.broken => Failure::new(None, state.text.trim()),
            "end_turn" => return state.answered(None),
            "max_tokens" => Failure::of_kind(FailKind::Quota, "the answer reached the model's output limit"),
            "max_turn_requests" => {
                Failure::of_kind(FailKind::Quota, "the turn reached the agent's limit of requests")
            }
            "refusal" => Failure::of_kind(FailKind::Declined, "the model declined to answer"),
            "cancelled" => Failure::of_kind(FailKind::Other, "the turn was cancelled"),
            reason => {
                state.unknown(&format!("stopReason/{reason}"));
                return state.answered(None);
            }
        };
        state.failed(failure);
    }

    /// What the turn used: by the protocol's own counting, or by gemini's.
    fn usage(&self, result: &Value) -> Option<Usage> {
        let cost = self.cost.map(|cost| (cost - self.paid).max(0.0));
        if let Some(usage) = tokens(&result["usage"]) {
            return Some(Usage { cost, ..usage });
        }
        let quota = &result["_meta"]["quota"]["token_count"];
        Some(Usage {
            scope: UsageScope::SinceLast,
            input: quota["input_tokens"].as_u64()?,
            cached: 0,
            output: quota["output_tokens"].as_u64()?,
            cost,
        })
    }
}

fn tokens(usage: &Value) -> Option<Usage> {
    let count = |key: &str| usage[key].as_u64();
    let output = count("outputTokens")?;
    Some(Usage {
        scope: UsageScope::SinceLast,
        // Agents differ in whether the input is counted with what came from the cache; the sum has it in any case.
        input: count("totalTokens")?.saturating_sub(output),
        cached: count("cachedReadTokens").unwrap_or(0),
        output,
        cost: None,
    })
}

/// What a call brought, as text.
fn contents(call: &Value) -> String {
    let parts = items(call, "content").iter();
    let texts = parts.filter_map(|part| part["content"]["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The files that a call names.
pub(super) fn paths_of(call: &Value) -> Vec<String> {
    let named = items(call, "locations").iter().chain(items(call, "content"));
    named
        .filter_map(|place| place["path"].as_str())
        .map(str::to_owned)
        .collect()
}
