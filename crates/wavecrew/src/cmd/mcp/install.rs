//! `mcp install` and `mcp uninstall`: our entry in a client's own settings, shown before it is written.

use crate::agent_choice::{check, search_path};
use crate::clients::Client;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::user_file::{Change, Consent, show_and_apply};

/// Add this server to a client's settings, and raise the time limit of its tool calls to a day
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew mcp install codex            show the change, ask, make it\n  wavecrew mcp install claude -y        make it\n  wavecrew mcp install gemini --print   only show it"
)]
pub struct InstallArgs {
    /// Client whose settings to change
    client: Client,
    /// Agent for calls that name none [default: `agent` in wavecrew.toml, else the client itself]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    consent: Consent,
}

/// Remove this server from a client's settings
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew mcp uninstall codex")]
pub struct UninstallArgs {
    /// Client whose settings to change
    client: Client,
    #[command(flatten)]
    consent: Consent,
}

impl InstallArgs {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let program = std::env::current_exe().map_err(Failure::Output)?;
        let mut command = vec![program.to_string_lossy().into_owned(), "mcp".to_owned()];
        if let Some(agent) = &self.agent {
            check(agent, &search_path())?;
            command.extend(["--agent".to_owned(), agent.clone()]);
        }
        let change = Change::of(self.client.settings()?, |text| {
            self.client.with_entry(text, &command).map(Some)
        })?;
        show_and_apply(&[change], &self.consent, global)
    }
}

impl UninstallArgs {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let change = Change::of(self.client.settings()?, |text| {
            text.map(|text| self.client.without_entry(text)).transpose()
        })?;
        show_and_apply(&[change], &self.consent, global)
    }
}
