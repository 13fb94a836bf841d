//! Questions of a run, put to the person at the terminal.

use std::fmt;
use std::sync::Mutex;
use std::time::Instant;
use wavecrew_core::engine::{About, Answer, Question};

const OTHER: &str = "Something else";
const LEAVE_IT: &str = "Let it decide";

/// Asks, unless others took so long that nobody waits for the answer any more.
pub(super) fn ask(question: &Question) -> Answer {
    // One question at a time: there is one person.
    static ASKING: Mutex<()> = Mutex::new(());
    let since = Instant::now();
    let _asking = ASKING.lock();
    if since.elapsed() >= question.within {
        return question.about.unanswered();
    }
    let answer = match &question.about {
        about @ (About::FailedWave | About::Permission | About::Judgement { .. } | About::Approval) => {
            let mut choices = about.choices();
            let labels: Vec<&str> = choices.iter().map(|choice| choice.label).collect();
            // What there is to know comes before; a prompt of several lines is not drawn well.
            let (known, asked) = question.text.rsplit_once('\n').unwrap_or(("", &question.text));
            if !known.is_empty() {
                anstream::eprintln!("{}", known);
            }
            // Enter gives the cautious one.
            let chosen = choice(asked, &labels, labels.len() - 1);
            chosen.map(|at| choices.swap_remove(at).answer)
        }
        About::Advice { options } if options.is_empty() => words(&question.text),
        About::Advice { options } => {
            let items: Vec<&str> = options
                .iter()
                .map(String::as_str)
                .chain([OTHER, LEAVE_IT])
                .collect();
            match choice(&question.text, &items, 0) {
                Some(at) if at < options.len() => Some(Answer::Words(options[at].clone())),
                Some(at) if items[at] == OTHER => words("Your answer"),
                Some(_) | None => None,
            }
        }
    };
    answer.unwrap_or_else(|| question.about.unanswered())
}

/// Questions without a colon behind their question mark.
pub struct Plain;

impl dialoguer::theme::Theme for Plain {
    fn format_prompt(&self, f: &mut dyn fmt::Write, prompt: &str) -> fmt::Result {
        let colon = if prompt.ends_with('?') { "" } else { ":" };
        write!(f, "{prompt}{colon}")
    }
}

fn choice(prompt: &str, items: &[&str], default: usize) -> Option<usize> {
    let select = dialoguer::Select::with_theme(&Plain).with_prompt(prompt);
    select.items(items).default(default).interact().ok()
}

/// What the person says; nothing leaves it to whoever asked.
fn words(prompt: &str) -> Option<Answer> {
    let input = dialoguer::Input::<String>::new().with_prompt(prompt);
    let said = input.allow_empty(true).interact_text().ok()?;
    let said = said.trim();
    (!said.is_empty()).then(|| Answer::Words(said.to_owned()))
}
