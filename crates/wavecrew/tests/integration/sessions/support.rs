//! Sessions that a test writes itself, for the commands that show and change them.

use std::fs;
use std::path::PathBuf;
use wavecrew_core::event::{Event, Fingerprint, Status, StopReason, TaskResult, Verdict};
use wavecrew_core::team::Team;
use wavecrew_core::time::Timestamp;
use wavecrew_session::{Holder, Journal, SessionDir, SessionInfo, SessionLock, SessionState};
use wavecrew_test_support::sandbox::Sandbox;

/// A session folder that the test itself writes.
pub struct Session {
    pub dir: SessionDir,
    info: SessionInfo,
    journal: Journal<Event>,
}

impl Session {
    /// A session of the team `team` over this table, begun at a fixed time.
    pub fn new(sandbox: &Sandbox, id: &str, team: &str, table: &str) -> Self {
        let dir = SessionDir::create(sandbox.project(), id, &[]).expect("a session folder");
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
        Self { dir, info, journal }
    }

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
