//! A sandbox for teams lifecycle and planex: the project of the example under git, and an agent whose work a test can
//! replace task by task.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use wavecrew_test_support::sandbox::{Outcome, Running, Sandbox, Words};

const AGENT: &str = r#"#!/bin/sh
printf '%s\n' "$WAVECREW_TASK" >> "FOLDER/traces/turns"
cp "$WAVECREW_PROMPT_FILE" "FOLDER/traces/prompts/$WAVECREW_TASK.$WAVECREW_ATTEMPT.$WAVECREW_TURN"
session=$WAVECREW_SESSION_DIR
task=$WAVECREW_TASK
report() { printf '{"id":"%s","status":"completed","findings":"%s"%s}\n' "$task" "$1" "${2:+,$2}"; }
[ -f "FOLDER/workers/shared" ] && . "FOLDER/workers/shared"
for worker in "$task.$WAVECREW_ATTEMPT.$WAVECREW_TURN" "$task.$WAVECREW_ATTEMPT" "$task"; do
  if [ -f "FOLDER/workers/$worker" ]; then
    . "FOLDER/workers/$worker"
    exit 0
  fi
done
exec EXAMPLE
"#;

/// One finding of a reviewer.
pub const CRITICAL: &str = r"| place | severity | dimension | fix |\n|-|-|-|-|\n| app/store/tags.py:2 | critical | quality | Say no twice. |\n";

pub struct TeamSandbox {
    sandbox: Sandbox,
    agent: String,
}

impl Deref for TeamSandbox {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

/// A path among the examples that are shown to people.
pub fn example(name: &str) -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    examples.canonicalize().unwrap().join(name)
}

impl TeamSandbox {
    /// The project and the agent of the example for team lifecycle.
    pub fn lifecycle() -> Self {
        Self::new("lifecycle/agent.sh")
    }

    /// The same project with the agent and the issues of the example for team planex.
    pub fn planex() -> Self {
        let team = Self::new("planex/agent.sh");
        fs::copy(example("planex/issues.jsonl"), team.beside("issues.jsonl")).unwrap();
        team
    }

    /// Workers may write everywhere in the sandbox, as without confinement: what they do is found by checks alone.
    pub fn open(self) -> Self {
        Self {
            sandbox: self.sandbox.with_open_folder(),
            ..self
        }
    }

    /// Compares the behaviour of changed code with that before, as by default. Other tests turn this off, because it
    /// calls the code for seconds.
    pub fn comparing_behaviour(self) -> Self {
        fs::remove_file(self.path("wavecrew.toml")).unwrap();
        self
    }

    fn new(agent: &str) -> Self {
        let sandbox = Sandbox::new()
            .with_copy_of(&example("lifecycle/notes"))
            .committed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", "t")
            .env("GIT_AUTHOR_EMAIL", "t@localhost")
            .env("GIT_COMMITTER_NAME", "t")
            .env("GIT_COMMITTER_EMAIL", "t@localhost");
        sandbox.write("wavecrew.toml", "[verify]\nbehaviour_seconds = 0\n");
        for folder in ["workers", "traces/prompts"] {
            fs::create_dir_all(sandbox.beside(folder)).unwrap();
        }
        let traces = sandbox.beside("traces");
        let sandbox = sandbox.with_writable(&traces).requiring_confinement();
        let script = AGENT
            .replace("FOLDER", sandbox.beside("").to_str().unwrap())
            .replace("EXAMPLE", example(agent).to_str().unwrap());
        sandbox.write_script("../agent.sh", &script);
        let agent = format!("command:{}", sandbox.beside("agent.sh").display());
        Self { sandbox, agent }
    }

    /// The agent, as `--agent` takes it.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The shell script of one worker, `TASK`, `TASK.ATTEMPT` or `TASK.ATTEMPT.TURN`.
    pub fn worker(&self, name: &str, script: &str) -> &Self {
        fs::write(self.beside("workers").join(name), script).unwrap();
        self
    }

    /// Leaves the task to the example's agent again.
    pub fn example_worker(&self, name: &str) -> &Self {
        fs::remove_file(self.beside("workers").join(name)).unwrap();
        self
    }

    /// A supervisor that gives this score.
    pub fn score(&self, name: &str, score: &str) -> &Self {
        let report = r#"mkdir -p "$session/artifacts"; echo "Say who the users are. The brief names writers, the requirements name readers." > "$session/artifacts/$task-report.md""#;
        self.worker(name, &format!("{report}\nreport looked '{score}'"))
    }

    /// A reviewer of the specification that gives it so many points.
    pub fn readiness(&self, name: &str, points: u32) -> &Self {
        let headings = r#"printf '## Completeness\nFR-001 is carried to STORY-001.\n## Consistency\nOne word for tags everywhere.\n## Traceability\nEvery goal leads to an epic.\n## Depth\nThe data model names all fields.\n' > "$session/artifacts/$task-report.md""#;
        self.worker(
            name,
            &format!("{headings}\nreport scored '\"quality_score\":{points}'"),
        )
    }

    /// A reviewer of the code with these rows in its table of findings.
    pub fn review(&self, name: &str, verdict: &str, rows: &str) -> &Self {
        self.worker(
            name,
            &format!(
                r#"printf '## Verdict\n{verdict}\n## Findings\n{rows}' > "$session/artifacts/review-report.md"; report seen '"verdict":"{verdict}"'"#
            ),
        )
    }

    /// Implementers have something to repair in their second and third attempt.
    pub fn repairs(&self) -> &Self {
        for (n, file) in (1..).zip(["store/tags.py", "search/by_tag.py", "cli/tags.py"]) {
            for attempt in 2..=3 {
                let script = format!(
                    r##"echo "# repaired {attempt}" >> app/{file}; echo "app/{file} is repaired, make test passes" > "$session/artifacts/$task-report.md"; report repaired"##
                );
                self.worker(&format!("IMPL-00{n}.{attempt}"), &script);
            }
        }
        self
    }

    /// Runs a pipeline of team lifecycle without questions: its name, then flags.
    pub fn run_pipeline(&self, pipeline: &str) -> Outcome {
        self.start_pipeline(pipeline).wait()
    }

    pub fn start_pipeline(&self, pipeline: &str) -> Running {
        let words = format!("lifecycle -y --pipeline {pipeline}");
        let mut words: Vec<&str> = words.split(' ').collect();
        words.extend(["--agent", self.agent(), "Tag notes"]);
        self.start(&words)
    }

    /// Starts a pipeline whose questions are answered through the run's folder.
    pub fn start_asking(&self, pipeline: &str) -> Running {
        self.start_pipeline(&format!("{pipeline} --ask-in-folder"))
    }

    /// Runs team planex on the issues of the example.
    pub fn run_planex(&self) -> Outcome {
        self.start_planex("").wait()
    }

    pub fn start_planex(&self, flags: &str) -> Running {
        let (agent, issues) = (self.agent(), "../issues.jsonl");
        self.start(&format!("planex -y --agent {agent} {flags} {issues}"))
    }

    pub fn start(&self, words: impl Words) -> Running {
        self.spawn(&mut self.command(words))
    }

    /// Commits everything.
    pub fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "more"]);
    }

    /// Subjects of the commits on a branch, newest first, without merges.
    pub fn subjects(&self, branch: &str) -> Vec<String> {
        let log = self.git(&["log", "--no-merges", "--format=%s", branch]);
        log.lines().map(str::to_owned).collect()
    }

    /// The message to a worker: `TASK.ATTEMPT.TURN`.
    #[track_caller]
    pub fn prompt(&self, name: &str) -> String {
        let path = self.beside("traces/prompts").join(name);
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Fails unless the message to a worker contains these texts.
    #[track_caller]
    pub fn expect_prompt(&self, name: &str, texts: &[&str]) {
        let prompt = self.prompt(name);
        for text in texts {
            assert!(prompt.contains(text), "`{text}` is not in {name}:\n{prompt}");
        }
    }

    /// How many turns workers had on a task.
    pub fn turns(&self, task: &str) -> usize {
        let turns = fs::read_to_string(self.beside("traces/turns")).unwrap_or_default();
        turns.lines().filter(|line| *line == task).count()
    }

    /// The table of decisions in the report, `TASK DECISION` each.
    pub fn decisions(&self) -> Vec<String> {
        let report = self.read("context.md");
        let table = report.split("## Decisions").nth(1).unwrap_or_default();
        let rows = table
            .lines()
            .take_while(|line| !line.starts_with("## "))
            .filter(|line| line.starts_with("| "));
        rows.skip(2)
            .map(|row| {
                let cells: Vec<&str> = row.split('|').map(str::trim).collect();
                format!("{} {}", cells[1], cells[3])
            })
            .collect()
    }
}
