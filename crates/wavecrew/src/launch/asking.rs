//! Questions of a run, put to the person at the terminal.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use rustix::process::Signal;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::SigId;
use signal_hook::consts::SIGINT;
use wavecrew_core::engine::{Answer, Question, QuestionKind};
use wavecrew_process::signal_self;

const OTHER: &str = "Something else";
const LEAVE_IT: &str = "Let it decide";

/// Asks, unless others took so long that nobody waits for the answer any more.
pub(super) fn ask(question: &Question) -> Answer {
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
            // What there is to know comes before; a prompt of several lines is not drawn well.
            let (known, asked) = question.text.rsplit_once('\n').unwrap_or(("", &question.text));
            if !known.is_empty() {
                anstream::eprintln!("{}", known);
            }
            // Enter gives the cautious one.
            let chosen = choice(asked, &labels, labels.len() - 1);
            chosen.map(|at| choices.swap_remove(at).answer)
        }
        QuestionKind::Advice { options } if options.is_empty() => words(&question.text),
        QuestionKind::Advice { options } => {
            let items: Vec<&str> = options
                .iter()
                .map(String::as_str)
                .chain([OTHER, LEAVE_IT])
                .collect();
            match choice(&question.text, &items, 0) {
                Some(at) if at < options.len() => Some(Answer::Text(options[at].clone())),
                Some(at) if items[at] == OTHER => words("Your answer"),
                Some(_) | None => None,
            }
        }
    };
    answer.unwrap_or_else(|| question.kind.unanswered())
}

/// Which of these a person wants; `None` for whoever leaves with Escape, or goes away.
pub fn choice(prompt: &str, items: &[&str], default: usize) -> Option<usize> {
    let select = dialoguer::Select::with_theme(&Plain)
        .with_prompt(prompt)
        .items(items)
        .default(default);
    let ends = ends_at_once().swap(false, Ordering::SeqCst);
    let watch = ends.then(watch_for_interrupts).flatten();
    let chosen = select.interact_opt();
    ends_at_once().store(ends, Ordering::SeqCst);
    if let Some(watch) = watch {
        signal_hook::low_level::unregister(watch);
    }
    if chosen.is_err() {
        // Left in the middle of the question, which had hidden it.
        let _ = dialoguer::console::Term::stderr().show_cursor();
        if ends {
            signal_self(Signal::INT);
        }
    }
    chosen.ok().flatten()
}

/// While a question waits for a key, an interrupt comes as one. One that comes at another moment, or from elsewhere, ends the
/// program all the same, once the terminal is in order.
fn watch_for_interrupts() -> Option<SigId> {
    let (mut heard, interrupts) = UnixStream::pair().ok()?;
    let before = tcgetattr(io::stdin()).ok();
    let watch = signal_hook::low_level::pipe::register(SIGINT, interrupts).ok()?;
    std::thread::spawn(move || {
        // The other end is gone when the question is.
        if heard.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
            if let Some(before) = before {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
            }
            let _ = dialoguer::console::Term::stderr().show_cursor();
            ends_at_once().store(true, Ordering::SeqCst);
            signal_self(Signal::INT);
        }
    });
    Some(watch)
}

/// From now on somebody else sees to interrupts, and they no longer end the program where it stands.
pub fn leave_interrupts() {
    ends_at_once().store(false, Ordering::SeqCst);
}

/// Whether an interrupt ends the program at once, as it does without a handler. While a question is open it must not: the
/// terminal has to be put in order first.
fn ends_at_once() -> &'static AtomicBool {
    static ENDS: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    ENDS.get_or_init(|| {
        let ends = Arc::new(AtomicBool::new(true));
        // Without it questions work all the same, but for the cursor after Ctrl-C.
        let _ = signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&ends));
        ends
    })
}

/// Prompts as they are written: most of them end in a question mark, and need no colon behind it.
struct Plain;

impl dialoguer::theme::Theme for Plain {
    fn format_prompt(&self, f: &mut dyn fmt::Write, prompt: &str) -> fmt::Result {
        f.write_str(prompt)
    }

    fn format_select_prompt_selection(
        &self,
        f: &mut dyn fmt::Write,
        prompt: &str,
        chosen: &str,
    ) -> fmt::Result {
        write!(f, "{prompt} {chosen}")
    }
}

/// What the person says; nothing leaves it to whoever asked.
fn words(prompt: &str) -> Option<Answer> {
    let input = dialoguer::Input::<String>::new().with_prompt(prompt);
    let said = input.allow_empty(true).interact_text().ok()?;
    let said = said.trim();
    (!said.is_empty()).then(|| Answer::Text(said.to_owned()))
}
