//! The MCP server for clients: tables that workers process row by row, conversations with agents, teams. Each job and each
//! run is a process; the server starts it and reads its files.

mod agent_tools;
mod boards;
mod choice;
mod diff_tools;
mod job_process;
mod job_tools;
mod jobs;
mod library;
mod progress;
mod questions;
mod team_args;
mod team_tools;
mod teams;
mod tool;

use crate::agents::Agents;
use crate::answer::{failure, implementation, no_such_tool, structured};
use crate::paths::Root;
use jobs::Jobs;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::io;
use std::path::{Path, PathBuf};
use teams::Teams;
use wavecrew_agents::AgentSettings;
use wavecrew_process::guardian::GuardianCommand;
use wavecrew_run::sandbox::SandboxSettings;

/// How a server is started.
pub struct ServerOptions {
    /// This program, which also runs the jobs.
    pub program: PathBuf,
    /// The agent of calls that name none.
    pub agent: Option<String>,
    /// How to start the guardian.
    pub guardian: GuardianCommand,
    /// The most workers of one call at the same time.
    pub max_workers: Option<usize>,
    /// The project's settings for single agents.
    pub agent_settings: AgentSettings,
    pub sandbox: SandboxSettings,
}

/// Serves the project in `folder` until the client goes away.
pub fn serve(folder: &Path, setup: ServerOptions) -> io::Result<()> {
    let root = Root::new(folder)?;
    crate::serve(Server {
        agents: Agents::new(
            root.clone(),
            setup.guardian.clone(),
            setup.agent_settings.clone(),
            setup.sandbox.clone(),
        ),
        agent: setup.agent.clone(),
        teams: Teams {
            root: root.clone(),
            program: setup.program.clone(),
            agent: setup.agent.clone(),
        },
        jobs: Jobs::new(root.clone(), setup),
        root,
    })
}

struct Server {
    jobs: Jobs,
    agents: Agents,
    teams: Teams,
    agent: Option<String>,
    root: Root,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(implementation())
            .with_instructions(
                "spawn_agents_on_csv runs one worker per row of a CSV file and writes their results to another. Calls \
                 that may take longer than your tool timeout: give background: true and ask with wait_agent_job. \
                 spawn_agent, send_input, wait and close_agent hold a conversation with one agent. team_plan and team_run \
                 have a whole team work in waves.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tool::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.call(&request.name, request.arguments, &context).await {
            Ok(Some(answer)) => Ok(structured(answer)),
            Ok(None) => Err(no_such_tool(&request.name)),
            Err(problem) => Ok(failure(problem)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(library::resources(
            &self.root,
        )))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(library::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        library::read(&self.root, &request.uri)
            .map(Into::into)
            .map_err(|problem| ErrorData::resource_not_found(problem, None))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(library::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        library::prompt(&request.name, request.arguments.as_ref())
            .map(Into::into)
            .map_err(|problem| ErrorData::invalid_params(problem, None))
    }
}
