//! Tool calls for which an agent asks permission: the action for the policy, its description for a person, and the answer.

use serde_json::Value;
use wavecrew_core::engine::Permission;

use super::updates::paths_of;
use crate::access_policy::ToolAction;
use crate::stream::{items, text};

/// `tools` is the name of our own server.
pub(super) fn action(call: &Value, tools: Option<&str>) -> ToolAction {
    match text(call, "kind") {
        "edit" | "delete" | "move" => ToolAction::Write(paths_of(call)),
        "execute" if is_ours(call, tools) => ToolAction::Other,
        "execute" => ToolAction::Run,
        "switch_mode" => ToolAction::SwitchMode,
        _ => ToolAction::Other,
    }
}

/// codex reports calls of MCP tools as commands.
fn is_ours(call: &Value, tools: Option<&str>) -> bool {
    call["_meta"]["is_mcp_tool_call"] == true
        && tools.is_some()
        && call["rawInput"]["server"].as_str() == tools
}

/// Describes a call to a person.
pub(super) fn describe(call: &Value) -> String {
    let mut text_so_far = call["kind"].as_str().unwrap_or("use a tool").to_owned();
    for part in [paths_of(call).join(", "), text(call, "title").to_owned()] {
        if !part.is_empty() {
            text_so_far = format!("{text_so_far} {part}");
        }
    }
    text_so_far
}

/// The option of the agent that stands for this permission.
pub(super) fn choice(permission: Permission, params: &Value) -> Option<&str> {
    let wanted = match permission {
        Permission::Granted => ["allow_once", "allow_always"],
        Permission::Denied => ["reject_once", "reject_always"],
    };
    wanted.iter().find_map(|kind| {
        let option = items(params, "options")
            .iter()
            .find(|option| text(option, "kind") == *kind)?;
        option["optionId"].as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_become_actions() {
        let write = |path: &str| ToolAction::Write(vec![path.to_owned()]);
        let cases = [
            (
                json!({ "kind": "read", "locations": [{ "path": "/etc/hosts" }] }),
                ToolAction::Other,
            ),
            (
                json!({ "kind": "edit", "locations": [{ "path": "a" }] }),
                write("a"),
            ),
            (
                json!({ "kind": "edit", "content": [{ "type": "diff", "path": "/x" }] }),
                write("/x"),
            ),
            (json!({ "kind": "delete" }), ToolAction::Write(Vec::new())),
            (
                json!({ "kind": "execute", "title": "rm -rf wavecrew" }),
                ToolAction::Run,
            ),
            (
                json!({ "kind": "execute", "rawInput": { "server": "wavecrew" }, "_meta": { "is_mcp_tool_call": true } }),
                ToolAction::Other,
            ),
            (
                json!({ "kind": "execute", "rawInput": { "server": "other" }, "_meta": { "is_mcp_tool_call": true } }),
                ToolAction::Run,
            ),
            (json!({ "kind": "switch_mode" }), ToolAction::SwitchMode),
            (json!({ "title": "new" }), ToolAction::Other),
        ];
        for (call, expected) in cases {
            assert_eq!(action(&call, Some("wavecrew")), expected, "{call}");
        }
    }

    #[test]
    fn permission_for_one_call_is_preferred() {
        let params = json!({ "options": [
            { "optionId": "always", "kind": "allow_always" },
            { "optionId": "once", "kind": "allow_once" },
            { "optionId": "never", "kind": "reject_always" },
        ] });
        assert_eq!(choice(Permission::Granted, &params), Some("once"));
        assert_eq!(choice(Permission::Denied, &params), Some("never"));
        assert_eq!(choice(Permission::Denied, &json!({})), None);
    }
}
