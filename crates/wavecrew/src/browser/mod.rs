//! The browser beside the command line: starts the server of `wavecrew-web`, and asks the person there when a command has
//! `--web`.

mod access;
mod person;

use crate::exit::Failure;
use crate::global::Global;
use crate::session_state::record_act;
use crate::{hint, show};
use person::CommandLine;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use wavecrew_process::LockAnyway;
use wavecrew_session::{PersonRequest, SessionDir};
use wavecrew_web::{Bound, Certificate, Desk, Prompt, Reply, Server, ServerError};

/// How long the last state of a run has to reach open pages before the server ends.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long the last bytes have to leave this process.
const FLUSH: Duration = Duration::from_millis(100);

/// How the journal names the browser as the place of an action.
const VIA: &str = "browser";

/// The desk of this process, once a command with `--web` has started.
static DESK: OnceLock<Arc<Desk>> = OnceLock::new();
/// Actions before there was a session to record them in.
static EARLY: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Whether questions go to the browser.
pub fn is_on() -> bool {
    DESK.get().is_some()
}

/// Asks for one of `items` in the browser. `None` without a browser to ask in.
pub fn choose(context: &str, prompt: &str, items: &[&str], default: usize) -> Option<usize> {
    let asked = Prompt {
        question: prompt.to_owned(),
        context: context.to_owned(),
        options: items.iter().map(|&item| item.to_owned()).collect(),
        default,
        ..Prompt::default()
    };
    match DESK.get()?.ask(asked)? {
        Reply::Choice(choice) => Some(choice),
        Reply::Text(_) => None,
    }
}

/// Where a person acts, other than at the terminal.
pub fn via() -> Option<&'static str> {
    is_on().then_some(VIA)
}

/// A person decided something in the browser before the session exists: its journal begins with it.
pub fn acted_before_session(action: &'static str) {
    if is_on() {
        EARLY.lock_anyway().push(action);
    }
}

/// Journals what a person decided in the browser after the run.
pub fn acted_after_run(dir: &SessionDir, action: &str) -> Result<(), Failure> {
    via().map_or(Ok(()), |via| record_act(dir, action, None, via))
}

/// Shows something in the browser that needs no answer.
pub fn tell(title: &str, text: &str) {
    if let Some(desk) = DESK.get() {
        desk.tell(title, text.to_owned());
    }
}

/// Asks for a text in the browser. `None` if the person cancels.
pub fn edit(prompt: &str, text: &str, leave: &str) -> Option<String> {
    let asked = Prompt {
        question: prompt.to_owned(),
        options: vec![leave.to_owned()],
        text: Some(text.to_owned()),
        ..Prompt::default()
    };
    match DESK.get()?.ask(asked)? {
        Reply::Text(text) => Some(text.replace("\r\n", "\n")),
        Reply::Choice(_) => None,
    }
}

/// The command runs this session: the browser goes there.
pub fn show_session(dir: &SessionDir) -> Result<(), Failure> {
    let Some(desk) = DESK.get() else { return Ok(()) };
    for action in EARLY.lock_anyway().drain(..) {
        dir.person_requests().put(&PersonRequest {
            action: action.to_owned(),
            via: VIA.to_owned(),
            ..PersonRequest::default()
        })?;
    }
    desk.set_session(dir.id());
    Ok(())
}

/// The command has ended: open pages show its last state, and why it failed if it did.
pub fn show_end(failure: Option<&Failure>) {
    let Some(desk) = DESK.get() else { return };
    if let Some(failure) = failure {
        let help = failure.help().map(|help| format!("\nWhat to do: {help}"));
        desk.tell("Not done", format!("{failure}{}", help.unwrap_or_default()));
    }
    desk.end(FAREWELL);
    std::thread::sleep(FLUSH);
}

/// Starts the server of a command that runs something.
pub fn start(project: &Path, open: bool, global: &Global) -> Result<(), Failure> {
    if is_on() {
        return Ok(());
    }
    let desk = Arc::new(Desk::default());
    let bound = bind(
        project,
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        Arc::clone(&desk),
        None,
        true,
    )?;
    let link = bound.link("/current");
    if !global.quiet {
        tell!("Browser {link}");
    }
    if open {
        open_browser(&link);
    }
    std::thread::spawn(move || drop(bound.serve()));
    // Only the first command of a process starts one.
    let _ = DESK.set(desk);
    Ok(())
}

/// Takes the port for a server of the project. A new link is made unless the saved one may be used again.
pub fn bind(
    project: &Path,
    address: SocketAddr,
    desk: Arc<Desk>,
    certificate: Option<Certificate>,
    new_link: bool,
) -> Result<Bound, Failure> {
    let server = Server {
        certificate,
        project: project.to_owned(),
        person: Arc::new(CommandLine::default()),
        desk,
        access: access::of_project(project, new_link)?,
    };
    server.bind(address).map_err(|error| match &error {
        ServerError::PortTaken { .. } => Failure::with_help(
            error.to_string(),
            format!(
                "name another one with --port, or leave it out for a free one: `{}`",
                hint::command("web")
            ),
        ),
        ServerError::Listen { .. } => Failure::with_help(
            error.to_string(),
            "name an address of this machine with --listen, such as 127.0.0.1 or 0.0.0.0",
        ),
        ServerError::Start(_) => Failure::input(error.to_string()),
    })
}

/// Opens the link in the person's browser. Prints a message if there is none; the link is printed in any
/// case.
pub fn open_browser(link: &str) {
    let program = std::env::var("BROWSER")
        .ok()
        .filter(|program| !program.is_empty());
    let mut command = Command::new(program.as_deref().unwrap_or("xdg-open"));
    command
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(_) => show::warning(
            "no browser could be opened",
            Some("open the link yourself, or name a browser in the variable BROWSER"),
        ),
    }
}

/// Whether others on the network can reach the address.
pub fn is_reachable_by_others(address: IpAddr) -> bool {
    !address.is_loopback()
}
