//! The files of a session that another machine needs to continue it, besides the journal: collected here, written there.
//! Logs, prompts, worktrees and whatever belongs to running processes stay where they are.

use crate::atomic;
use crate::error::{IoContext, SessionError};
use crate::paths::{ProjectPaths, SessionPaths, WORKFLOW_FOLDER};
use crate::session::SessionDir;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Bytes of the largest file that is copied. Larger ones are products, not state.
const LARGEST: u64 = 16 << 20;

/// A file by its path in the session folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopiedFile {
    pub path: String,
    pub bytes: Vec<u8>,
}

/// Reads all of them. A file that disappears meanwhile is left out.
pub fn copied_files(session: &SessionDir) -> Result<Vec<CopiedFile>, SessionError> {
    let mut found = Vec::new();
    collect(session.path(), Path::new(""), &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Writes a session that another machine began, or brings an older copy of it up to date. `session.json` comes last.
pub fn restore(
    project: &Path,
    id: &str,
    journal: &[u8],
    files: &[CopiedFile],
) -> Result<SessionDir, SessionError> {
    if !is_plain(Path::new(id)) || Path::new(id).components().count() != 1 {
        return Err(SessionError::BadName {
            what: "a session",
            value: id.to_owned(),
            reason: "it is not the name of a folder".to_owned(),
        });
    }
    let root = ProjectPaths::at(project).sessions_folder().join(id);
    let paths = SessionPaths::at(&root);
    let (last, first): (Vec<_>, Vec<_>) = files
        .iter()
        .filter(|file| is_plain(Path::new(&file.path)))
        .map(|file| (root.join(&file.path), &file.bytes))
        .partition(|(path, _)| *path == paths.session_json());
    for (path, bytes) in first
        .into_iter()
        .chain([(paths.journal_file(), &journal.to_owned())])
        .chain(last)
    {
        let folder = path.parent().unwrap_or(project);
        fs::create_dir_all(folder).context("create", folder)?;
        atomic::write(&path, bytes)?;
    }
    SessionDir::open(project, id)
}

/// Whether a path stays below the folder that it is joined to.
fn is_plain(path: &Path) -> bool {
    !path.as_os_str().is_empty() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

fn collect(root: &Path, below: &Path, found: &mut Vec<CopiedFile>) -> Result<(), SessionError> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).context("list", &folder)? {
        let entry = entry.context("list", &folder)?;
        let (path, relative) = (entry.path(), below.join(entry.file_name()));
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if is_copied_folder(&relative) {
                collect(root, &relative, found)?;
            }
            continue;
        }
        let small = entry.metadata().is_ok_and(|found| found.len() <= LARGEST);
        let Some(name) = relative.to_str().filter(|_| kind.is_file() && small) else {
            continue;
        };
        if is_copied_file(&relative)
            && let Ok(bytes) = fs::read(&path)
        {
            found.push(CopiedFile {
                path: name.to_owned(),
                bytes,
            });
        }
    }
    Ok(())
}

fn is_copied_folder(relative: &Path) -> bool {
    let paths = SessionPaths::relative();
    let stays = [
        paths.prompts_folder(),
        paths.worktrees_folder(),
        paths.project_copy(),
        PathBuf::from(WORKFLOW_FOLDER),
    ];
    // What processes exchange has no folder that outlives them.
    !stays.iter().any(|folder| folder == relative) && relative.parent() != Some(&paths.run_folder())
}

fn is_copied_file(relative: &Path) -> bool {
    let paths = SessionPaths::relative();
    let own = [
        paths.journal_file(),
        paths.lock_file(),
        // Made again from the journal. An older one would look like an edit of a person.
        paths.tasks_csv(),
        paths.published_table(),
    ];
    let name = relative
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if own.iter().any(|path| path == relative) || name.starts_with(".tmp") {
        return false;
    }
    if relative.parent() == Some(&paths.logs_folder()) {
        return name.ends_with(".findings.txt");
    }
    if relative.parent() == Some(&paths.run_folder()) {
        let needed = [paths.team_file(), paths.plan_file(), paths.returned_changes()];
        return needed.iter().any(|path| path == relative)
            || name.ends_with(".report")
            || (name.starts_with("before-") && relative.extension().is_some_and(|found| found == "json"));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_needs_is_copied_and_nothing_else() {
        let project = tempfile::tempdir().unwrap();
        let session = SessionDir::create(project.path(), "run-1", &["spec"]).unwrap();
        let write = |path: &str| {
            let path = session.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        let needed = [
            ".msg/meta.json",
            ".run/A.1.report",
            ".run/plan.csv",
            ".run/team.toml",
            "logs/A.findings.txt",
            "session.json",
            "spec/brief.md",
            "wisdom/notes.md",
        ];
        for path in needed {
            write(path);
        }
        for path in [
            ".lock",
            ".run/guardian.json",
            ".run/in-1/result",
            ".run/token-1",
            "journal.ndjson",
            "logs/A.1.log",
            "prompts/A.1.1.md",
            "tasks.csv",
            "worktrees/A/file",
        ] {
            write(path);
        }
        let found = copied_files(&session).unwrap();
        let names: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        // What every session begins with.
        let common = [
            ".msg/messages.jsonl",
            "discoveries.ndjson",
            "wisdom/conventions.md",
            "wisdom/decisions.md",
            "wisdom/issues.md",
            "wisdom/learnings.md",
        ];
        let mut expected: Vec<&str> = needed.into_iter().chain(common).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
        let other = tempfile::tempdir().unwrap();
        let restored = restore(other.path(), "run-1", b"journal", &found).unwrap();
        assert_eq!(fs::read(restored.journal_file()).unwrap(), b"journal");
        assert_eq!(copied_files(&restored).unwrap(), found);
    }

    #[test]
    fn nothing_is_written_outside_the_session() {
        let project = tempfile::tempdir().unwrap();
        let file = |path: &str| CopiedFile {
            path: path.to_owned(),
            bytes: b"x".to_vec(),
        };
        let outside = project.path().join("evil").display().to_string();
        let files = [
            file("../../../evil"),
            file(&outside),
            file("a/../../evil"),
            file("session.json"),
        ];
        restore(project.path(), "run-1", b"", &files).unwrap();
        assert!(!project.path().join("evil").exists());
        for id in ["../x", "a/b", "", "/x"] {
            assert!(restore(project.path(), id, b"", &[]).is_err(), "{id}");
        }
    }
}
