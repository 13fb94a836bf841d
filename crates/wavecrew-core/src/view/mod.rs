//! Reports for people, computed from a ledger: the summary, `context.md` and the report at the end of a run. Pure text: no
//! files, no clock, no terminal. Text of workers is on one line and without control characters.

mod loops;
mod markdown;
mod terminal;
#[cfg(test)]
mod tests;

pub use loops::loop_state;
pub use markdown::{report_markdown, spending_table};
pub use terminal::{report_terminal, task_line};

use crate::budget::{Totals, dollars, grouped};
use crate::engine::{Counts, Ledger, TaskProgress, TaskState};
use crate::event::{RunOutcome, Status};
use crate::id::TaskIx;
use crate::pool::Pool;
use crate::sanitise::reorders;
use crate::time::{Timestamp, human};
use std::fmt::Write as _;
use std::time::Duration;

/// How many files or refusals of a task are listed.
const LISTED: usize = 5;

/// The facts of a report about the session itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionMeta<'a> {
    /// What commands in the report begin with: the program, with the project's folder if the reader needs it.
    pub program: &'a str,
    pub id: &'a str,
    /// The session folder, as a person would type it.
    pub folder: &'a str,
    pub pipeline: Option<&'a str>,
    pub request: &'a str,
    /// RFC 3339 in UTC.
    pub started_at: &'a str,
    /// The cassette, when the session is a replay.
    pub replay: Option<&'a str>,
    /// What the session came to, in one line, where it is measured.
    pub result: Option<String>,
    /// Time that was spent before the first worker started.
    pub preparation: Duration,
}

impl SessionMeta<'_> {
    /// The command that copies kept tests into the project.
    pub fn apply_command(&self) -> String {
        format!("{} testing --continue {} --apply", self.program, self.id)
    }

    /// The command that continues the session; after a limit was reached, with the flags that raise it.
    fn continue_command(&self, ending: Option<&RunOutcome>) -> String {
        let Self { program, id, .. } = self;
        match ending {
            Some(RunOutcome::LimitReached { go_on, .. }) => format!("{program} run --continue {id} {go_on}")
                .trim_end()
                .to_owned(),
            Some(_) | None => format!("{program} resume {id}"),
        }
    }

    /// The command that runs failed and skipped tasks again.
    fn retry_command(&self) -> String {
        format!("{} retry {}", self.program, self.id)
    }
}

/// A session in numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionSummary {
    pub counts: Counts,
    /// How long at least one worker was running, from attempts that have ended.
    pub elapsed: Duration,
}

impl SessionSummary {
    pub fn of(ledger: &Ledger) -> Self {
        Self {
            counts: ledger.counts(),
            elapsed: busy(ledger),
        }
    }
}

/// The length of the union of all ended attempts.
fn busy(ledger: &Ledger) -> Duration {
    let spans = ledger.plan().tasks().filter_map(|task| {
        let state = ledger.task(task);
        state.started.zip(state.ended)
    });
    let mut spans: Vec<_> = spans.chain(ledger.earlier_attempts().iter().copied()).collect();
    spans.sort_unstable();
    let mut total = Duration::ZERO;
    let mut until = Timestamp::default();
    for (start, end) in spans {
        total += end.since(start.max(until));
        until = until.max(end);
    }
    total
}

/// `12,345 tokens (2,000 cached) · $0.42`, if anything is known to have been used.
pub fn usage_line(totals: &Totals) -> Option<String> {
    let Totals { spent, unpriced, .. } = totals;
    if spent.is_nothing() {
        return None;
    }
    let mut line = format!("{} tokens", grouped(spent.tokens()));
    if spent.cached > 0 {
        line += &format!(" ({} cached)", grouped(spent.cached));
    }
    if let Some(cost) = spent.cost {
        line += &format!(" · {}", dollars(cost));
    }
    if *unpriced > 0 {
        line += &format!(" · {} tokens without a known price", grouped(*unpriced));
    }
    Some(line)
}

/// `codex-1a2b3c4d waits for its service (rate_limited): 1m 20s left`
pub fn wait_line(name: &str, pool: &Pool, now: Timestamp) -> String {
    format!(
        "{} waits for its service ({}): {} left",
        one_line(name),
        pool.reason.as_str(),
        human(pool.until.since(now))
    )
}

/// How long the latest attempt took, for a task that is done.
pub fn duration(state: &TaskState) -> Option<Duration> {
    match (state.progress, state.started, state.ended) {
        (TaskProgress::Done, Some(started), Some(ended)) => Some(ended.since(started)),
        _ => None,
    }
}

/// Files that the worker changed after its report, on one line; only the first few.
pub fn edits_after_report(state: &TaskState) -> Option<String> {
    let files = state.edits_after_report.as_deref()?;
    Some(first_few(files.iter().map(|file| one_line(file)), LISTED))
}

/// The settings that would allow what the sandbox refused.
pub const ALLOWING: &str =
    "allow it with --allow-write PATH, or `write` and `read` below [sandbox] in wavecrew.toml";

/// What the sandbox refused to the worker, on one line; only the first few.
pub fn refusals(state: &TaskState) -> Option<String> {
    let refusals = state.refusals.as_deref()?;
    let texts = refusals
        .iter()
        .map(|refusal| format!("{} {}", refusal.access.as_str(), one_line(&refusal.path)));
    Some(first_few(texts, LISTED))
}

/// `a, b and 3 more`
pub fn first_few<I, S>(items: I, most: usize) -> String
where
    I: IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
    S: AsRef<str>,
{
    let items = items.into_iter();
    let more = items.len().saturating_sub(most);
    let mut line = String::new();
    for (at, item) in items.take(most).enumerate() {
        line += if at == 0 { "" } else { ", " };
        line += item.as_ref();
    }
    if more > 0 {
        let _ = write!(line, " and {more} more");
    }
    line
}

/// What a task's line starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskMark {
    Done,
    Fail,
    Skip,
    Run,
    Pend,
}

impl TaskMark {
    pub fn of(state: &TaskState) -> Self {
        match (state.result.status, state.progress) {
            (Status::Pending, TaskProgress::Open { .. }) => Self::Run,
            (Status::Pending, TaskProgress::Pending | TaskProgress::Waiting { .. } | TaskProgress::Done) => {
                Self::Pend
            }
            (Status::Completed, _) => Self::Done,
            (Status::Failed, _) => Self::Fail,
            (Status::Skipped, _) => Self::Skip,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "[DONE]",
            Self::Fail => "[FAIL]",
            Self::Skip => "[SKIP]",
            Self::Run => "[RUN]",
            Self::Pend => "[PEND]",
        }
    }
}

/// `A-1: Title`, or the id alone for a task without a title.
fn name(ledger: &Ledger, task: TaskIx) -> String {
    let plan = ledger.plan();
    let (id, title) = (plan.id(task), one_line(plan.title(task)));
    if title == id {
        title
    } else {
        format!("{id}: {title}")
    }
}

/// The text on one line, without escape sequences and characters that reorder text.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.as_str().starts_with('[') {
            // Drops an escape sequence up to its last character.
            let rest = chars.as_str()[1..].trim_start_matches(|c| matches!(c, ' '..='?'));
            chars = rest
                .strip_prefix(|c| matches!(c, '@'..='~'))
                .unwrap_or(rest)
                .chars();
        } else if c.is_whitespace() || c.is_control() {
            gap = !line.is_empty();
        } else if !reorders(c) {
            if std::mem::take(&mut gap) {
                line.push(' ');
            }
            line.push(c);
        }
    }
    line
}

/// The text with at most so many characters; `…` is the last one of a shortened text.
pub fn clipped(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// The first characters of a commit's hash, as people read it.
pub fn short_commit(hash: &str) -> String {
    hash.chars().take(10).collect()
}

/// `3 tasks`, `1 wave`
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
