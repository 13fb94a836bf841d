//! Everything besides the results: decisions of policies, discoveries, messages, wisdom.

use super::{badge, markdown, shortened, without_controls};
use crate::shot::Shot;
use maud::{Markup, html};
use serde_json::Value;
use wavecrew_core::view::one_line;
use wavecrew_session::WisdomFile;

/// How many of the newest entries of each kind are shown.
const SHOWN: usize = 300;

pub fn decisions(shot: &Shot<'_>) -> Markup {
    let decisions = &shot.ledger.decisions;
    html! {
        h2 { "Decisions" }
        @if decisions.is_empty() { p.soft { "No loop, checkpoint or gate has decided anything yet." } }
        @else {
            div.scroll tabindex="0" { table {
                thead { tr { th scope="col" { "Task" } th scope="col" { "Policy" } th scope="col" { "Decision" } th.num scope="col" { "Round" } th.num scope="col" { "Score" } th scope="col" { "Measured" } th scope="col" { "Why" } } }
                tbody { @for decision in decisions.iter().rev().take(SHOWN) { tr {
                    th scope="row" { a href=(shot.task_link(&decision.task)) { (one_line(&decision.task)) } }
                    td { (decision.by) }
                    td { (badge(decision.outcome.as_str())) }
                    td.num { (decision.round) }
                    td.num { @if let Some(score) = decision.score { (format!("{score:.2}")) } }
                    td { @for (name, value) in &decision.measured { span.soft { (one_line(name)) } " " (one_line(value)) " " } }
                    td { (without_controls(&decision.why)) }
                } } }
            } }
        }
    }
}

pub fn discoveries(shot: &Shot<'_>) -> Markup {
    let read = shot.dir.board().read();
    html! {
        h2 { "Discoveries" }
        @match read {
            Err(_) => p.soft { "There is no discovery board." },
            Ok(found) if found.entries.is_empty() => p.soft { "No worker has put anything on the board yet." },
            Ok(found) => {
                @if found.malformed > 0 { p.soft { (found.malformed) " lines of discoveries.ndjson cannot be read." } }
                div.scroll tabindex="0" { table {
                    thead { tr { th scope="col" { "When" } th scope="col" { "Who" } th scope="col" { "What" } th scope="col" { "Details" } } }
                    tbody { @for entry in found.entries.iter().rev().take(SHOWN) { tr {
                        td { (one_line(&entry.ts)) } td { (one_line(&entry.worker)) } td { (one_line(&entry.kind)) } td { (data(&entry.data)) }
                    } } }
                } }
            }
        }
    }
}

pub fn messages(shot: &Shot<'_>) -> Markup {
    let read = shot.dir.bus().read();
    html! {
        h2 { "Messages" }
        @match read {
            Ok((messages, _)) if !messages.is_empty() => div.scroll tabindex="0" { table {
                thead { tr { th scope="col" { "When" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Type" } th scope="col" { "Message" } } }
                tbody { @for message in messages.iter().rev().take(SHOWN) { tr {
                    td { (one_line(&message.ts)) } td { (one_line(&message.from)) } td { (one_line(&message.to)) } td { (one_line(&message.kind)) }
                    td { (one_line(&shortened(&message.summary, 4000))) @if !message.data.is_null() { " " span.soft { (data(&message.data)) } } }
                } } }
            } },
            Ok(_) | Err(_) => p.soft { "There are no messages." },
        }
    }
}

pub fn wisdom(shot: &Shot<'_>) -> Markup {
    html! {
        h2 { "Wisdom" }
        @for file in WisdomFile::ALL {
            @let text = shot.dir.wisdom().read(file).unwrap_or_default();
            @let text = text.trim_start_matches(file.heading()).trim();
            h3 { (file.name()) }
            @if text.is_empty() { p.soft { "Nothing yet." } } @else { (markdown::render(text)) }
        }
    }
}

/// JSON in one line: `name: value, name: value`.
fn data(value: &Value) -> String {
    let one = |value: &Value| match value {
        Value::String(text) => one_line(&shortened(text, 2000)),
        other => one_line(&shortened(&other.to_string(), 2000)),
    };
    match value {
        Value::Null => String::new(),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", one_line(name), one(value)))
                .collect();
            fields.join(", ")
        }
        other => one(other),
    }
}
