//! The journal as lines, and the slider that shows the run at an earlier event.

use super::{paged, pager, shortened};
use crate::shot::{Medium, Query, Shot};
use maud::{Markup, html};
use serde_json::Value;
use wavecrew_core::event::Event;
use wavecrew_core::view::one_line;

const LINES: usize = 200;
const LONGEST: usize = 400;

/// The slider. Without a script it is a form.
pub fn slider(shot: &Shot<'_>) -> Markup {
    if shot.medium == Medium::File || shot.total == 0 {
        return html! {};
    }
    let Query { tab, .. } = shot.query;
    html! {
        form.history method="get" aria-label="History" {
            @if !tab.is_empty() { input type="hidden" name="tab" value=(tab); }
            label for="history" { "History: event " span #history-at { (shot.events.len()) } " of " (shot.total) }
            input #history type="range" name="at" min="1" max=(shot.total) value=(shot.events.len()) data-history="";
            button type="submit" { "Show" }
            @if shot.past { a href=(shot.query.link(|query| query.at = None)) { "Back to now" } }
        }
    }
}

/// The events, newest first.
pub fn events(shot: &Shot<'_>) -> Markup {
    let total = shot.events.len();
    let (range, pages) = paged(total, LINES, shot.query.page());
    html! {
        h2 { "Journal" }
        @if total == 0 { p.soft { "The journal is empty." } }
        ol.events {
            @for number in range.map(|at| total - at) {
                @let event = &shot.events[number - 1];
                li {
                    a href=(shot.query.link(|query| { query.at = Some(number.to_string()); query.page = None; })) { "#" (number) }
                    span.soft { @if let Some(at) = event.at() { (at.to_string().get(11..19).unwrap_or_default().to_owned()) } }
                    span { (line(event)) }
                }
            }
        }
        (pager(shot.query.page(), pages, |page| shot.query.link(|query| query.page = Some(page.to_string()))))
    }
}

/// An event in one line: its kind, its task, and the rest.
fn line(event: &Event) -> Markup {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(event) else {
        return html! {};
    };
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) => one_line(&shortened(&text, 2 * LONGEST)),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (kind, task) = (text(fields.remove("e")), text(fields.remove("task")));
    for internal in ["at", "print", "process"] {
        fields.remove(internal);
    }
    let rest: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| format!("{name} {}", text(Some(value))))
        .collect();
    let rest: String = rest.join(" · ").chars().take(LONGEST).collect();
    html! { strong { (kind.replace('_', " ")) } " " (task) " " span.soft { (rest) } }
}
