//! What an agent that asks is allowed, by the access of its role. Judges what the agent says it wants to do; what it
//! then did is checked elsewhere.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use wavecrew_core::engine::Permission;
use wavecrew_core::team::Access;

use super::super::launch::Request;
use super::super::stream::{items, paths_of, text};

#[derive(Debug)]
pub(super) struct Policy {
    access: Access,
    project: PathBuf,
    folders: Vec<PathBuf>,
    /// The name of our own server of tools.
    tools: Option<String>,
}

impl Policy {
    pub(super) fn new(request: &Request<'_>) -> Self {
        Self {
            access: request.access,
            project: request.project.to_owned(),
            folders: request.folders.to_vec(),
            tools: request.mcp.map(|server| server.name.clone()),
        }
    }

    /// Whether this call of a tool is allowed.
    pub(super) fn judge(&self, call: &Value) -> Permission {
        let allowed = match text(call, "kind") {
            "edit" | "delete" | "move" => self.may_write(&paths_of(call)),
            // A command cannot be fenced in.
            "execute" => self.writes_project() || self.is_ours(call),
            // It would wait for a person's word.
            "switch_mode" => false,
            // Reading, searching, thinking, fetching, tools of MCP servers, and what is yet to be invented.
            _ => true,
        };
        if allowed {
            Permission::Granted
        } else {
            Permission::Denied
        }
    }

    fn writes_project(&self) -> bool {
        match self.access {
            Access::ReadOnly => false,
            Access::Tests | Access::Docs | Access::Source => true,
        }
    }

    fn may_write(&self, paths: &[String]) -> bool {
        if paths.is_empty() {
            return self.writes_project();
        }
        paths.iter().all(|path| {
            let path = plain(&self.project.join(path));
            let among = |folder: &PathBuf| path.starts_with(folder);
            self.folders.iter().any(among) || (self.writes_project() && among(&self.project))
        })
    }

    /// codex calls tools of MCP servers commands.
    fn is_ours(&self, call: &Value) -> bool {
        call["_meta"]["is_mcp_tool_call"] == true
            && self.tools.is_some()
            && call["rawInput"]["server"].as_str() == self.tools.as_deref()
    }
}

/// The answer among those that the agent offers.
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

/// The path without `.` and `..`, as words: what it points to is not looked at.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy(access: Access) -> Policy {
        Policy {
            access,
            project: "/project".into(),
            folders: vec!["/project/.workflow/s".into()],
            tools: Some("wavecrew".into()),
        }
    }

    #[test]
    fn access_decides_what_is_allowed() {
        let edit = |path: &str| json!({ "kind": "edit", "locations": [{ "path": path }] });
        // The call, and whether a role that writes and a role that does not may make it.
        let cases = [
            (
                json!({ "kind": "read", "locations": [{ "path": "/etc/hosts" }] }),
                true,
                true,
            ),
            (edit("/project/a.rs"), true, false),
            (edit("a.rs"), true, false),
            (edit("/project/.workflow/s/spec/a.md"), true, true),
            (edit("/project/../etc/passwd"), false, false),
            (edit("/project/.workflow/s/../../a.rs"), true, false),
            (json!({ "kind": "delete" }), true, false),
            (
                json!({ "kind": "edit", "content": [{ "type": "diff", "path": "/elsewhere/x" }] }),
                false,
                false,
            ),
            (
                json!({ "kind": "execute", "title": "rm -rf wavecrew" }),
                true,
                false,
            ),
            (
                json!({ "kind": "execute", "rawInput": { "server": "wavecrew" }, "_meta": { "is_mcp_tool_call": true } }),
                true,
                true,
            ),
            (json!({ "kind": "switch_mode" }), false, false),
            (json!({ "kind": "other", "title": "report" }), true, true),
            (json!({ "title": "new" }), true, true),
        ];
        for (call, writer, reader) in cases {
            let may = |access| policy(access).judge(&call) == Permission::Granted;
            assert_eq!(
                (may(Access::Source), may(Access::ReadOnly)),
                (writer, reader),
                "{call}"
            );
        }
    }

    #[test]
    fn the_smallest_answer_is_chosen() {
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
