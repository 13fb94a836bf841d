//! The service as a program: prints one JSON line with its addresses and runs until stdin closes or a signal ends it.
//! Usage: `wavecrew-fake-model [PORT]`.

use std::io::{self, Write};
use std::process::ExitCode;

use wavecrew_fake_model::FakeModel;

fn main() -> ExitCode {
    let port = match std::env::args().nth(1).map(|word| word.parse()) {
        None => 0,
        Some(Ok(port)) => port,
        Some(Err(_)) => {
            eprintln!("usage: wavecrew-fake-model [PORT]");
            return ExitCode::from(2);
        }
    };
    match run(port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wavecrew-fake-model: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(port: u16) -> io::Result<()> {
    let model = FakeModel::start_on(port)?;
    let ready = serde_json::json!({ "url": model.url(), "refused_url": model.refused_url() });
    let mut out = io::stdout().lock();
    writeln!(out, "{ready}")?;
    out.flush()?;
    // Nothing to clean up, so a signal may end the program where it stands.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}
