//! Examinations: a program of our own finds out what is so, under the guardian like any worker, and prints its verdict.
//! Also what follows from decisions on disk: the brief of a revision, work that is put back, the state of loops.

use super::verify::complaint;
use super::{DriveError, Driver};
use crate::worktree::TreeError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;
use wavecrew_core::engine::{CheckFindings, CheckOutcome, Input, WorkerId};
use wavecrew_core::event::{Rework, Verdict};
use wavecrew_core::id::TaskIx;
use wavecrew_core::view::loop_state;
use wavecrew_process::Exit;
use wavecrew_session::{SessionError, atomic};

/// Examinations have clocks of their own; this one is for those that hang all the same.
const LIMIT: Duration = Duration::from_hours(2);
/// Taken of a brief.
const MOST_BRIEF: usize = 60_000;

/// When a worker's task is examined.
#[derive(Clone, Copy)]
pub(super) enum Stage<'a> {
    Before,
    /// With the values that the worker reported.
    After(&'a [(String, String)]),
}

/// What an examination prints as its last line.
#[derive(Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
enum Printed {
    Holds(Found),
    Short(Found),
    Mend { reason: String },
    Contradicted { reason: String },
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    checked: Verdict,
    #[serde(default)]
    measured: BTreeMap<String, String>,
    #[serde(default)]
    facts: BTreeMap<String, String>,
    #[serde(default)]
    findings: String,
    #[serde(default)]
    feedback: String,
}

/// Work of a former attempt that can be put back: `rounds/TASK.ATTEMPT/` holds these folders and files of the session.
#[derive(Deserialize)]
struct Kept {
    folders: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
}

impl Driver<'_> {
    /// Starts the examination of a task; its verdict follows.
    pub(super) fn examine(
        &mut self,
        worker: WorkerId,
        task: TaskIx,
        stage: Stage<'_>,
    ) -> Result<(), DriveError> {
        let ledger = self.engine.ledger();
        let (plan, id) = (ledger.plan(), ledger.plan().id(task).to_owned());
        let attempt = ledger.task(task).attempts.to_string();
        let examined = ledger.team.role(plan.role(task)).and_then(|role| role.check);
        let Some(examined) = examined else {
            return Ok(());
        };
        let folder = match self.workers.get(&worker) {
            Some(worker) => Ok(worker.folder.clone()),
            None => self.session.folder_of(&id),
        };
        let branch = ledger.task(task).open_worktree().map(|tree| tree.branch.clone());
        let folder = folder.and_then(|path| match branch {
            Some(branch) if !path.is_dir() => Err(TreeError::Gone { path, branch }.to_string()),
            Some(_) | None => Ok(path),
        });
        let folder = match folder {
            Ok(folder) => folder,
            Err(error) => {
                let outcome = CheckOutcome::Contradicted(error);
                self.inputs.push_back(Input::ClaimChecked { worker, outcome });
                return Ok(());
            }
        };
        let mut words = self.surface.examiner.clone();
        let session = self.session.dir.path().to_string_lossy().into_owned();
        let project = self.session.project.to_string_lossy().into_owned();
        let (stage, reported) = match stage {
            Stage::Before => ("before", &[][..]),
            Stage::After(reported) => ("after", reported),
        };
        let report: BTreeMap<&str, &str> = reported.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let report = serde_json::to_string(&report).expect("plain data");
        let file = self.session.dir.checked_report(&id);
        atomic::write_volatile(&file, report.as_bytes())?;
        for (flag, value) in [
            ("--session", session.as_str()),
            ("--project", &project),
            ("--task", &id),
            ("--attempt", &attempt),
            ("--what", examined.as_str()),
            ("--stage", stage),
            ("--report", &file.to_string_lossy()),
        ] {
            words.extend([flag.to_owned(), value.to_owned()]);
        }
        self.run_check(worker, words, folder, Vec::new(), LIMIT, settle)
    }

    /// What the worker of a revision is to read.
    pub(super) fn brief_of(&self, rework: &Rework) -> String {
        let Some(brief) = &rework.brief else {
            return String::new();
        };
        let text = fs::read(self.session.dir.path().join(brief)).unwrap_or_default();
        let text = self.redactor.text(&String::from_utf8_lossy(&text));
        text[..text.floor_char_boundary(MOST_BRIEF)].to_owned()
    }

    /// Puts back the work that an attempt was measured with.
    pub(super) fn restore(&mut self, task: TaskIx, attempt: u32) -> Result<(), DriveError> {
        let session = self.session.dir.path();
        let id = self.engine.ledger().plan().id(task);
        let round = self.session.dir.round(id, attempt);
        let kept = round.root();
        let Ok(text) = fs::read(self.session.dir.round_list(id, attempt)) else {
            return Ok(());
        };
        let Ok(Kept { folders, files }) = serde_json::from_slice(&text) else {
            return Ok(());
        };
        for folder in folders {
            put_back(&kept.join(&folder), &session.join(&folder)).map_err(|source| SessionError::Io {
                operation: "put back",
                path: session.join(&folder),
                source,
            })?;
        }
        for file in files {
            fs::copy(kept.join(&file), session.join(&file)).map_err(|source| SessionError::Io {
                operation: "put back",
                path: session.join(&file),
                source,
            })?;
        }
        Ok(())
    }

    pub(super) fn write_loop_state(&self) -> Result<(), DriveError> {
        if let Some((file, state)) = loop_state(self.engine.ledger()) {
            let text = serde_json::to_vec_pretty(&state).expect("plain data");
            atomic::write_volatile(&self.session.dir.path().join(file), &text)?;
        }
        Ok(())
    }
}

/// Makes a folder what its copy is.
fn put_back(from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) | Ok(()) => {}
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            put_back(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

fn settle(exit: Exit, printed: &[u8]) -> CheckOutcome {
    let text = String::from_utf8_lossy(printed);
    let last = text.lines().rev().find(|line| line.starts_with("{\"verdict\""));
    let verdict = last.and_then(|line| serde_json::from_str(line).ok());
    let examined = |found: Found, shortfall| {
        CheckOutcome::Measured(CheckFindings {
            verdict: found.checked,
            measured: found.measured.into_iter().collect(),
            facts: found.facts.into_iter().collect(),
            findings: found.findings,
            shortfall,
        })
    };
    match verdict {
        Some(Printed::Holds(found)) => examined(found, None),
        Some(Printed::Short(mut found)) => {
            let short = std::mem::take(&mut found.feedback);
            examined(found, Some(short))
        }
        Some(Printed::Mend { reason }) => CheckOutcome::SendBack(reason),
        Some(Printed::Contradicted { reason }) => CheckOutcome::Contradicted(reason),
        None => CheckOutcome::Contradicted(complaint(exit, printed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_the_last_line_that_is_one() {
        let said = |text: &str| settle(Exit::Code(0), text.as_bytes());
        let holds = r#"{"verdict":"holds","checked":"verified","measured":{"pass_rate":"1.00"}}"#;
        let CheckOutcome::Measured(found) = said(&format!("running\n{holds}\n")) else {
            panic!("it holds");
        };
        assert_eq!(found.measured, [("pass_rate".to_owned(), "1.00".to_owned())]);
        assert_eq!((found.verdict, found.shortfall), (Verdict::Verified, None));
        let CheckOutcome::Measured(found) = said(r#"{"verdict":"short","feedback":"one test fails"}"#) else {
            panic!("it is short");
        };
        assert_eq!(found.shortfall.as_deref(), Some("one test fails"));
        let CheckOutcome::SendBack(reason) = said(r#"{"verdict":"mend","reason":"asserts nothing"}"#) else {
            panic!("it can be mended");
        };
        assert_eq!(reason, "asserts nothing");
        let CheckOutcome::Contradicted(reason) = said("no such file") else {
            panic!("nothing was found out");
        };
        assert!(reason.contains("no such file"), "{reason}");
    }

    #[test]
    fn a_folder_is_put_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("kept"), folder.path().join("now"));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(from.join("sub/a"), "old").unwrap();
        fs::write(to.join("b"), "new").unwrap();
        put_back(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("sub/a")).unwrap(), "old");
        assert!(!to.join("b").exists());
    }
}
