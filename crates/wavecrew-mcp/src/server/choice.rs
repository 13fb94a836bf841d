//! Chooses the agent for a call.

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use wavecrew_agents::cli::AgentCli;
use wavecrew_run::installed::installed;

/// The agent of the call, else of the server's settings, else the client's own, else the first that is installed.
pub(super) fn choose(
    called: Option<&str>,
    setting: Option<&str>,
    context: &RequestContext<RoleServer>,
) -> Result<String, String> {
    if let Some(name) = called.or(setting) {
        return Ok(name.to_owned());
    }
    let client = context.client_info().map(|info| info.name.to_lowercase());
    let path = std::env::var_os("PATH").unwrap_or_default();
    preferred(client.as_deref(), &installed(&path))
        .map(|cli| cli.name().to_owned())
        .ok_or_else(|| {
            "no agent was chosen and none is installed: give `agent`, start the server with --agent, or set `agent` in \
             wavecrew.toml"
                .to_owned()
        })
}

fn preferred(client: Option<&str>, here: &[&'static dyn AgentCli]) -> Option<&'static dyn AgentCli> {
    let own = here
        .iter()
        .find(|cli| client.is_some_and(|client| client.contains(cli.name())));
    own.or(here.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavecrew_agents::cli::claude::Claude;
    use wavecrew_agents::cli::codex::Codex;

    #[test]
    fn a_client_is_served_by_its_own_kind() {
        let here: [&'static dyn AgentCli; 2] = [&Codex, &Claude];
        let preferred =
            |client, here: &[&'static dyn AgentCli]| preferred(client, here).map(<dyn AgentCli>::name);
        assert_eq!(preferred(Some("claude-code"), &here), Some("claude"));
        assert_eq!(preferred(Some("codex-mcp-client"), &here), Some("codex"));
        assert_eq!(preferred(Some("gemini-cli-mcp-client"), &here), Some("codex"));
        assert_eq!(preferred(None, &[]), None);
    }
}
