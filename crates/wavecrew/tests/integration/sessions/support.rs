//! A project with sessions in it, and what the program says there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use wavecrew_core::event::{Event, Fingerprint, Status, StopReason, TaskResult, Verdict};
use wavecrew_core::team::Team;
use wavecrew_core::time::Timestamp;
use wavecrew_session::{Holder, Journal, SessionDir, SessionInfo, SessionLock, SessionState};

pub struct Project {
    folder: tempfile::TempDir,
}

pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Project {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
        command.args(args).current_dir(self.path());
        for name in ["SESSION_DIR", "TASK", "ATTEMPT", "TOKEN", "ROLE"] {
            command.env_remove(format!("WAVECREW_{name}"));
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Said {
        said(self.command(args).output().expect("the program starts"))
    }

    pub fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// A session of the team `team` over this table, begun at a fixed time.
    pub fn session(&self, id: &str, team: &str, table: &str) -> Session {
        let dir = SessionDir::create(self.path(), id, &[]).expect("a session folder");
        fs::write(
            dir.run_folder().join("team.toml"),
            Team::builtin_text(team).expect("built in"),
        )
        .expect("the team is kept");
        fs::write(dir.run_folder().join("plan.csv"), table).expect("the plan is kept");
        fs::write(dir.tasks_csv(), table).expect("the table is written");
        let info = SessionInfo {
            format: 1,
            id: dir.id().to_owned(),
            team: team.to_owned(),
            pipeline: None,
            request: "Tidy up the parser".to_owned(),
            agents: std::collections::BTreeMap::default(),
            default_agent: "command:./agent.sh".to_owned(),
            version: "0.1.0".to_owned(),
            started_at: "2026-03-08T10:00:00Z".to_owned(),
            state: SessionState::Running,
            source_file: Some(PathBuf::from("tasks.csv")),
            base_commit: None,
            concurrency: 3,
            extra: serde_json::Map::default(),
        };
        dir.write_info(&info).expect("session.json is written");
        let journal = Journal::create(&dir.journal_file()).expect("a journal");
        Session { dir, info, journal }
    }
}

pub struct Session {
    pub dir: SessionDir,
    info: SessionInfo,
    journal: Journal<Event>,
}

impl Session {
    pub fn record(&mut self, events: &[Event]) -> &mut Self {
        self.journal.append(events).expect("recorded");
        self
    }

    pub fn state(&mut self, state: SessionState) -> &mut Self {
        self.info.state = state;
        self.dir.write_info(&self.info).expect("session.json is written");
        self
    }

    pub fn started(&mut self, started_at: &str) -> &mut Self {
        started_at.clone_into(&mut self.info.started_at);
        self.dir.write_info(&self.info).expect("session.json is written");
        self
    }

    pub fn lock(&self) -> SessionLock {
        let holder = Holder {
            pid: 4711,
            since: "2026-03-08T10:00:00Z".to_owned(),
            host: "here".to_owned(),
            command: "wavecrew run tasks.csv".to_owned(),
        };
        self.dir.lock(&holder).expect("the lock is free")
    }
}

pub const TABLE: &str = "id,title,description,role,deps\n\
    A,Look around,d,scout,\nB,Write it,d,writer,A\nC,Check it,d,writer,A\nD,Publish,d,,B\n";

pub fn started(task: &str, attempt: u32, second: u64) -> Event {
    Event::AttemptStarted {
        at: Timestamp(1_772_964_000_000 + second * 1000),
        task: task.to_owned(),
        attempt,
        print: Fingerprint::default(),
        agent: "command:./agent.sh".to_owned(),
    }
}

pub fn finished(task: &str, second: u64, status: Status, words: &str) -> Event {
    let failed = status == Status::Failed;
    Event::Finished {
        at: Timestamp(1_772_964_000_000 + second * 1000),
        task: task.to_owned(),
        attempt: 1,
        stop: if failed {
            StopReason::Crashed
        } else {
            StopReason::Ok
        },
        result: TaskResult {
            status,
            findings: if failed { String::new() } else { words.to_owned() },
            error: if failed { words.to_owned() } else { String::new() },
            verdict: Verdict::Unverified,
            ..TaskResult::default()
        },
    }
}

/// The events of a session in its second wave: A is done, B failed, C runs, D is skipped.
pub fn half_way() -> Vec<Event> {
    vec![
        Event::RunStarted {
            at: Timestamp(1_772_964_000_000),
            concurrency: 3,
        },
        Event::WaveStarted { wave: 1 },
        started("A", 1, 0),
        finished("A", 12, Status::Completed, "Three modules"),
        Event::WaveMerged { wave: 1 },
        Event::WaveStarted { wave: 2 },
        started("B", 1, 13),
        started("C", 1, 13),
        finished("B", 43, Status::Failed, "exit code 1\n\u{1b}[31mpanic"),
        Event::Skipped {
            task: "D".to_owned(),
            error: "Dependency failed: B".to_owned(),
        },
    ]
}

pub fn said(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Said {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

impl Said {
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).expect("one JSON document")
    }

    /// Ended with `code`, nothing on standard output and all of `texts` on standard error.
    #[track_caller]
    pub fn refused(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.err);
        assert_eq!(self.out, "");
        for text in texts {
            assert!(self.err.contains(text), "no {text:?} in:\n{}", self.err);
        }
    }
}

/// Times that pass while a test runs, as fixed text.
pub fn timeless(text: &str) -> String {
    let is_time = |word: &str| {
        let digits = word.trim_end_matches(['h', 'm', 's', 'd']);
        let number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        number && digits.len() < word.len()
    };
    let word = |word: &str| {
        if is_time(word) {
            "TIME".to_owned()
        } else {
            word.to_owned()
        }
    };
    let line = |line: &str| {
        let words: Vec<String> = line.split(' ').map(word).collect();
        words.join(" ").replace("TIME TIME", "TIME")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
