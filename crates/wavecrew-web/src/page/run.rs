//! The page of a run: head, inbox, figures, and one of its tabs. Each part is a fragment that the stream replaces.

use super::{Frame, badge, board, history, inbox, meters, notes, timeline, without_controls};
use crate::server::desk::Prompt;
use crate::shot::{Medium, Shot};
use maud::{Markup, html};
use wavecrew_core::view::one_line;

/// The tabs by their names in the address, and their titles.
pub const TABS: [(&str, &str); 5] = [
    ("", "Plan"),
    ("timeline", "Timeline"),
    ("decisions", "Decisions"),
    ("notes", "Discoveries, messages, wisdom"),
    ("journal", "Journal"),
];

/// The parts of the page, by the ids of their elements.
pub fn fragments(shot: &Shot<'_>, prompts: &[Prompt]) -> Vec<(&'static str, Markup)> {
    vec![
        ("head", head(shot)),
        (
            "inbox",
            html! { (inbox::prompts(prompts, shot.medium)) (inbox::question(shot)) },
        ),
        ("meters", meters::meters(shot)),
        ("past", past(shot)),
        ("slider", history::slider(shot)),
        ("tab", tab(shot)),
    ]
}

pub fn page(shot: &Shot<'_>, prompts: &[Prompt]) -> Markup {
    let [head, inbox, meters, past, slider, tab] = <[_; 6]>::try_from(fragments(shot, prompts))
        .expect("the parts above")
        .map(|(_, markup)| markup);
    let body = html! {
        div #head aria-live="polite" { (head) }
        div #inbox aria-live="assertive" { (inbox) }
        section.panel #meters { (meters) }
        nav.tabs aria-label="Views of the run" {
            @for (name, title) in TABS {
                a href=(shot.query.link(|query| { *query = crate::shot::Query { tab: name.to_owned(), at: query.at.take(), ..Default::default() }; }))
                    aria-current=[(shot.query.tab == name).then_some("page")] { (title) }
            }
        }
        div #past { (past) }
        div.slider.controls #slider { (slider) }
        section.panel #tab { (tab) }
    };
    let frame = Frame {
        title: shot.dir.id(),
        trail: vec![(shot.dir.id().to_owned(), shot.run_link())],
        stream: (!shot.past).then(|| format!("{}/stream{}", shot.run_link(), shot.query.text())),
    };
    frame.around(&body)
}

fn tab(shot: &Shot<'_>) -> Markup {
    match shot.query.tab.as_str() {
        "timeline" => html! { h2 { "Timeline" } (timeline::timeline(shot)) },
        "decisions" => notes::decisions(shot),
        "notes" => html! { (notes::discoveries(shot)) (notes::messages(shot)) (notes::wisdom(shot)) },
        "journal" => history::events(shot),
        _ => html! { h2 { "Plan" } (board::board(shot)) },
    }
}

fn past(shot: &Shot<'_>) -> Markup {
    html! {
        @if shot.past {
            p.past role="status" {
                "You see the run after event " (shot.events.len()) " of " (shot.total) ", at " (shot.now) ". "
                a href=(shot.query.link(|query| query.at = None)) { "Back to now" }
            }
        }
    }
}

pub fn head(shot: &Shot<'_>) -> Markup {
    let info = shot.info;
    html! {
        div.head {
            div.grow {
                div.row { h1 { (shot.dir.id()) } (badge(shot.state)) }
                @if let Some(info) = info.filter(|info| !info.request.is_empty()) { p { (one_line(&info.request)) } }
                ul.facts {
                    @if let Some(info) = info {
                        li { "Team " (one_line(&info.team)) @if let Some(pipeline) = &info.pipeline { ", pipeline " (one_line(pipeline)) } }
                        li { "Agent " (board::short_agent(&info.default_agent)) }
                        li { "Started " (one_line(&info.started_at)) }
                        @if info.replay().is_some() { li { "Replay: no agent ran" } }
                    }
                    @if let Some(ending) = &shot.ledger.ending { li { "Ended: " (one_line(&ending.to_string())) } }
                    @if let Some(line) = shot.dir.measured_result().get("line").and_then(|line| line.as_str()) { li { (one_line(line)) } }
                }
            }
            @if shot.may_act() { (actions(shot)) }
        }
        @for (name, pool) in shot.ledger.waits(shot.now).filter(|_| shot.is_running()) {
            p.panel.warn { (wavecrew_core::view::wait_line(name, pool, shot.now)) }
        }
        @if shot.state == "archived" && !shot.past {
            p.panel.soft { "This session is archived: `resume` without a name skips it. To work on it again: " code { "wavecrew resume " (shot.dir.id()) } }
        }
        @if !shot.problems.is_empty() {
            section.panel.problem {
                h2 { "Not everything could be read" }
                ul { @for problem in shot.problems { li { (without_controls(problem)) } } }
                p { "This page shows the rest. Copy the session folder before you repair anything: " code { (shot.dir.path().display()) } }
            }
        }
    }
}

/// A button that does one thing.
pub fn action(shot: &Shot<'_>, path: &str, title: &str, class: &str) -> Markup {
    html! {
        form.inline method="post" action={ (shot.run_link()) "/" (path) } {
            button type="submit" class=[(!class.is_empty()).then_some(class)] id={ "do-" (path.replace('/', "-")) } { (title) }
        }
    }
}

fn actions(shot: &Shot<'_>) -> Markup {
    let failed = shot.ledger.counts().failed + shot.ledger.counts().skipped > 0;
    let tests = shot.dir.scope_json().exists() && shot.dir.result_summary().exists();
    html! {
        div.row.controls role="group" aria-label="Actions" {
            @match shot.state {
                "running" => { (action(shot, "pause", "Pause", "")) (action(shot, "cancel", "Cancel the run", "danger")) }
                "paused" => { (action(shot, "resume", "Resume", "primary")) (action(shot, "cancel", "Cancel the run", "danger")) }
                "broken" => {}
                "stopped" | "stalled" => { (action(shot, "resume", "Continue", "primary")) (action(shot, "cancel", "Cancel", "danger")) }
                _ if failed => (action(shot, "retry", "Retry what failed", "")),
                _ => {}
            }
            @if !shot.is_running() && tests { (action(shot, "apply", "Apply tests", "")) }
            @if !shot.is_running() && !["archived", "broken"].contains(&shot.state) { (action(shot, "archive", "Archive", "")) }
            @if shot.medium != Medium::File { a.button href={ (shot.run_link()) "/report.html" } { "Save report" } }
        }
    }
}
