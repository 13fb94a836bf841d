//! Open questions to the person: those of the run, and those of the command that this server belongs to.

use super::diff::diff;
use super::evidence::document;
use super::without_controls;
use crate::server::desk::Prompt;
use crate::shot::{Medium, Shot, encode};
use maud::{Markup, html};
use wavecrew_run::questions::OpenQuestion;
use wavecrew_session::SessionDir;

/// The open question of a run.
pub fn question(shot: &Shot<'_>) -> Markup {
    let asked_elsewhere = shot.question.is_none() && !shot.past && shot.is_running() && waits(shot);
    html! {
        @if let Some(asked) = &shot.question { (form(shot.dir, asked, "The run asks", shot.medium)) }
        @else if asked_elsewhere {
            section.panel.inbox {
                h2 { "The run waits for an answer" }
                p { "It was asked at the terminal where the run was started. Start a run with " code { "--web" } " to answer in the browser." }
            }
        }
    }
}

/// The question of a run, with its answers.
pub fn form(dir: &SessionDir, asked: &OpenQuestion, title: &str, medium: Medium) -> Markup {
    let id = format!("asked-{}", encode(dir.id()));
    html! {
        section.panel.inbox aria-labelledby=(id) {
            h2 id=(id) { (title) }
            pre tabindex="0" { (without_controls(&asked.question)) }
            @for path in &asked.documents { (document(dir, &format!("asked-{path}"), path)) }
            @if medium == Medium::Full {
                form.stack method="post" action={ "/s/" (encode(dir.id())) "/answer" } {
                    input type="hidden" name="question" value=(asked.id);
                    @if asked.options.iter().any(|option| option == "revise") {
                        label { "What should change, for work that is revised" textarea id={ (id) "-remark" } name="remark" rows="2" {} }
                    }
                    div.row {
                        @for (at, option) in asked.options.iter().enumerate() {
                            button type="submit" name="answer" value=(option) class=[(at == 0).then_some("primary")] { (without_controls(&label(option))) }
                        }
                    }
                    @if asked.open {
                        label { "Another answer" textarea id={ (id) "-text" } name="text" {} }
                        button type="submit" { "Send the answer" }
                    }
                }
            } @else { p.soft { "This link is read-only: somebody else has to answer." } }
        }
    }
}

/// Whether the latest question has no answer.
fn waits(shot: &Shot<'_>) -> bool {
    use wavecrew_core::event::Event;
    let latest = shot.events.iter().rev().find_map(|event| match event {
        Event::Asked { .. } => Some(true),
        Event::Answered { .. } | Event::RunStarted { .. } | Event::AttemptStarted { .. } => Some(false),
        _ => None,
    });
    latest.unwrap_or(false)
}

/// The labels of a run's choices.
fn label(word: &str) -> String {
    match word {
        "retry" => "Try them again",
        "abort" => "Stop here",
        "allow" => "Allow it this time",
        "deny" => "Deny it",
        "go-on" => "Continue anyway",
        "revise" => "Have the work revised",
        "approve" => "Approve",
        other => other,
    }
    .to_owned()
}

/// Questions of the command that this server belongs to, before and after a run.
pub fn prompts(prompts: &[Prompt], medium: Medium) -> Markup {
    html! {
        @for prompt in prompts {
            section.panel.inbox aria-labelledby={ "prompt-" (prompt.id) } {
                h2 id={ "prompt-" (prompt.id) } { (without_controls(&prompt.question)) }
                @if prompt.context.starts_with("--- ") { (diff(&prompt.context)) }
                @else if !prompt.context.is_empty() { pre tabindex="0" { (without_controls(&prompt.context)) } }
                @if !prompt.is_question() {}
                @else if medium == Medium::Full {
                    form.stack method="post" action={ "/answer/" (encode(&prompt.id.to_string())) } {
                        div.row {
                            @for (at, option) in prompt.options.iter().enumerate() {
                                button type="submit" name="choice" value=(at) class=[(at == prompt.default).then_some("primary")] { (without_controls(option)) }
                            }
                        }
                        @if let Some(text) = &prompt.text {
                            label { "Your answer" textarea id={ "text-" (prompt.id) } name="text" { (text) } }
                            button type="submit" { "Send" }
                        }
                    }
                } @else { p.soft { "This link is read-only: somebody else has to answer." } }
            }
        }
    }
}
