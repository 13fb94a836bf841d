//! Every path of a session folder, and the paths of a project beside it.
//!
//! No other module spells these names. They are a format: sessions of older versions use them too.

use std::path::{Path, PathBuf};

/// The folder for everything that wavecrew writes in a project.
pub const WORKFLOW_FOLDER: &str = ".workflow";

/// The paths of a project outside its session folders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectPaths {
    root: PathBuf,
}

impl ProjectPaths {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn workflow_folder(&self) -> PathBuf {
        self.root.join(WORKFLOW_FOLDER)
    }

    /// The parent of all session folders.
    pub fn sessions_folder(&self) -> PathBuf {
        self.root.join(".workflow/.csv-wave")
    }

    /// Folders of agents that an MCP client started.
    pub fn agents_folder(&self) -> PathBuf {
        self.root.join(".workflow/.agents")
    }

    pub fn issues_folder(&self) -> PathBuf {
        self.root.join(".workflow/issues")
    }

    pub fn issues_file(&self) -> PathBuf {
        self.issues_folder().join("issues.jsonl")
    }

    pub fn issues_lock(&self) -> PathBuf {
        self.issues_folder().join(".lock")
    }
}

/// The paths of one session folder. With an empty root, they are relative to the folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionPaths {
    root: PathBuf,
}

/// Folders that every session has, whatever its team.
pub(crate) const COMMON_FOLDERS: [&str; 6] = ["wisdom", "interactive", "logs", "prompts", ".msg", ".run"];
/// How the names of workers' own folders in `.run` begin.
pub(crate) const INBOX: &str = "in-";
/// Folders of worktrees, one per task.
const WORKTREES: &str = "worktrees";
/// The copy of the project that testing workers read.
const PROJECT_COPY: &str = "tree";

impl SessionPaths {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Paths relative to the session folder.
    pub fn relative() -> Self {
        Self::at("")
    }

    /// The session folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    // Files for people.

    pub fn tasks_csv(&self) -> PathBuf {
        self.join("tasks.csv")
    }

    pub fn results_csv(&self) -> PathBuf {
        self.join("results.csv")
    }

    pub fn wave_csv(&self, wave: u32) -> PathBuf {
        self.join(format!("wave-{wave}.csv"))
    }

    pub fn context_md(&self) -> PathBuf {
        self.join("context.md")
    }

    // The session and its history.

    pub fn session_json(&self) -> PathBuf {
        self.join("session.json")
    }

    pub fn journal_file(&self) -> PathBuf {
        self.join("journal.ndjson")
    }

    pub fn lock_file(&self) -> PathBuf {
        self.join(".lock")
    }

    // Files that workers share.

    pub fn discoveries_file(&self) -> PathBuf {
        self.join("discoveries.ndjson")
    }

    pub fn messages_file(&self) -> PathBuf {
        self.join(".msg/messages.jsonl")
    }

    /// The folder of messages and shared state.
    pub fn message_folder(&self) -> PathBuf {
        self.join(".msg")
    }

    pub fn shared_state_file(&self) -> PathBuf {
        self.join(".msg/meta.json")
    }

    pub fn wisdom_folder(&self) -> PathBuf {
        self.join("wisdom")
    }

    // Per task.

    pub fn interactive_result(&self, task: &str) -> PathBuf {
        self.join(format!("interactive/{task}-result.json"))
    }

    pub fn logs_folder(&self) -> PathBuf {
        self.join("logs")
    }

    pub fn prompts_folder(&self) -> PathBuf {
        self.join("prompts")
    }

    /// Logs of short workers may be in a [`Pack`](crate::Pack) of the folder instead.
    pub fn log_file(&self, task: &str, attempt: u32) -> PathBuf {
        self.join(format!("logs/{task}.{attempt}.log"))
    }

    /// The whole text of findings that were too long for the table.
    pub fn full_findings(&self, task: &str) -> PathBuf {
        self.join(format!("logs/{task}.findings.txt"))
    }

    pub fn prompt_file(&self, task: &str, attempt: u32, turn: u32) -> PathBuf {
        self.join(format!("prompts/{task}.{attempt}.{turn}.md"))
    }

    pub fn worktrees_folder(&self) -> PathBuf {
        self.join(WORKTREES)
    }

    pub fn worktree(&self, task: &str) -> PathBuf {
        self.worktrees_folder().join(task)
    }

    // `.run`: files that the programs of a run exchange.

    pub fn run_folder(&self) -> PathBuf {
        self.join(".run")
    }

    fn in_run(&self, name: impl AsRef<Path>) -> PathBuf {
        self.run_folder().join(name)
    }

    /// The team as it was when the session began.
    pub fn team_file(&self) -> PathBuf {
        self.in_run("team.toml")
    }

    /// The plan that the session began with; the journal continues from it.
    pub fn plan_file(&self) -> PathBuf {
        self.in_run("plan.csv")
    }

    /// The version of `tasks.csv` that the run wrote last.
    pub fn published_table(&self) -> PathBuf {
        self.in_run("tasks.published")
    }

    /// With a copy of the journal elsewhere: who wrote that copy last, from this folder.
    pub fn coordinator_file(&self) -> PathBuf {
        self.in_run("coordinator")
    }

    /// What workers on hosts changed in the project.
    pub fn returned_changes(&self) -> PathBuf {
        self.in_run("brought-back.ndjson")
    }

    /// How much of that the project of this machine has.
    pub fn applied_here(&self) -> PathBuf {
        self.in_run("brought-back.here")
    }

    /// The process that ends workers when the run dies.
    pub fn guardian_file(&self) -> PathBuf {
        self.in_run("guardian.json")
    }

    /// A command for the run, such as `cancel`.
    pub fn control_file(&self) -> PathBuf {
        self.in_run("control")
    }

    /// The question that the run waits for.
    pub fn person_requests_folder(&self) -> PathBuf {
        self.in_run("requests")
    }

    pub fn question_file(&self) -> PathBuf {
        self.in_run("question.json")
    }

    pub fn answer_file(&self) -> PathBuf {
        self.in_run("answer.json")
    }

    /// Questions of workers.
    pub fn worker_questions_folder(&self) -> PathBuf {
        self.in_run("asks")
    }

    /// The name of the folder that holds the temporary folders of the run's workers.
    pub fn temp_note(&self) -> PathBuf {
        self.in_run("temp")
    }

    /// Private files of workers, removed with the worker.
    pub fn scratch_folder(&self) -> PathBuf {
        self.in_run("scratch")
    }

    /// The folder that one open attempt's worker writes, and no other worker. It has the number of the token's file.
    pub fn inbox(&self, number: u32) -> PathBuf {
        self.in_run(format!("{INBOX}{number:x}"))
    }

    /// Where a worker may write its result.
    pub fn result_file(&self, number: u32) -> PathBuf {
        self.inbox(number).join("result")
    }

    /// Where a worker may write its token usage and rate limits.
    pub fn usage_file(&self, number: u32) -> PathBuf {
        self.inbox(number).join("usage")
    }

    /// The prompt of a short worker, which the next worker with this number gets too.
    pub fn shared_prompt(&self, number: u32) -> PathBuf {
        self.scratch_folder().join(format!("prompt-{number}"))
    }

    /// A submitted report, in the worker's own folder.
    pub(crate) fn submitted_report(&self, number: u32, task: &str, attempt: u32) -> PathBuf {
        self.inbox(number).join(format!("{task}.{attempt}.report"))
    }

    /// A submitted report, where no worker can write.
    pub fn report_file(&self, task: &str, attempt: u32) -> PathBuf {
        self.in_run(format!("{task}.{attempt}.report"))
    }

    pub fn rejected_report(&self, task: &str, attempt: u32, number: u32) -> PathBuf {
        self.in_run(format!("{task}.{attempt}.rejected-{number}"))
    }

    /// The file of an open attempt's token.
    pub fn token_file(&self, number: u32) -> PathBuf {
        self.in_run(format!("token-{number:x}"))
    }

    /// The part of the report for a check of a task, if it is too long for a variable.
    pub fn check_input(&self, task: &str, name: &str) -> PathBuf {
        self.in_run(format!("check-{task}.{name}.json"))
    }

    /// The report that a check process compares with the facts.
    pub fn checked_report(&self, task: &str) -> PathBuf {
        self.in_run(format!("examine-{task}.json"))
    }

    /// Build and test state at the commit `base`.
    pub fn state_at_commit(&self, base: &str) -> PathBuf {
        self.in_run(format!("before-{base}.json"))
    }

    /// The copy in which that state is measured for a task.
    pub fn base_copy(&self, task: &str) -> PathBuf {
        self.in_run(format!("before-{task}"))
    }

    /// Caches of builds and tests.
    pub fn cache_folder(&self) -> PathBuf {
        self.in_run("cache")
    }

    // MCP jobs.

    pub fn job_file(&self) -> PathBuf {
        self.in_run("job.json")
    }

    /// The caller's table when the job began.
    pub fn job_input(&self) -> PathBuf {
        self.in_run("job-input.csv")
    }

    pub fn job_status(&self) -> PathBuf {
        self.in_run("job-status.json")
    }

    /// Locked by the process of the job as long as it lives.
    pub fn job_lock(&self) -> PathBuf {
        self.in_run("job.lock")
    }

    pub fn job_stderr(&self) -> PathBuf {
        self.in_run("job-stderr.txt")
    }

    // Team testing.

    pub fn scope_json(&self) -> PathBuf {
        self.join("scope.json")
    }

    /// Rounds and coverage of the generator-critic loop.
    pub fn gc_state(&self) -> PathBuf {
        self.join("gc-state.json")
    }

    pub fn project_copy(&self) -> PathBuf {
        self.join(PROJECT_COPY)
    }

    /// Which files the copy was made from.
    pub fn project_copy_manifest(&self) -> PathBuf {
        self.join("tree.json")
    }

    pub fn test_strategy(&self) -> PathBuf {
        self.join("strategy/test-strategy.md")
    }

    pub fn quality_report(&self) -> PathBuf {
        self.join("analysis/quality-report.md")
    }

    pub fn coverage_plot(&self) -> PathBuf {
        self.join("analysis/coverage.svg")
    }

    /// The behaviour diff of the change under test.
    pub fn what_changed(&self) -> PathBuf {
        self.join("analysis/what-changed.md")
    }

    /// The behaviour diff of a task's work.
    pub fn behaviour_diff(&self, task: &str) -> PathBuf {
        self.join(format!("analysis/behaviour-{task}.md"))
    }

    /// What the generator could not test, and why.
    pub fn untested_report(&self, layer: &str) -> PathBuf {
        self.join(format!("analysis/left-out-{layer}.md"))
    }

    pub fn baseline(&self) -> PathBuf {
        self.join("results/baseline.json")
    }

    /// The measured result of the session in figures and one line.
    pub fn result_summary(&self) -> PathBuf {
        self.join("results/summary.json")
    }

    /// The modules that the offline generator has finished, one per line.
    pub fn generated_modules(&self, layer: &str) -> PathBuf {
        self.join(format!("results/modules-{layer}.ndjson"))
    }

    /// Locked while tests are measured.
    pub fn measuring_lock(&self) -> PathBuf {
        self.join("results/.measuring")
    }

    /// A layer's tests as of the last check without a problem.
    pub fn checked_tests(&self, layer: &str) -> PathBuf {
        self.join("results/kept").join(layer)
    }

    /// A layer's tests without the dropped ones.
    pub fn kept_tests(&self, layer: &str) -> PathBuf {
        self.join("results/accepted").join(layer)
    }

    /// Tests that may show a defect of the code.
    pub fn quarantined_tests(&self, layer: &str) -> PathBuf {
        self.join("results/quarantine").join(layer)
    }

    /// Delivered files with dropped tests, as the worker wrote them.
    pub fn dropped_tests(&self, layer: &str) -> PathBuf {
        self.join("results/dropped").join(layer)
    }

    /// The tests that the check of a delivery dropped, with the reasons.
    pub fn dropped_list(&self, layer: &str) -> PathBuf {
        self.join(format!("results/dropped-{layer}.json"))
    }

    pub fn run_result(&self, layer: &str) -> PathBuf {
        self.join(format!("results/run-{layer}.json"))
    }

    pub fn feedback(&self, layer: &str) -> PathBuf {
        self.join(format!("results/feedback-{layer}.md"))
    }

    /// The files that one round of the loop was measured on, in the same layout as in the session folder.
    #[must_use]
    pub fn round(&self, task: &str, attempt: u32) -> Self {
        Self::at(self.join(format!("rounds/{task}.{attempt}")))
    }

    /// Which folders and files of a round to restore.
    pub fn round_list(&self, task: &str, attempt: u32) -> PathBuf {
        self.join(format!("rounds/{task}.{attempt}.json"))
    }
}

/// Whether workers write their work into this folder of a session; the other folders belong to the engine.
pub fn is_work_folder(name: &str) -> bool {
    !name.starts_with('.') && !COMMON_FOLDERS.contains(&name) && name != "builds" && name != WORKTREES
}

/// The name of the worktree that contains `path`, which is relative to the session folder.
pub fn worktree_of(path: &str) -> Option<&str> {
    path.strip_prefix(WORKTREES)?.strip_prefix('/')?.split('/').next()
}
