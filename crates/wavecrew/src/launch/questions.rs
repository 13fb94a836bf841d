//! Questions of a run, put to the person at the terminal.

use crate::project;
use crate::terminal::choose;
use std::sync::Mutex;
use std::time::Instant;
use wavecrew_core::engine::{Answer, GivenAnswer, Question, QuestionKind};
use wavecrew_core::event::AnsweredBy;
use wavecrew_session::SessionDir;

const OTHER: &str = "Something else";
const LET_IT_DECIDE: &str = "Let it decide";

/// Asks the person. Returns the default answer when other questions took so long that this one has timed out.
pub fn ask(dir: &SessionDir, question: &Question) -> GivenAnswer {
    // One question at a time: there is one person.
    static ASKING: Mutex<()> = Mutex::new(());
    let since = Instant::now();
    let _asking = ASKING.lock();
    if since.elapsed() >= question.timeout {
        return GivenAnswer::by(AnsweredBy::Nobody, question.kind.unanswered());
    }
    let (facts, asked) = question.facts_and_question(|path| project::shown(&dir.path().join(path)));
    if !facts.is_empty() {
        tell!("{facts}");
    }
    let answer = match &question.kind {
        kind @ (QuestionKind::FailedWave
        | QuestionKind::Permission
        | QuestionKind::PolicyDecision { .. }
        | QuestionKind::Approval { .. }) => {
            let mut choices = kind.choices();
            let labels: Vec<&str> = choices.iter().map(|choice| choice.label).collect();
            // Enter selects the most cautious answer, which is the last.
            let chosen = choose(asked, &labels, labels.len() - 1);
            chosen.map(|at| choices.swap_remove(at).answer)
        }
        QuestionKind::Advice { options } if options.is_empty() => free_text(asked).map(Answer::Text),
        QuestionKind::Advice { options } => {
            let items: Vec<&str> = options
                .iter()
                .map(String::as_str)
                .chain([OTHER, LET_IT_DECIDE])
                .collect();
            match choose(asked, &items, 0) {
                Some(at) if at < options.len() => Some(Answer::Text(options[at].clone())),
                Some(at) if items[at] == OTHER => free_text("Your answer").map(Answer::Text),
                Some(_) | None => None,
            }
        }
    };
    match answer {
        Some(answer) => GivenAnswer {
            remark: (answer == Answer::Revise)
                .then(|| free_text("What should change? (Enter for no remark)"))
                .flatten(),
            answer,
            by: AnsweredBy::Person,
        },
        None => GivenAnswer::by(AnsweredBy::Person, question.kind.unanswered()),
    }
}

/// A line that the person types; `None` when it is empty.
fn free_text(prompt: &str) -> Option<String> {
    let input = dialoguer::Input::<String>::new().with_prompt(prompt);
    let text = input.allow_empty(true).interact_text().ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
