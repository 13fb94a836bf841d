//! The service as a program.
//!
//! `wavecrew-fake-model [PORT]` prints one JSON line with its addresses and runs until stdin closes or a signal ends it.
//! `wavecrew-fake-model with AGENT COMMAND...` runs the command with the agent pointed at the service.

use std::io::{self, Write};
use std::process::{Command, ExitCode};

use wavecrew_test_support::fake_model::FakeModel;
use wavecrew_test_support::fake_model::client::{AGENTS, point};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => serve(0),
        ["with", agent, program, args @ ..] if AGENTS.contains(agent) => with(agent, program, args),
        [port] if port.parse::<u16>().is_ok() => serve(port.parse().unwrap_or(0)),
        _ => {
            eprintln!("usage: wavecrew-fake-model [PORT]");
            eprintln!("       wavecrew-fake-model with {} COMMAND...", AGENTS.join("|"));
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("wavecrew-fake-model: {error}");
        ExitCode::FAILURE
    })
}

fn serve(port: u16) -> io::Result<ExitCode> {
    let model = FakeModel::start_on(port)?;
    let ready = serde_json::json!({ "url": model.url(), "refused_url": model.refused_url() });
    let mut out = io::stdout().lock();
    writeln!(out, "{ready}")?;
    out.flush()?;
    // Nothing to clean up, so a signal may end the program where it stands.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a command in which the agent knows no other service than this one, in a home folder that is removed after it.
fn with(agent: &str, program: &str, args: &[&str]) -> io::Result<ExitCode> {
    let model = FakeModel::start()?;
    let home = tempfile::Builder::new().prefix("wavecrew-home-").tempdir()?;
    let env = point(agent, &model.base("ok"), home.path())?;
    let status = Command::new(program)
        .args(args)
        .env("HOME", home.path())
        .envs(env)
        .status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
