//! Tools for interactive agents.

use super::Server;
use super::choice::choose;
use super::tool::{ServerTool, default_wait_ms, wait_time};
use crate::agents::SpawnAgent;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

impl ServerTool for SpawnAgent {
    const NAME: &'static str = "spawn_agent";
    const DESCRIPTION: &'static str = "Start a conversation with another agent and send its first message. Returns agent_id \
        at once; wait returns when its turn is over, with its answer. Close the agent when you no longer need it.";

    async fn call(self, server: &Server, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        let agent = choose(self.agent.as_deref(), server.agent.as_deref(), context)?;
        server.agents.spawn(self, agent).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendInput {
    /// The agent_id that spawn_agent returned.
    id: String,
    /// What to tell the agent.
    message: String,
    /// End the current turn first.
    #[serde(default)]
    interrupt: bool,
}

impl ServerTool for SendInput {
    const NAME: &'static str = "send_input";
    const DESCRIPTION: &'static str = "Send another message to an agent. It gets the message after its current turn, or at once with interrupt.";

    async fn call(self, server: &Server, _: &RequestContext<RoleServer>) -> Result<Value, String> {
        server.agents.send(self.id, self.message, self.interrupt).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitForAgents {
    /// What spawn_agent returned as agent_id, one or more.
    #[schemars(length(min = 1))]
    ids: Vec<String>,
    /// At most an hour; default: 30000.
    #[serde(default = "default_wait_ms")]
    timeout_ms: u64,
}

impl ServerTool for WaitForAgents {
    const NAME: &'static str = "wait";
    const DESCRIPTION: &'static str = "Wait until one of the agents has ended its turn, at most timeout_ms (default 30000), \
        and return the status of each: running, {completed: its last message}, {errored: reason}, shutdown or not_found.";

    async fn call(self, server: &Server, _: &RequestContext<RoleServer>) -> Result<Value, String> {
        server.agents.wait(&self.ids, wait_time(self.timeout_ms)).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseAgent {
    /// The agent_id that spawn_agent returned.
    id: String,
}

impl ServerTool for CloseAgent {
    const NAME: &'static str = "close_agent";
    const DESCRIPTION: &'static str = "End an agent and everything it started. Returns its last status, and where its work is if it had its own worktree.";

    async fn call(self, server: &Server, _: &RequestContext<RoleServer>) -> Result<Value, String> {
        server.agents.close(self.id).await
    }
}
