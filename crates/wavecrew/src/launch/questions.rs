//! Questions of a run, put to the person at the terminal.

use crate::terminal::choose;
use std::sync::Mutex;
use std::time::Instant;
use wavecrew_core::engine::{Answer, Question, QuestionKind};

const OTHER: &str = "Something else";
const LET_IT_DECIDE: &str = "Let it decide";

/// Asks the person. Returns the default answer when other questions took so long that this one has timed out.
pub fn ask(question: &Question) -> Answer {
    // One question at a time: there is one person.
    static ASKING: Mutex<()> = Mutex::new(());
    let since = Instant::now();
    let _asking = ASKING.lock();
    if since.elapsed() >= question.timeout {
        return question.kind.unanswered();
    }
    let answer = match &question.kind {
        kind @ (QuestionKind::FailedWave
        | QuestionKind::Permission
        | QuestionKind::PolicyDecision { .. }
        | QuestionKind::Approval) => {
            let mut choices = kind.choices();
            let labels: Vec<&str> = choices.iter().map(|choice| choice.label).collect();
            // Only the last line is the prompt: a prompt of several lines is not drawn well.
            let (context, asked) = question.text.rsplit_once('\n').unwrap_or(("", &question.text));
            if !context.is_empty() {
                anstream::eprintln!("{}", context);
            }
            // Enter picks the most cautious answer, which is the last.
            let chosen = choose(asked, &labels, labels.len() - 1);
            chosen.map(|at| choices.swap_remove(at).answer)
        }
        QuestionKind::Advice { options } if options.is_empty() => free_text(&question.text),
        QuestionKind::Advice { options } => {
            let items: Vec<&str> = options
                .iter()
                .map(String::as_str)
                .chain([OTHER, LET_IT_DECIDE])
                .collect();
            match choose(&question.text, &items, 0) {
                Some(at) if at < options.len() => Some(Answer::Text(options[at].clone())),
                Some(at) if items[at] == OTHER => free_text("Your answer"),
                Some(_) | None => None,
            }
        }
    };
    answer.unwrap_or_else(|| question.kind.unanswered())
}

/// A line that the person types; `None` when it is empty.
fn free_text(prompt: &str) -> Option<Answer> {
    let input = dialoguer::Input::<String>::new().with_prompt(prompt);
    let text = input.allow_empty(true).interact_text().ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| Answer::Text(text.to_owned()))
}
