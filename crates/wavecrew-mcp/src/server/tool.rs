//! The list of tools. A tool is an argument type that implements [`ServerTool`], and an entry in [`server_tools`].

use super::Server;
use super::agent_tools::{CloseAgent, SendInput, WaitForAgents};
use super::boards::{Discoveries, TeamMessage};
use super::diff_tools::BehaviourDiff;
use super::job_tools::{CancelJob, WaitForJob};
use super::team_args::{TeamContinue, TeamPlan, TeamRun};
use super::team_tools::{TeamAnswer, TeamStatus};
use crate::agents::SpawnAgent;
use crate::answer::arguments;
use crate::job::SpawnOnCsv;
use crate::schema::tool;
use rmcp::RoleServer;
use rmcp::model::{JsonObject, Tool};
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// A tool of the server. Its schema is that of its arguments.
pub(super) trait ServerTool: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    /// For the model that chooses a tool.
    const DESCRIPTION: &'static str;

    /// The answer, or what is wrong with the call.
    async fn call(self, server: &Server, context: &RequestContext<RoleServer>) -> Result<Value, String>;
}

macro_rules! server_tools {
    ($($tool:ty),+ $(,)?) => {
        /// The tools that clients see.
        pub(super) fn all() -> Vec<Tool> {
            vec![$(tool::<$tool>(<$tool>::NAME, <$tool>::DESCRIPTION)),+]
        }

        impl Server {
            /// The answer of a tool, or what is wrong with the call; `None` if there is no such tool.
            pub(super) async fn call(
                &self,
                name: &str,
                given: Option<JsonObject>,
                context: &RequestContext<RoleServer>,
            ) -> Result<Option<Value>, String> {
                $(if name == <$tool>::NAME {
                    let tool: $tool = arguments(given)?;
                    return tool.call(self, context).await.map(Some);
                })+
                // Not listed: only workers have this tool, from their own server, but skills know its name.
                Ok((name == "report_agent_job_result").then(|| json!({
                    "accepted": false,
                    "reason": "only the worker of an item can report for it",
                })))
            }
        }
    };
}

server_tools![
    SpawnOnCsv,
    WaitForJob,
    CancelJob,
    SpawnAgent,
    SendInput,
    WaitForAgents,
    CloseAgent,
    TeamPlan,
    TeamRun,
    TeamStatus,
    TeamContinue,
    TeamAnswer,
    Discoveries,
    TeamMessage,
    BehaviourDiff,
];

/// The longest wait of one call: its client may be gone.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// The default of `timeout_ms`.
pub(super) fn default_wait_ms() -> u64 {
    30_000
}

pub(super) fn wait_time(timeout_ms: u64) -> Duration {
    Duration::from_millis(timeout_ms).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    /// Names, properties and required arguments are a format: clients and skills rely on them.
    #[test]
    fn tools_keep_their_arguments() {
        let expected: Value = serde_json::from_str(include_str!("tools.json")).unwrap();
        let mut found = Map::new();
        for tool in all() {
            let mut schema = Value::Object((*tool.input_schema).clone());
            assert_eq!(schema["type"], "object", "{}", tool.name);
            let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
            let properties = schema["properties"].as_object_mut().unwrap();
            for property in properties.values_mut() {
                if let Some(fields) = property.as_object_mut() {
                    fields.remove("description");
                }
            }
            let entry = json!({"properties": properties, "required": required});
            found.insert(tool.name.to_string(), entry);
        }
        assert_eq!(Value::Object(found), expected);
    }
}
