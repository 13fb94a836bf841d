//! The tool that compares two versions of the code.

use super::Server;
use super::tool::ServerTool;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BehaviourDiff {
    /// The old version, or a range such as `main..topic`; default: the merge base with the default branch, else the last
    /// commit.
    #[serde(default)]
    revision: Option<String>,
    /// Files and folders to compare; default: all that changed.
    #[serde(default)]
    paths: Vec<String>,
    /// The new version is what is staged.
    #[serde(default)]
    staged: bool,
    /// Time for the comparison; default 60.
    #[serde(default)]
    #[schemars(range(min = 5, max = 3600))]
    budget_seconds: Option<u64>,
}

impl ServerTool for BehaviourDiff {
    const NAME: &'static str = "behaviour_diff";
    const DESCRIPTION: &'static str = "Find out what a change of Python, JavaScript or TypeScript code does: inputs on which \
        the two versions behave differently, each with the result before and after and the responsible lines. Without a \
        model. An empty list of differences means that none was found in the given time.";

    async fn call(self, server: &Server, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        let mut args = vec!["diff".to_owned(), "--json".to_owned()];
        let budget = self.budget_seconds.unwrap_or(60).clamp(5, 3600);
        args.push(format!("--budget={budget}s"));
        if self.staged {
            args.push("--staged".to_owned());
        }
        args.push("--".to_owned());
        args.extend(self.revision);
        args.extend(self.paths);
        server.teams.compare(&args, context).await
    }
}
