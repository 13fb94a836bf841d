//! The integration tests of this crate, in one binary. Recordings are in `streams/AGENT/NAME.jsonl` and `interactive/NAME.txt`.
#![allow(clippy::disallowed_methods, reason = "tests read recordings from disk")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod acp;
mod streams;
mod transcripts;

use std::path::{Path, PathBuf};

use wavecrew_agents::cli::AgentCli;

/// A file or folder of the recordings.
fn recordings(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// The recorded output of an agent.
fn stream(cli: &dyn AgentCli, name: &str) -> String {
    let path = recordings(&format!("streams/{}/{name}.jsonl", cli.name()));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
