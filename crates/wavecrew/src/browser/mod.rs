//! The browser beside the command line: starts the server of `wavecrew-web`, and asks the person there when a command has
//! `--web`.

mod access;
mod person;

use crate::exit::Failure;
use crate::global::Global;
use crate::{hint, show};
use person::CommandLine;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wavecrew_web::{Bound, Desk, Prompt, Reply, Server, ServerError};

/// How long the last state of a run has to reach the browser before the server ends.
const FAREWELL: Duration = Duration::from_millis(400);

/// The desk of this process, once a command with `--web` has started.
static DESK: OnceLock<Arc<Desk>> = OnceLock::new();

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

/// Has a text edited in the browser. `None` when the person leaves it as it is.
pub fn edit(prompt: &str, text: &str) -> Option<String> {
    let asked = Prompt {
        question: prompt.to_owned(),
        options: vec!["Leave it as it is".to_owned()],
        text: Some(text.to_owned()),
        ..Prompt::default()
    };
    match DESK.get()?.ask(asked)? {
        Reply::Text(text) => Some(text.replace("\r\n", "\n")),
        Reply::Choice(_) => None,
    }
}

/// The command runs this session: the browser goes there.
pub fn show_session(id: &str) {
    if let Some(desk) = DESK.get() {
        desk.set_session(id);
    }
}

/// The command has ended: the last state goes out.
pub fn farewell() {
    if is_on() {
        std::thread::sleep(FAREWELL);
    }
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
        true,
    )?;
    let link = bound.link("/current");
    if !global.quiet {
        anstream::eprintln!("Browser {link}");
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
pub fn bind(project: &Path, address: SocketAddr, desk: Arc<Desk>, new_link: bool) -> Result<Bound, Failure> {
    let server = Server {
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

/// Opens the link in the person's browser. Without one, says so: the link is printed either way.
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
