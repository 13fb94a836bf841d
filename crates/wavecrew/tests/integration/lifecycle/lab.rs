//! A project under git, an agent whose answers a test can replace, and what came of a run.

use crate::example_files::{copy, examples};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const AGENT: &str = r#"#!/bin/sh
printf '%s\n' "$WAVECREW_TASK" >> "LAB/ran"
cp "$WAVECREW_PROMPT_FILE" "LAB/prompts/$WAVECREW_TASK.$WAVECREW_ATTEMPT.$WAVECREW_TURN"
session=$WAVECREW_SESSION_DIR
task=$WAVECREW_TASK
report() { printf '{"id":"%s","status":"completed","findings":"%s"%s}\n' "$task" "$1" "${2:+,$2}"; }
for answer in "$task.$WAVECREW_ATTEMPT.$WAVECREW_TURN" "$task.$WAVECREW_ATTEMPT" "$task"; do
  if [ -f "LAB/answers/$answer" ]; then
    . "LAB/answers/$answer"
    exit 0
  fi
done
exec EXAMPLE
"#;

pub struct Lab {
    folder: TempDir,
}

pub struct Said {
    pub code: Option<i32>,
    /// All that was printed.
    pub text: String,
}

impl Said {
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text);
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.text.contains(text), "{text:?} is not in:\n{}", self.text);
        self
    }
}

impl Lab {
    /// The project of the example, committed; the agent of the example, unless a test says otherwise.
    pub fn new() -> Self {
        Self::with("lifecycle/agent.sh")
    }

    /// The same project, with the agent and the issues of the other example.
    pub fn planex() -> Self {
        let lab = Self::with("planex/agent.sh");
        fs::copy(examples().join("planex/issues.jsonl"), lab.path("issues.jsonl")).unwrap();
        lab
    }

    fn with(agent: &str) -> Self {
        let lab = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        copy(&examples().join("lifecycle/notes"), &lab.project());
        fs::create_dir(lab.path("answers")).unwrap();
        fs::create_dir(lab.path("prompts")).unwrap();
        lab.git(&["init", "-q", "-b", "main"]);
        lab.git(&["add", "-A"]);
        lab.git(&["commit", "-q", "-m", "notes"]);
        let text = AGENT
            .replace("LAB", lab.folder.path().to_str().unwrap())
            .replace("EXAMPLE", examples().join(agent).to_str().unwrap());
        fs::write(lab.path("agent.sh"), text).unwrap();
        fs::set_permissions(lab.path("agent.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.project())
            .args(["-c", "user.name=Lab", "-c", "user.email=lab@example.com"]);
        let output = git.args(words).output().unwrap();
        assert!(
            output.status.success(),
            "git {words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the agent does for a task, `TASK`, `TASK.ATTEMPT` or `TASK.ATTEMPT.TURN`, in words of a shell.
    pub fn answer(&self, name: &str, script: &str) -> &Self {
        fs::write(self.path("answers").join(name), script).unwrap();
        self
    }

    pub fn no_answer(&self, name: &str) -> &Self {
        fs::remove_file(self.path("answers").join(name)).unwrap();
        self
    }

    /// A supervisor's answer with this score.
    pub fn score(&self, name: &str, score: &str) -> &Self {
        let report = r#"mkdir -p "$session/artifacts"; echo "Say who the users are. The brief names writers, the requirements name readers." > "$session/artifacts/$task-report.md""#;
        self.answer(name, &format!("{report}\nreport looked '{score}'"))
    }

    /// A reviewer of the specification that gives it so many points.
    pub fn readiness(&self, name: &str, points: u32) -> &Self {
        let headings = r#"printf '## Completeness\nFR-001 is carried to STORY-001.\n## Consistency\nOne word for tags everywhere.\n## Traceability\nEvery goal leads to an epic.\n## Depth\nThe data model names all fields.\n' > "$session/artifacts/$task-report.md""#;
        self.answer(
            name,
            &format!("{headings}\nreport scored '\"quality_score\":{points}'"),
        )
    }

    /// A reviewer of the code that has one finding.
    pub fn review(&self, name: &str, word: &str, severity: &str) -> &Self {
        let rows = format!(
            r"| place | severity | dimension | fix |\n|-|-|-|-|\n| app/store/tags.py:2 | {severity} | quality | Say no twice. |\n"
        );
        self.answer(
            name,
            &format!(
                r#"printf '## Verdict\n{word}\n## Findings\n{rows}' > "$session/artifacts/review-report.md"; report seen '"verdict":"{word}"'"#
            ),
        )
    }

    /// Implementers have something to repair whenever they are asked again.
    pub fn repairs(&self) -> &Self {
        for (n, file) in (1..).zip(["store/tags.py", "search/by_tag.py", "cli/tags.py"]) {
            for attempt in 2..=3 {
                let script = format!(
                    r##"echo "# repaired {attempt}" >> app/{file}; echo done > "$session/artifacts/$task-report.md"; report repaired"##
                );
                self.answer(&format!("IMPL-00{n}.{attempt}"), &script);
            }
        }
        self
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
        command.current_dir(self.project()).args(words);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        for (role, value) in [("AUTHOR", "Lab"), ("COMMITTER", "Lab")] {
            command.env(format!("GIT_{role}_NAME"), value);
            command.env(format!("GIT_{role}_EMAIL"), "lab@example.com");
        }
        command
    }

    pub fn wavecrew(&self, words: &[&str]) -> Said {
        said(&self.command(words).output().unwrap())
    }

    /// A run that asks nothing.
    pub fn run(&self, pipeline: &str, more: &[&str]) -> Said {
        self.wavecrew(&words(pipeline, &self.agent(), more))
    }

    /// The same, in the background.
    pub fn start_run(&self, pipeline: &str, more: &[&str]) -> Child {
        self.start(&words(pipeline, &self.agent(), more))
    }

    /// A run whose questions are answered through its folder.
    pub fn start_asking(&self, pipeline: &str, more: &[&str]) -> Child {
        self.start_run(pipeline, &[&["--ask-in-folder"], more].concat())
    }

    /// The three issues of the example, without questions.
    pub fn plan_and_execute(&self) -> Said {
        let (agent, issues) = (self.agent(), self.path("issues.jsonl"));
        self.wavecrew(&["planex", "-y", "--agent", &agent, issues.to_str().unwrap()])
    }

    /// Subjects of the commits on a branch, newest first, without merges.
    pub fn subjects(&self, branch: &str) -> Vec<String> {
        let log = self.git(&["log", "--no-merges", "--format=%s", branch]);
        log.lines().map(str::to_owned).collect()
    }

    pub fn agent(&self) -> String {
        format!("command:{}", self.path("agent.sh").display())
    }

    pub fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(words);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub fn session(&self) -> PathBuf {
        let sessions = self.project().join(".workflow/.csv-wave");
        let mut found: Vec<PathBuf> = fs::read_dir(&sessions)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.join("session.json").exists())
            .collect();
        found.sort();
        found.pop().expect("a session")
    }

    pub fn session_id(&self) -> String {
        self.session().file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.session().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// What a worker was told.
    pub fn prompt(&self, name: &str) -> String {
        fs::read_to_string(self.path("prompts").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// How often a worker was started on a task.
    pub fn ran(&self, task: &str) -> usize {
        let ran = fs::read_to_string(self.path("ran")).unwrap_or_default();
        ran.lines().filter(|line| *line == task).count()
    }

    pub fn cell(&self, task: &str, column: &str) -> String {
        let text = self.read("tasks.csv");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let at = |name: &str| header.iter().position(|known| known == name).unwrap();
        let (id, column) = (at("id"), at(column));
        let row = reader.records().map(Result::unwrap).find(|row| &row[id] == task);
        row.unwrap_or_else(|| panic!("no row {task} in\n{text}"))[column].to_owned()
    }

    /// Ids with statuses, in the table's order.
    pub fn statuses(&self) -> String {
        let text = self.read("tasks.csv");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let at = |name: &str| header.iter().position(|known| known == name).unwrap();
        let line = |row: csv::StringRecord| format!("{} {}", &row[at("id")], &row[at("status")]);
        reader
            .records()
            .map(|row| line(row.unwrap()))
            .collect::<Vec<_>>()
            .join(", ")
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

    /// Answers the next question of a run with this word; what was asked.
    pub fn reply(&self, child: &mut Child, word: &str) -> String {
        let (file, asked) = self.question(child);
        let answer = serde_json::json!({"id": asked["id"], "answer": word}).to_string();
        let fresh = file.with_file_name("answer.json.new");
        fs::write(&fresh, answer).unwrap();
        fs::rename(&fresh, file.with_file_name("answer.json")).unwrap();
        // The next question is another one.
        while file.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(3));
        }
        asked["question"].as_str().unwrap().to_owned()
    }

    /// What may be answered to the next question.
    pub fn options(&self, child: &mut Child) -> Vec<String> {
        let (_, asked) = self.question(child);
        serde_json::from_value(asked["options"].clone()).unwrap()
    }

    fn question(&self, child: &mut Child) -> (PathBuf, serde_json::Value) {
        loop {
            assert!(
                child.try_wait().unwrap().is_none(),
                "the run ended without a question"
            );
            let sessions = self.project().join(".workflow/.csv-wave");
            let asked = fs::read_dir(&sessions)
                .into_iter()
                .flatten()
                .flatten()
                .find_map(|entry| {
                    let file = entry.path().join(RUN_FOLDER).join("question.json");
                    let text = fs::read_to_string(&file).ok()?;
                    Some((file, serde_json::from_str::<serde_json::Value>(&text).ok()?))
                });
            if let Some(found) = asked {
                return found;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

fn words<'a>(pipeline: &'a str, agent: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["lifecycle", "-y", "--pipeline", pipeline, "--agent", agent];
    words.extend(more);
    words.push("Tag notes");
    words
}

/// Where the files of a run lie in its session.
const RUN_FOLDER: &str = ".run";

pub fn said(output: &Output) -> Said {
    Said {
        code: output.status.code(),
        text: [&output.stdout, &output.stderr]
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .concat(),
    }
}
