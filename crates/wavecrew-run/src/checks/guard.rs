//! What a worker may not change: branches and tags, the checkout, and files that others' checks rely on.
//! Keeps their state in memory when a worker starts, and compares when it reports. Never writes.

use crate::event_loop::Driver;
use crate::worktree::{ProjectMark, RefChange};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use wavecrew_core::claim::{
    ClaimCheck, Problem, Rule, TruthKind, checked_files, content_hash, owed_paths, quoted_path,
};
use wavecrew_core::engine::{Assignment, WorkerId};
use wavecrew_core::id::TaskIx;
use wavecrew_core::team::{Access, CheckKind, Role, Workspace};
use wavecrew_core::view::first_few;

/// How many names a problem lists.
const LISTED: usize = 8;
/// Folders that tools fill while they run.
const CACHES: [&str; 14] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    "node_modules",
    "target",
    "dist",
    "build",
    "coverage",
    "htmlcov",
    ".nyc_output",
    ".venv",
    "venv",
    ".tox",
];

/// What is remembered about running workers, out of their reach.
#[derive(Default)]
pub(crate) struct Guards {
    workers: BTreeMap<WorkerId, Guard>,
    /// Hashes of the states of base commits that checks of this run measured.
    pub known_states: BTreeSet<String>,
}

struct Guard {
    project: Option<ProjectMark>,
    /// Files that were checked, and their hashes at the start.
    files: BTreeMap<String, String>,
    /// No other worker ran at the same time.
    alone: bool,
}

/// Which changes of the checkout a role may not make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    All,
    AllBut(Access),
}

impl Watch {
    /// `None` for roles that work in the checkout and may change everything.
    fn of(role: &Role) -> Option<Self> {
        match (role.check, role.access, role.workspace) {
            // Team testing compares with a snapshot of its own.
            (Some(CheckKind::GeneratedTests | CheckKind::TestRun | CheckKind::TestReport), _, _) => None,
            (_, _, Workspace::Worktree) | (_, Access::ReadOnly, _) => Some(Self::All),
            (_, access @ (Access::Tests | Access::Docs), _) => Some(Self::AllBut(access)),
            (_, Access::Source, _) => None,
        }
    }

    fn forbids(self, path: &str) -> bool {
        let lower = path.to_lowercase();
        let is_cache = path.split('/').any(|part| CACHES.contains(&part))
            || Path::new(path)
                .extension()
                .is_some_and(|extension| extension == "pyc")
            || lower
                .rsplit('/')
                .next()
                .is_some_and(|name| name.starts_with(".coverage"));
        let allowed = match self {
            Self::All | Self::AllBut(Access::ReadOnly | Access::Source) => false,
            Self::AllBut(Access::Tests) => lower.contains("test") || lower.contains("spec"),
            Self::AllBut(Access::Docs) => {
                [".md", ".txt", ".rst", ".adoc"]
                    .iter()
                    .any(|end| lower.ends_with(end))
                    || lower.starts_with("docs/")
            }
        };
        !is_cache && !allowed
    }
}

impl Driver<'_> {
    /// Remembers what a worker that is about to start may not change.
    pub(crate) fn guard(&mut self, assignment: &Assignment) {
        let ledger = self.engine.ledger();
        let role = ledger.team.role(ledger.plan().role(assignment.task));
        if role.and_then(Watch::of).is_none() {
            return;
        }
        let hash = |(path, _): (&str, &str)| {
            let bytes = fs::read(self.session.dir.path().join(path)).ok()?;
            Some((path.to_owned(), content_hash(&bytes)))
        };
        let guard = Guard {
            project: ProjectMark::of(&self.session.project),
            files: checked_files(ledger).into_iter().filter_map(hash).collect(),
            alone: self.guards.workers.is_empty(),
        };
        for other in self.guards.workers.values_mut() {
            other.alone = false;
        }
        self.guards.workers.insert(assignment.worker, guard);
    }

    /// The worker has ended.
    pub(crate) fn end_guard(&mut self, worker: WorkerId) {
        self.guards.workers.remove(&worker);
    }

    /// The commit that was checked out when the worker started.
    pub(super) fn head_at_start(&self, worker: WorkerId) -> Option<&str> {
        let guard = self.guards.workers.get(&worker)?;
        Some(guard.project.as_ref()?.head())
    }

    /// Changes since the worker started that it may not make, whoever made them.
    pub(super) fn check_guarded(&self, worker: WorkerId, task: TaskIx) -> ClaimCheck {
        let mut claim = ClaimCheck::default();
        let ledger = self.engine.ledger();
        let role = ledger.team.role(ledger.plan().role(task));
        let (Some(guard), Some(watch)) = (self.guards.workers.get(&worker), role.and_then(Watch::of)) else {
            return claim;
        };
        let mut problems = self.changed_files(guard, task);
        if let Some((before, now)) = guard.project.as_ref().zip(ProjectMark::of(&self.session.project)) {
            problems.extend(changed_project(
                &self.session.project,
                self.session.dir.id(),
                before,
                &now,
                watch,
            ));
        }
        // If several workers run, another one may have made the change, so it is only a doubt.
        for problem in &mut problems {
            if !guard.alone && problem.rule.refutes() {
                problem.rule = Rule::Foreign;
            }
        }
        TruthKind::named("any work of a role").keep(&mut problems);
        for problem in &problems {
            claim.add("", problem);
        }
        claim
    }

    /// Files of other tasks that have changed since they were checked.
    fn changed_files(&self, guard: &Guard, task: TaskIx) -> Vec<Problem> {
        let ledger = self.engine.ledger();
        let own = owed_paths(&ledger.team, ledger.plan(), task);
        let mut problems = Vec::new();
        for (path, checked) in checked_files(ledger) {
            let Some(at_start) = guard.files.get(path) else {
                continue;
            };
            if own
                .by_worker
                .iter()
                .chain(&own.by_engine)
                .any(|owed| owed.pattern.matches(path))
            {
                continue;
            }
            let now = fs::read(self.session.dir.path().join(path)).map(|bytes| content_hash(&bytes));
            let path = quoted_path(path);
            if now.as_deref().ok() == Some(checked) {
                continue;
            }
            let (rule, when) = if at_start == checked {
                (Rule::Tampered, "while the worker ran")
            } else {
                (Rule::Foreign, "before the worker started")
            };
            let text = format!("{path} differs from what was checked: it was changed {when}");
            problems.push(Problem::new(rule, text));
        }
        problems
    }
}

fn changed_project(
    project: &Path,
    session: &str,
    before: &ProjectMark,
    now: &ProjectMark,
    watch: Watch,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for change in before.ref_changes(now, project, session) {
        problems.push(match change {
            RefChange::Lost(text) => Problem::new(Rule::History, text),
            RefChange::Moved(text) => Problem::new(Rule::Foreign, format!("while the task ran, {text}")),
        });
    }
    let settings = before.changed_settings(now);
    if !settings.is_empty() {
        let shown: Vec<String> = settings
            .iter()
            .take(LISTED)
            .map(|name| quoted_path(name))
            .collect();
        let text = format!(
            "while the task ran, repository hooks or settings that start programs changed: {}",
            shown.join(", ")
        );
        problems.push(Problem::new(Rule::Foreign, text));
    }
    let files: Vec<String> = before
        .changed_files(now)
        .into_iter()
        .filter(|path| watch.forbids(path))
        .collect();
    if !files.is_empty() {
        let text = format!(
            "while the task ran, files of the project changed that its role may not change: {}",
            first_few(files.iter().map(|path| quoted_path(path)), LISTED)
        );
        problems.push(Problem::new(Rule::Foreign, text));
    }
    problems
}
