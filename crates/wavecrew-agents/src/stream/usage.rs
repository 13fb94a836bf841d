//! Tokens and money. Agents count in three ways; a [`UsageMeter`] turns all of them into what one attempt spent.

use super::AgentEvent;

/// What a number of tokens covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageScope {
    /// Since the last report.
    SinceLast,
    /// The conversation from its start, attempts before a resume included.
    Conversation,
}

/// A report of tokens. `input` includes `cached`, whatever the agent's own counting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    pub scope: UsageScope,
    pub input: u64,
    /// Input that was read from the service's cache.
    pub cached: u64,
    pub output: u64,
    /// In US dollars, where the agent says so.
    pub cost: Option<f64>,
}

impl Usage {
    pub const NONE: Self = Self {
        scope: UsageScope::Conversation,
        input: 0,
        cached: 0,
        output: 0,
        cost: None,
    };

    fn plus(self, other: Self) -> Self {
        Self {
            scope: self.scope,
            input: self.input + other.input,
            cached: self.cached + other.cached,
            output: self.output + other.output,
            cost: match (self.cost, other.cost) {
                (Some(a), Some(b)) => Some(a + b),
                (cost, None) | (None, cost) => cost,
            },
        }
    }

    fn minus(self, before: Self) -> Self {
        // A counter that went back belongs to another conversation than the one before.
        if self.input < before.input || self.output < before.output {
            return self;
        }
        Self {
            scope: self.scope,
            input: self.input - before.input,
            cached: self.cached.saturating_sub(before.cached),
            output: self.output - before.output,
            cost: self.cost.map(|cost| (cost - before.cost.unwrap_or(0.0)).max(0.0)),
        }
    }
}

/// Adds up one attempt.
#[derive(Debug, Clone, Copy)]
pub struct UsageMeter {
    before: Usage,
    now: Usage,
    /// Of the turn under way, until its end tells it better.
    so_far: Usage,
    /// There is something that [`news`](Self::news) did not tell.
    news: bool,
}

impl UsageMeter {
    /// `before` is [`UsageMeter::conversation`] of the attempt that this one resumes, or [`Usage::NONE`].
    pub fn new(before: Usage) -> Self {
        Self {
            before,
            now: before,
            so_far: Usage::NONE,
            news: false,
        }
    }

    pub fn on(&mut self, event: &AgentEvent) {
        if let AgentEvent::Usage(usage) = event {
            self.now = match usage.scope {
                UsageScope::SinceLast => self.now.plus(*usage),
                UsageScope::Conversation => *usage,
            };
            (self.so_far, self.news) = (Usage::NONE, true);
        } else if let AgentEvent::UsedSoFar(usage) = event {
            (self.so_far, self.news) = (self.so_far.plus(*usage), true);
        }
    }

    /// What was used since the last [`take`](Self::take), the turn under way included, if that has changed.
    pub fn news(&mut self) -> Option<Usage> {
        std::mem::take(&mut self.news).then(|| self.spent())
    }

    /// What this attempt used.
    pub fn spent(&self) -> Usage {
        Usage {
            scope: UsageScope::SinceLast,
            ..self.now.minus(self.before).plus(self.so_far)
        }
    }

    /// What was used since this was asked last, or since the start.
    pub fn take(&mut self) -> Usage {
        let spent = self.spent();
        (self.before, self.so_far, self.news) = (self.now, Usage::NONE, false);
        spent
    }

    /// What the conversation used so far; kept for the attempt that resumes it.
    pub fn conversation(&self) -> Usage {
        Usage {
            scope: UsageScope::Conversation,
            ..self.now
        }
    }
}
