//! Token usage. Agents count in two ways; a [`UsageMeter`] turns both into what one attempt used.

use serde_json::Value;
use wavecrew_core::event::TokenUsage;

use super::AgentEvent;

/// What a count of tokens covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageScope {
    /// Everything since the last count.
    SinceLast,
    /// The conversation from its start, including the attempts before a resume.
    Conversation,
}

/// Adds up one attempt.
#[derive(Debug, Clone, Copy)]
pub struct UsageMeter {
    before: TokenUsage,
    now: TokenUsage,
    /// Of the running turn, until its end brings the final count.
    so_far: TokenUsage,
    changed: bool,
}

impl UsageMeter {
    /// `before` is [`UsageMeter::conversation`] of the attempt that this one resumes, or zero.
    pub fn new(before: TokenUsage) -> Self {
        Self {
            before,
            now: before,
            so_far: TokenUsage::default(),
            changed: false,
        }
    }

    pub fn on(&mut self, event: &AgentEvent) {
        if let AgentEvent::Usage(scope, usage) = event {
            match scope {
                UsageScope::SinceLast => self.now += *usage,
                UsageScope::Conversation => self.now = *usage,
            }
            (self.so_far, self.changed) = (TokenUsage::default(), true);
        } else if let AgentEvent::UsedSoFar(usage) = event {
            self.so_far += *usage;
            self.changed = true;
        }
    }

    /// What was used since the last [`take`](Self::take), including the running turn, if it has changed since the last call.
    pub fn take_changed(&mut self) -> Option<TokenUsage> {
        std::mem::take(&mut self.changed).then(|| self.spent())
    }

    /// What was used since the last [`take`](Self::take), or since the start.
    pub fn spent(&self) -> TokenUsage {
        let mut spent = difference(self.now, self.before);
        spent += self.so_far;
        spent
    }

    /// The same, and starts to count anew.
    pub fn take(&mut self) -> TokenUsage {
        let spent = self.spent();
        (self.before, self.so_far, self.changed) = (self.now, TokenUsage::default(), false);
        spent
    }

    /// What the conversation has used so far, for the attempt that resumes it.
    pub fn conversation(&self) -> TokenUsage {
        self.now
    }
}

fn difference(now: TokenUsage, before: TokenUsage) -> TokenUsage {
    // A counter that went back belongs to another conversation.
    if now.input < before.input || now.output < before.output {
        return now;
    }
    TokenUsage {
        input: now.input - before.input,
        cached: now.cached.saturating_sub(before.cached),
        output: now.output - before.output,
        cost: now.cost.map(|cost| (cost - before.cost.unwrap_or(0.0)).max(0.0)),
    }
}

/// Reads counts: the keys of the input (including what is cached), of the cached input and of the output.
pub(crate) fn token_counts(counts: &Value, [input, cached, output]: [&str; 3]) -> TokenUsage {
    let count = |key: &str| counts[key].as_u64().unwrap_or(0);
    TokenUsage {
        input: count(input),
        cached: count(cached),
        output: count(output),
        cost: None,
    }
}
