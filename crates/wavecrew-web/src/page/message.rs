//! Pages with a message: what happened and what to do.

use super::Frame;
use maud::{Markup, html};

/// A page about an error.
pub fn problem(title: &str, message: &str, help: &str) -> Markup {
    let frame = Frame {
        title,
        trail: Vec::new(),
        stream: None,
    };
    frame.around(&html! {
        section.panel.problem {
            h1 { (title) }
            @if !message.is_empty() { p { (super::without_controls(message)) } }
            @if !help.is_empty() { p { strong { "What to do: " } (super::without_controls(help)) } }
            p { a href="/" { "All sessions" } }
        }
    })
}
