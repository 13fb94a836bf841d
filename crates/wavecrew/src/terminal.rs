//! The terminal: whether there is a person to ask, questions with a list of answers, and interrupts while one is open.

use crate::browser;
use std::fmt;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::SigId;
use signal_hook::consts::SIGINT;
use wavecrew_process::signal_self;

/// Whether there is a person to ask, here or in the browser.
pub fn is_interactive() -> bool {
    browser::is_on() || io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows coloured lines: in the person's pager when they do not fit on the screen, else as they are.
pub fn page(lines: &[String]) {
    let rows = usize::from(dialoguer::console::Term::stderr().size().0);
    if !(is_interactive()
        && !browser::is_on()
        && io::stdout().is_terminal()
        && lines.len() >= rows
        && paged(lines))
    {
        for line in lines {
            tell!("{line}");
        }
    }
}

/// Whether the pager showed the lines. `PAGER` names it; without one it is `less`.
fn paged(lines: &[String]) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if pager.trim().is_empty() || pager.trim() == "cat" {
        return false;
    }
    let started = Command::new("sh")
        .args(["-c", &pager])
        // As git does: show colours, and leave what was shown on the screen.
        .env("LESS", std::env::var("LESS").unwrap_or_else(|_| "FRX".to_owned()))
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else { return false };
    let mut text = anstream::AutoStream::new(Vec::new(), anstream::stdout().current_choice());
    for line in lines {
        // Writing to memory does not fail.
        let _ = writeln!(text, "{line}");
    }
    if let Some(mut input) = child.stdin.take() {
        // A person may quit the pager before the end.
        let _ = input.write_all(&text.into_inner());
    }
    child.wait().is_ok_and(|status| status.success())
}

/// Asks for one of `items`. `None` when the person presses Escape or the terminal is gone.
pub fn choose(prompt: &str, items: &[&str], default: usize) -> Option<usize> {
    choose_about("", prompt, items, default)
}

/// Asks for one of `items`, after showing what it is about.
pub fn choose_about(context: &str, prompt: &str, items: &[&str], default: usize) -> Option<usize> {
    if browser::is_on() {
        return browser::choose(context, prompt, items, default);
    }
    if !context.is_empty() {
        tell!("{context}");
    }
    let select = dialoguer::Select::with_theme(&PlainTheme)
        .with_prompt(prompt)
        .items(items)
        .default(default);
    let ends = interrupt_ends_program().swap(false, Ordering::SeqCst);
    let watch = ends.then(watch_for_interrupts).flatten();
    let chosen = select.interact_opt();
    interrupt_ends_program().store(ends, Ordering::SeqCst);
    if let Some(watch) = watch {
        signal_hook::low_level::unregister(watch);
    }
    if chosen.is_err() {
        // The question hid the cursor.
        let _ = dialoguer::console::Term::stderr().show_cursor();
        if ends {
            signal_self(Signal::INT);
        }
    }
    chosen.ok().flatten()
}

/// Asks for a text that `check` accepts, starting with `default`. `None` if the person enters none.
pub fn input(prompt: &str, default: String, check: impl Fn(&String) -> Result<(), String>) -> Option<String> {
    if !browser::is_on() {
        let asked = dialoguer::Input::new().with_prompt(prompt).default(default);
        return asked.validate_with(check).interact_text().ok();
    }
    let (mut question, mut text) = (prompt.to_owned(), default);
    loop {
        let given = browser::edit(&question, &text, "Go back")?;
        given.trim().clone_into(&mut text);
        match check(&text) {
            Ok(()) => return Some(text),
            Err(problem) => question = format!("{prompt}: {problem}"),
        }
    }
}

/// While a question waits for a key, Ctrl-C arrives as a key. An interrupt from elsewhere still ends the program, after the
/// terminal is restored.
fn watch_for_interrupts() -> Option<SigId> {
    let (mut received, interrupts) = UnixStream::pair().ok()?;
    let before = tcgetattr(io::stdin()).ok();
    let watch = signal_hook::low_level::pipe::register(SIGINT, interrupts).ok()?;
    std::thread::spawn(move || {
        // The other end closes when the question is answered.
        if received.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
            if let Some(before) = before {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
            }
            let _ = dialoguer::console::Term::stderr().show_cursor();
            interrupt_ends_program().store(true, Ordering::SeqCst);
            signal_self(Signal::INT);
        }
    });
    Some(watch)
}

/// From now on another handler receives interrupts: they no longer end the program at once.
pub fn hand_over_interrupts() {
    interrupt_ends_program().store(false, Ordering::SeqCst);
}

/// Whether an interrupt ends the program at once, as it does without a handler. Not while a question is open: the terminal
/// must be restored first.
fn interrupt_ends_program() -> &'static AtomicBool {
    static ENDS: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    ENDS.get_or_init(|| {
        let ends = Arc::new(AtomicBool::new(true));
        // Without it only the cursor stays hidden after Ctrl-C.
        let _ = signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&ends));
        ends
    })
}

/// Prompts exactly as written: most end in a question mark and need no colon after it.
struct PlainTheme;

impl dialoguer::theme::Theme for PlainTheme {
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
