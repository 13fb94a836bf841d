//! Decides what an agent that asks for permission may do, by the access of its role. Only the request counts here; checks
//! look at what the agent then did.

use std::path::{Component, Path, PathBuf};

use wavecrew_core::engine::Permission;
use wavecrew_core::team::Access;

use super::launch::{Request, may_change_project};

/// What an agent asks permission for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolAction {
    /// Change these files; if empty, unknown ones.
    Write(Vec<String>),
    /// Run a command, which cannot be restricted to folders.
    Run,
    /// Switch to a mode that waits for a person.
    SwitchMode,
    /// Reading, searching, fetching, tools of MCP servers, and everything unknown.
    Other,
}

#[derive(Debug)]
pub(super) struct AccessPolicy {
    access: Access,
    project: PathBuf,
    folders: Vec<PathBuf>,
}

impl AccessPolicy {
    pub(super) fn new(request: &Request<'_>) -> Self {
        Self {
            access: request.access,
            project: request.project.to_owned(),
            folders: request.folders.to_vec(),
        }
    }

    pub(super) fn decide(&self, action: &ToolAction) -> Permission {
        let allowed = match action {
            ToolAction::Write(paths) => self.may_write(paths),
            ToolAction::Run => self.writes_project(),
            ToolAction::SwitchMode => false,
            ToolAction::Other => true,
        };
        if allowed {
            Permission::Granted
        } else {
            Permission::Denied
        }
    }

    fn writes_project(&self) -> bool {
        may_change_project(self.access)
    }

    fn may_write(&self, paths: &[String]) -> bool {
        if paths.is_empty() {
            return self.writes_project();
        }
        paths.iter().all(|path| {
            let path = without_dots(&self.project.join(path));
            let among = |folder: &PathBuf| path.starts_with(folder);
            self.folders.iter().any(among) || (self.writes_project() && among(&self.project))
        })
    }
}

/// The path without `.` and `..`; does not follow links.
fn without_dots(path: &Path) -> PathBuf {
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

    #[test]
    fn access_decides_what_is_allowed() {
        let write = |path: &str| ToolAction::Write(vec![path.to_owned()]);
        // The action, and whether a role that writes and a role that does not may do it.
        let cases = [
            (write("/project/a.rs"), true, false),
            (write("a.rs"), true, false),
            (write("/project/.workflow/s/spec/a.md"), true, true),
            (write("/project/../etc/passwd"), false, false),
            (write("/project/.workflow/s/../../a.rs"), true, false),
            (write("/elsewhere/x"), false, false),
            (ToolAction::Write(Vec::new()), true, false),
            (ToolAction::Run, true, false),
            (ToolAction::SwitchMode, false, false),
            (ToolAction::Other, true, true),
        ];
        for (action, writer, reader) in cases {
            let may = |access| {
                let policy = AccessPolicy {
                    access,
                    project: "/project".into(),
                    folders: vec!["/project/.workflow/s".into()],
                };
                policy.decide(&action) == Permission::Granted
            };
            assert_eq!(
                (may(Access::Source), may(Access::ReadOnly)),
                (writer, reader),
                "{action:?}"
            );
        }
    }
}
