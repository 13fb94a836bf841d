//! Updates of an ACP session, and the ends of its turns.

use serde_json::Value;
use wavecrew_core::event::TokenUsage;

use crate::stream::tools::brief;
use crate::stream::{AgentEvent, FailKind, Failure, ParserState, UsageScope, items, text};

/// What to remember between updates.
#[derive(Debug, Default)]
pub(super) struct SessionUpdates {
    open: Vec<Tool>,
    /// Calls of this turn that have ended; some agents report them again.
    ended: Vec<String>,
    /// What the session has cost so far.
    cost: Option<f64>,
    /// The cost before this turn.
    cost_before: f64,
    /// The agent gave up on the model service; its answer is the error message.
    broken: bool,
}

#[derive(Debug)]
struct Tool {
    id: String,
    writes: bool,
    paths: Vec<String>,
}

impl SessionUpdates {
    pub(super) fn start_turn(&mut self) {
        self.ended.clear();
        self.broken = false;
        self.cost_before = self.cost.unwrap_or(0.0);
    }

    pub(super) fn read(&mut self, update: &Value, state: &mut ParserState) {
        match text(update, "sessionUpdate") {
            "agent_message_chunk" => {
                // qwen reports the usage of each request in an empty message.
                if let Some(usage) = tokens(&update["_meta"]["usage"]) {
                    state.used(UsageScope::SinceLast, usage);
                }
                let piece = text(&update["content"], "text");
                state.text.push_str(piece);
                if !piece.trim().is_empty() {
                    let line = state.text.rsplit('\n').find(|line| !line.trim().is_empty());
                    state.push(AgentEvent::Text(brief(line.unwrap_or_default())));
                }
            }
            // The conversation is repeated: text before this is not the answer.
            "user_message_chunk" => state.text.clear(),
            "tool_call" | "tool_call_update" => self.tool(update, state),
            "usage_update" => {
                let cost = update["cost"]["amount"].as_f64();
                // 0 also stands for a model without a known price.
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

    /// codex reports failures outside the protocol.
    fn codex(&mut self, info: &Value, state: &mut ParserState) {
        if let Some(message) = info["error"]["message"].as_str() {
            let detail = info["error"]["additionalDetails"].as_str().unwrap_or(message);
            state.retrying(Failure::new(None, detail));
        }
        self.broken |= info["threadStatus"]["type"] == "systemError";
    }

    /// The state of a tool call. Agents leave out what they reported before.
    pub(super) fn tool(&mut self, call: &Value, state: &mut ParserState) {
        let id = text(call, "toolCallId");
        if self.ended.iter().any(|ended| ended == id) {
            return;
        }
        let at = self.open.iter().position(|tool| tool.id == id);
        let at = at.unwrap_or_else(|| {
            // Text before a tool call is not the answer.
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
        self.ended.push(tool.id.clone());
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
            state.used(UsageScope::SinceLast, usage);
        }
        let failure = match text(result, "stopReason") {
            "end_turn" if self.broken => Failure::new(None, state.text.trim()),
            "end_turn" => return state.answered(),
            "max_tokens" => Failure::of_kind(FailKind::Quota, "the answer reached the model's output limit"),
            "max_turn_requests" => {
                Failure::of_kind(FailKind::Quota, "the turn reached the agent's limit of requests")
            }
            "refusal" => Failure::of_kind(FailKind::Declined, "the model declined to answer"),
            "cancelled" => Failure::of_kind(FailKind::Other, "the turn was cancelled"),
            reason => {
                state.unknown(&format!("stopReason/{reason}"));
                return state.answered();
            }
        };
        state.failed(failure);
    }

    /// The usage of the turn, in the form of the protocol or of gemini.
    fn usage(&self, result: &Value) -> Option<TokenUsage> {
        let cost = self.cost.map(|cost| (cost - self.cost_before).max(0.0));
        if let Some(usage) = tokens(&result["usage"]) {
            return Some(TokenUsage { cost, ..usage });
        }
        let quota = &result["_meta"]["quota"]["token_count"];
        Some(TokenUsage {
            input: quota["input_tokens"].as_u64()?,
            cached: 0,
            output: quota["output_tokens"].as_u64()?,
            cost,
        })
    }
}

fn tokens(usage: &Value) -> Option<TokenUsage> {
    let count = |key: &str| usage[key].as_u64();
    let output = count("outputTokens")?;
    Some(TokenUsage {
        // Only some agents include cached input in the input; the sum always does.
        input: count("totalTokens")?.saturating_sub(output),
        cached: count("cachedReadTokens").unwrap_or(0),
        output,
        cost: None,
    })
}

/// The output of a call, as text.
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
