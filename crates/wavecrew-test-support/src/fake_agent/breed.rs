//! Processes that outlive their worker. Each is this program again with other arguments; it reports when it
//! is running.

use std::env::current_exe;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process, setsid};

use crate::fake_agent::count;
use crate::fake_agent::script::Word;

const IGNORING: &str = "FAKE_IGNORES_TERM";

pub fn hang() -> ! {
    loop {
        sleep(Duration::from_hours(1));
    }
}

pub fn die(signal: &str) -> io::Result<()> {
    let number = i32::try_from(count(signal)?).unwrap_or_default();
    let signal = Signal::from_named_raw(number).ok_or_else(|| io::Error::other("no such signal"))?;
    Ok(kill_process(getpid(), signal)?)
}

/// What is ignored stays ignored over an exec: a shell ignores it and becomes this program again.
pub fn ignore_term(words: &[Word]) -> io::Result<()> {
    if std::env::var_os(IGNORING).is_some() {
        return Ok(());
    }
    Err(stubborn()?
        .env(IGNORING, "1")
        .args(words.iter().map(Word::spelled))
        .exec())
}

/// Leaves processes behind and returns when they are up.
pub fn leave(kind: &str, value: &str, words: &[Word]) -> io::Result<()> {
    let mut command = match kind {
        "stubborn-fork" | "hidden-daemon" => stubborn()?,
        _ => Command::new(current_exe()?),
    };
    match kind {
        "fork" => command.arg("up"),
        "stubborn-fork" => command.process_group(0).arg("up"),
        "daemon" => command.arg("detach"),
        "hidden-daemon" => command.env_clear().arg("detach"),
        "chain" => command.arg("link"),
        "bomb" => command.arg(format!("litter={value}")),
        other => return Err(no_such(other)),
    };
    let mut child = start(&mut command, Stdio::piped(), words)?;
    let out = child
        .stdout
        .take()
        .ok_or_else(|| io::Error::other("the child has no stdout"))?;
    BufReader::new(out).read_line(&mut String::new())?;
    if kind.ends_with("daemon") {
        // The process in between is no leftover.
        child.wait()?;
    }
    Ok(())
}

/// The words that only this module gives to the processes it starts.
pub fn part(name: &str, value: &str, words: &[Word]) -> io::Result<ExitCode> {
    let again = |word: &str, stdout: Stdio| start(Command::new(current_exe()?).arg(word), stdout, words);
    match name {
        "up" => up_and_hang(),
        // The grandchild leads a session of its own and has lost its parent: neither group nor parent leads to it.
        "detach" => {
            again("settle", Stdio::inherit())?;
            Ok(ExitCode::SUCCESS)
        }
        "settle" => {
            setsid()?;
            up_and_hang()
        }
        "link" => {
            setsid()?;
            up();
            again("link", Stdio::null())?;
            Ok(ExitCode::SUCCESS)
        }
        "litter" => {
            for _ in 0..count(value)? {
                again("hang", Stdio::null())?;
                up();
            }
            hang()
        }
        other => Err(no_such(other)),
    }
}

fn start(command: &mut Command, stdout: Stdio, words: &[Word]) -> io::Result<Child> {
    let tags = words.iter().filter(|w| w.name == "tag").map(Word::spelled);
    command.args(tags).stdin(Stdio::null()).stdout(stdout).spawn()
}

/// This program, started by a shell that ignores SIGTERM.
fn stubborn() -> io::Result<Command> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "trap '' TERM; exec \"$0\" \"$@\""])
        .arg(current_exe()?);
    Ok(command)
}

fn up_and_hang() -> ! {
    up();
    hang()
}

fn up() {
    // Nobody may be listening any more; that is the point of some of these processes.
    let _ = io::stdout().write_all(b"up\n");
}

fn no_such(word: &str) -> io::Error {
    io::Error::other(format!("no word `{word}`"))
}
