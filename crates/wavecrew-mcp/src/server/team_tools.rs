//! Tools for teams and their sessions.

use super::Server;
use super::team_args::{TeamContinue, TeamPlan, TeamRun};
use super::tool::{ServerTool, wait_time};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

impl ServerTool for TeamPlan {
    const NAME: &'static str = "team_plan";
    const DESCRIPTION: &'static str =
        "Show what a team would do: its tasks, wave by wave. Runs and writes nothing.";

    async fn call(self, server: &Server, _: &RequestContext<RoleServer>) -> Result<Value, String> {
        server.teams.plan(&self).await
    }
}

impl ServerTool for TeamRun {
    const NAME: &'static str = "team_run";
    const DESCRIPTION: &'static str = "Have a team work on a request, wave by wave. Blocks until it is done and returns its \
        counts; with background it returns the session at once. A run that reaches max_cost, max_tokens or \
        max_time_seconds says so in ending; continue it with team_continue and a higher limit.";

    async fn call(self, server: &Server, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        server.teams.run(&self, context).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamStatus {
    /// The session that team_run or spawn_agents_on_csv returned; default: the latest.
    session: Option<String>,
    /// How long to wait, at most an hour; default: 0.
    #[serde(default)]
    timeout_ms: u64,
}

impl ServerTool for TeamStatus {
    const NAME: &'static str = "team_status";
    const DESCRIPTION: &'static str = "Return the status of a session (default: the latest): its state, counts, tasks and \
        open question. With timeout_ms it waits for the end of the session or for a question.";

    async fn call(self, server: &Server, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        let timeout = wait_time(self.timeout_ms);
        server
            .teams
            .status(self.session.as_deref(), timeout, context)
            .await
    }
}

impl ServerTool for TeamContinue {
    const NAME: &'static str = "team_continue";
    const DESCRIPTION: &'static str = "Continue a session that was stopped or killed. Completed tasks do not run again; failed tasks do, with retry.";

    async fn call(self, server: &Server, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        server.teams.resume(&self, context).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamAnswer {
    /// The session that team_run or spawn_agents_on_csv returned.
    session: String,
    /// One of the options of the question.
    answer: String,
    /// With `revise`: what should change. Reaches the worker whose work is revised.
    #[serde(default)]
    remark: Option<String>,
}

impl ServerTool for TeamAnswer {
    const NAME: &'static str = "team_answer";
    const DESCRIPTION: &'static str = "Answer the open question of a session with one of its options.";

    async fn call(self, server: &Server, _: &RequestContext<RoleServer>) -> Result<Value, String> {
        server
            .teams
            .answer(&self.session, &self.answer, self.remark.as_deref())
    }
}
