//! The page of a task: its state, actions, the receipt, the conversation, its attempts, its instruction.

use super::conversation::Conversation;
use super::run::action;
use super::{Frame, badge, board, evidence, folded, inbox, receipt, shortened, without_controls};
use crate::server::desk::Prompt;
use crate::shot::{Medium, Shot, encode, task_state};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::fs;
use wavecrew_core::budget::{dollars, grouped};
use wavecrew_core::engine::{NOT_DELIVERED, TaskProgress, is_engine_column};
use wavecrew_core::event::{Event, StopReason, TokenUsage};
use wavecrew_core::id::TaskIx;
use wavecrew_core::time::{Timestamp, human};
use wavecrew_core::view::one_line;

/// The parts of the page, by the ids of their elements.
pub fn fragments(
    shot: &Shot<'_>,
    task: TaskIx,
    conversation: &Conversation,
    prompts: &[Prompt],
) -> Vec<(&'static str, Markup)> {
    vec![
        ("head", head(shot, task)),
        (
            "inbox",
            html! { (inbox::prompts(prompts, shot.medium)) (inbox::question(shot)) },
        ),
        (
            "receipt",
            html! { (receipt::receipt(shot, task)) (evidence::evidence(shot, task)) },
        ),
        (
            "conversation",
            html! { h2 { "Conversation" } (conversation_links(shot, task)) (conversation.render(&shot.key(task, "conversation"))) (message_form(shot, task)) },
        ),
        ("attempts", attempts(shot, task)),
        ("row", row(shot, task)),
    ]
}

pub fn page(shot: &Shot<'_>, task: TaskIx, conversation: &Conversation, prompts: &[Prompt]) -> Markup {
    let [head, inbox, receipt, conversation, attempts, row] =
        <[_; 6]>::try_from(fragments(shot, task, conversation, prompts))
            .expect("the parts above")
            .map(|(_, markup)| markup);
    let id = shot.ledger.plan().id(task);
    let address = format!("{}/t/{}", shot.run_link(), encode(id));
    let body = html! {
        div #head aria-live="polite" { (head) }
        div #inbox aria-live="assertive" { (inbox) }
        section.panel #receipt { (receipt) }
        section.panel #conversation { (conversation) }
        section.panel #attempts { (attempts) }
        section.panel #row { (row) }
    };
    let frame = Frame {
        title: id,
        trail: vec![
            (shot.dir.id().to_owned(), shot.run_link()),
            (one_line(id), address.clone()),
        ],
        stream: (!shot.past).then(|| format!("{address}/stream{}", shot.query.text())),
    };
    frame.around(&body)
}

/// The attempt whose conversation is shown.
pub fn shown_attempt(shot: &Shot<'_>, task: TaskIx) -> u32 {
    let latest = shot.ledger.task(task).attempts;
    shot.query
        .attempt()
        .filter(|attempt| (1..=latest).contains(attempt))
        .unwrap_or(latest)
}

fn head(shot: &Shot<'_>, task: TaskIx) -> Markup {
    let (plan, state) = (shot.ledger.plan(), shot.ledger.task(task));
    let (id, word) = (plan.id(task), task_state(state));
    let path = |what: &str| format!("t/{}/{what}", encode(id));
    let running = word == "running";
    html! {
        div.head {
            div.grow {
                div.row { h1 { (one_line(plan.title(task))) } (badge(word)) @if state.progress == TaskProgress::Done && state.attempts > 0 { (badge(state.result.verdict.as_str())) } }
                ul.facts {
                    li.mono { (one_line(id)) }
                    li { "Wave " (plan.wave(task)) }
                    @if !plan.role(task).is_empty() { li { "Role " (one_line(plan.role(task))) } }
                    @if let Some((_, agent)) = &state.made_from { li { "Agent " (board::short_agent(agent)) } }
                    @if let (TaskProgress::Open { .. }, Some(began)) = (state.progress, state.started) { li { "Running for " time data-since=(began.0) { "…" } } }
                    @if !plan.deps(task).is_empty() { li { "After " @for dep in plan.deps(task).iter().take(12) { a href=(shot.task_link(plan.id(*dep))) { (one_line(plan.id(*dep))) } " " } } }
                    @if !plan.dependents(task).is_empty() { li { "Before " @for next in plan.dependents(task).iter().take(12) { a href=(shot.task_link(plan.id(*next))) { (one_line(plan.id(*next))) } " " } } }
                }
            }
            @if shot.may_act() {
                div.row.controls role="group" aria-label="Actions" {
                    @if shot.is_running() && matches!(word, "running" | "waiting" | "pending") { (action(shot, &path("cancel"), "Cancel this task", "danger")) }
                    @if matches!(word, "failed" | "skipped") { (action(shot, &path("retry"), "Retry this task", "primary")) }
                }
            }
        }
        @if running && shot.past { p.soft { "It was running at this moment." } }
    }
}

fn conversation_links(shot: &Shot<'_>, task: TaskIx) -> Markup {
    let (latest, shown) = (shot.ledger.task(task).attempts, shown_attempt(shot, task));
    html! {
        @if latest > 1 && shot.medium != Medium::File {
            nav.row aria-label="Attempts" {
                @for attempt in (1..=latest).rev().take(20) {
                    a href=(shot.query.link(|query| query.attempt = Some(attempt.to_string()))) aria-current=[(attempt == shown).then_some("true")] { "Attempt " (attempt) }
                }
            }
        }
    }
}

/// A message to the worker, while it runs.
fn message_form(shot: &Shot<'_>, task: TaskIx) -> Markup {
    let id = shot.ledger.plan().id(task);
    html! {
        @if shot.may_act() && shot.is_running() && task_state(shot.ledger.task(task)) == "running" {
            @if let Some(delivered) = latest_message(shot, id) {
                p role="status" { @if delivered { "The worker has your message." } @else { "Your latest message was not delivered: no worker could read it. Send it again while a worker runs." } }
            }
            form.stack method="post" action={ (shot.run_link()) "/t/" (encode(id)) "/tell" } {
                label { "Message to the worker" textarea #tell name="text" required {} }
                button #do-tell type="submit" { "Send" }
            }
        }
    }
}

/// Whether the latest message from outside reached a worker of the task.
fn latest_message(shot: &Shot<'_>, id: &str) -> Option<bool> {
    shot.events.iter().rev().find_map(|event| match event {
        Event::Acted {
            action,
            task: Some(task),
            ..
        } if task == id && action == NOT_DELIVERED => Some(false),
        Event::Acted {
            action,
            task: Some(task),
            ..
        } if task == id && action == "message" => Some(true),
        _ => None,
    })
}

#[derive(Default)]
struct Try<'a> {
    agent: &'a str,
    model: Option<&'a str>,
    host: Option<&'a str>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    stop: Option<StopReason>,
    statement: String,
    verdict: Option<&'static str>,
    spent: TokenUsage,
    turns: u32,
}

/// What happened in each attempt, side by side.
pub fn attempts(shot: &Shot<'_>, task: TaskIx) -> Markup {
    let id = shot.ledger.plan().id(task);
    let mut tries: BTreeMap<u32, Try<'_>> = BTreeMap::new();
    for event in shot.events {
        match event {
            Event::AttemptStarted {
                at,
                task,
                attempt,
                agent,
                ..
            } if task == id => {
                tries.insert(
                    *attempt,
                    Try {
                        agent,
                        from: Some(*at),
                        turns: 1,
                        ..Try::default()
                    },
                );
            }
            Event::ConversationStarted {
                task, attempt, model, ..
            } if task == id => {
                tries.entry(*attempt).or_default().model = model.as_deref();
            }
            Event::Usage {
                task, attempt, spent, ..
            } if task == id => tries.entry(*attempt).or_default().spent += *spent,
            Event::SentBack {
                task, attempt, turn, ..
            } if task == id => tries.entry(*attempt).or_default().turns = *turn,
            Event::Finished {
                at,
                task,
                attempt,
                stop,
                result,
            } if task == id => {
                let one = tries.entry(*attempt).or_default();
                let statement = if result.error.is_empty() {
                    &result.findings
                } else {
                    &result.error
                };
                (one.to, one.stop, one.statement) =
                    (Some(*at), Some(*stop), shortened(statement, 3000).into_owned());
                one.verdict = Some(result.verdict.as_str());
            }
            Event::AttemptFailed {
                at,
                task,
                attempt,
                stop,
                error,
                ..
            }
            | Event::Postponed {
                at,
                task,
                attempt,
                stop,
                error,
            } if task == id => {
                let one = tries.entry(*attempt).or_default();
                (one.to, one.stop, one.statement) =
                    (Some(*at), Some(*stop), shortened(error, 3000).into_owned());
            }
            Event::Spawned {
                task,
                attempt,
                process,
                ..
            } if task == id => tries.entry(*attempt).or_default().host = process.host.as_deref(),
            Event::Interrupted { at, task, attempt } if task == id => {
                let one = tries.entry(*attempt).or_default();
                (one.to, one.stop) = (Some(*at), Some(StopReason::Interrupted));
            }
            _ => {}
        }
    }
    html! {
        h2 { "Attempts" }
        @if tries.is_empty() { p.soft { "No worker was started yet." } }
        div.attempts {
            @for (number, one) in tries.iter().rev().take(20) {
                (one_attempt(*number, one))
            }
        }
    }
}

/// One attempt: who, where, how long, and how it ended.
fn one_attempt(number: u32, one: &Try<'_>) -> Markup {
    html! {
        section {
            h3 { "Attempt " (number) }
            ul.facts {
                li { (board::short_agent(one.agent)) @if let Some(model) = one.model { ", " (one_line(model)) } }
                @if let (Some(from), Some(to)) = (one.from, one.to) { li { (human(to.since(from))) } }
                @if let Some(host) = one.host { li { "on " (one_line(host)) } }
                @if one.turns > 1 { li { (one.turns) " turns" } }
                @if one.spent.tokens() > 0 { li { (grouped(one.spent.tokens())) " tokens" } }
                @if let Some(cost) = one.spent.cost { li { (dollars(cost)) } }
                @match one.stop { Some(stop) => li { "Ended: " (stop.as_str()) }, None => li { "Not ended" } }
                @if let Some(verdict) = one.verdict { li { (badge(verdict)) } }
            }
            p { (without_controls(&one.statement)) }
        }
    }
}

/// The row of the table, with a form to edit it, and the messages to the worker.
pub fn row(shot: &Shot<'_>, task: TaskIx) -> Markup {
    let (ledger, plan) = (shot.ledger, shot.ledger.plan());
    let id = plan.id(task);
    let columns = plan
        .header()
        .iter()
        .filter(|column| !is_engine_column(&ledger.team, column));
    let columns: Vec<(&String, &str)> = columns.map(|column| (column, plan.cell(task, column))).collect();
    let turns = (1..=99).map_while(|turn| {
        let file = shot.dir.prompt_file(id, shown_attempt(shot, task), turn);
        Some((turn, fs::read_to_string(file).ok()?))
    });
    let editable = shot.may_act() && task_state(ledger.task(task)) != "running";
    html! {
        h2 { "Instruction" }
        @for (turn, text) in turns { (folded(&shot.key(task, &format!("prompt-{turn}")), &format!("Message of turn {turn}"), &text)) }
        div.scroll tabindex="0" { table {
            caption.visually-hidden { "The row of the table" }
            tbody { @for (column, value) in columns.iter().filter(|(_, value)| !value.is_empty()) { tr { th scope="row" { (one_line(column)) } td { (without_controls(&shortened(value, 20_000))) } } } }
        } }
        @if editable {
            details #edit-row {
                summary { "Edit this row" }
                form.stack method="post" action={ (shot.run_link()) "/t/" (encode(id)) "/edit" } {
                    @for (column, value) in columns.iter().filter(|(column, value)| *column != "id" && is_typed(value)) {
                        label { (one_line(column)) textarea id={ "edit-" (column) } name=(column) rows="2" { (value) } }
                    }
                    p.soft { "The edit goes into tasks.csv. A task with a result runs again when the session continues." }
                    button type="submit" { "Save the row" }
                }
            }
        }
    }
}

/// Whether a form returns the text unchanged. Text that a person cannot type is not editable and stays in the
/// table.
fn is_typed(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}
