//! opencode: configuration in a variable, which is laid over the user's and the project's files.

use serde_json::json;

use super::{Conversation, Launch, Request, TOOL_PATIENCE, environment};

pub(super) fn prepare(request: &Request, launch: &mut Launch) {
    launch.args(["run", "--format", "json", "--auto"]);
    if let Conversation::Resume { id } = request.conversation {
        launch.args(["--session", id]);
    }
    if let Some(model) = request.model {
        launch.args(["--model", model]);
    }
    // What is denied stays denied under `--auto`; everything else is approved.
    let mut permission = json!({ "task": "deny", "question": "deny" });
    if !request.writes() {
        permission["edit"] = "deny".into();
        permission["bash"] = "deny".into();
    }
    let mut config = json!({ "autoupdate": false, "share": "disabled", "permission": permission });
    if let Some(server) = request.mcp {
        let command: Vec<_> = std::iter::once(&server.command).chain(&server.args).collect();
        let timeout = u64::try_from(TOOL_PATIENCE.as_millis()).unwrap_or(u64::MAX);
        let entry = json!({
            "type": "local", "command": command, "environment": environment(server), "enabled": true,
            "timeout": timeout,
        });
        config["mcp"] = json!({ &server.name: entry });
    }
    launch.env([
        ("OPENCODE_CONFIG_CONTENT", &config.to_string()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ]);
}
