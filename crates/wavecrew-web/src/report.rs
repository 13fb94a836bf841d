//! The one-file report: the pages of a run rendered once, with their style and script inside. Opens from disk, needs no
//! network, and prints.

use crate::follow::Followed;
use crate::page::conversation::Conversation;
use crate::page::{board, evidence, history, meters, notes, receipt, run, task, timeline};
use crate::shot::{Medium, Query, Shot, encode, task_state};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::io::{self, Write};
use wavecrew_core::id::TaskIx;
use wavecrew_core::view::one_line;
use wavecrew_session::{SessionDir, SessionError};

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/script.js");

/// How many tasks get a section of their own; in larger plans, failed tasks come first.
const TASKS: usize = 2000;
/// Tasks whose evidence and conversation are in the file.
const DETAILED: usize = 400;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("the report cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// Writes the report of a session.
pub fn write_report(dir: SessionDir, out: &mut dyn Write) -> Result<(), ReportError> {
    let followed = Followed::open(dir)?;
    let query = Query::default();
    Ok(Shot::take(&followed, &query, Medium::File, |shot| {
        write(shot, out)
    })?)
}

fn write(shot: &Shot<'_>, out: &mut dyn Write) -> io::Result<()> {
    // A nonce: only elements that carry it may run. Each file has a new one.
    let word = format!("{:x}", shot.now.0 ^ u64::from(std::process::id()) << 20);
    let policy =
        format!("default-src 'none'; style-src 'nonce-{word}'; script-src 'nonce-{word}'; img-src data:");
    let head = html! {
        meta charset="utf-8";
        meta http-equiv="Content-Security-Policy" content=(policy);
        meta name="viewport" content="width=device-width, initial-scale=1";
        title { (shot.dir.id()) " · wavecrew" }
        style nonce=(word) { (PreEscaped(STYLE)) }
    };
    let opening = html! {
        header.top {
            nav aria-label="Parts of the report" {
                span.brand { "wavecrew" }
                @for (id, title) in [("plan", "Plan"), ("timeline", "Timeline"), ("decisions", "Decisions"), ("notes", "Notes"), ("tasks", "Tasks"), ("journal", "Journal")] {
                    a href={ "#" (id) } { (title) }
                }
            }
        }
    };
    let summary = html! {
        (run::head(shot))
        section.panel { (meters::meters(shot)) }
        section.panel #plan { h2 { "Plan" } (board::board(shot)) }
        section.panel #timeline { h2 { "Timeline" } (timeline::timeline(shot)) }
        section.panel #decisions { (notes::decisions(shot)) }
        section.panel #notes { (notes::discoveries(shot)) (notes::messages(shot)) (notes::wisdom(shot)) }
    };
    let (doctype, head, opening) = (DOCTYPE.into_string(), head.0, opening.0);
    write!(
        out,
        "{doctype}<html lang=\"en\"><head>{head}</head><body>{opening}<main id=\"main\">{}",
        summary.0
    )?;
    let tasks = chosen(shot);
    let left = shot.ledger.plan().len() - tasks.len();
    write!(out, "<h2 id=\"tasks\">Tasks</h2>")?;
    for (at, task) in tasks.into_iter().enumerate() {
        out.write_all(section(shot, task, at < DETAILED).0.as_bytes())?;
    }
    let closing = html! {
        @if left > 0 { p { (left) " more tasks are in the table of the session." } }
        section.panel #journal { (history::events(shot)) }
    };
    write!(
        out,
        "{}</main><script nonce=\"{word}\">{SCRIPT}</script></body></html>",
        closing.0
    )?;
    out.flush()
}

/// The tasks of the report. If there are too many, failed tasks come first, then those with a result.
fn chosen(shot: &Shot<'_>) -> Vec<TaskIx> {
    let mut tasks: Vec<TaskIx> = shot.ledger.plan().tasks().collect();
    if tasks.len() > DETAILED {
        let weight = |task: &TaskIx| match task_state(shot.ledger.task(*task)) {
            "failed" => 0,
            "running" | "waiting" => 1,
            "completed" => 2,
            _ => 3,
        };
        tasks.sort_by_key(weight);
    }
    tasks.truncate(TASKS);
    tasks
}

fn section(shot: &Shot<'_>, ix: TaskIx, detailed: bool) -> Markup {
    let plan = shot.ledger.plan();
    let id = plan.id(ix);
    let mut conversation = Conversation::of(
        shot.dir,
        if detailed { shot.events } else { &[] },
        id,
        shot.ledger.task(ix).attempts,
    );
    if detailed {
        conversation.catch_up();
        conversation.finish();
    }
    html! {
        section.panel id={ "task-" (encode(id)) } {
            h2 { span.mono { (one_line(id)) } " " (one_line(plan.title(ix))) " " (crate::page::badge(task_state(shot.ledger.task(ix)))) }
            (receipt::receipt(shot, ix))
            @if detailed {
                (evidence::evidence(shot, ix))
                details { summary { "Conversation" } (conversation.render(&shot.key(ix, "conversation"))) }
                details { summary { "Attempts and instruction" } (task::attempts(shot, ix)) (task::row(shot, ix)) }
            }
        }
    }
}
