//! The table that a sandbox's run gets, and the session folder that the run makes.

use super::files::read;
use super::{Running, Sandbox, built, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const SESSIONS: &str = ".workflow/.csv-wave";

impl Sandbox {
    /// The description of a task, which its worker does.
    pub fn description(&self, task: &str) -> String {
        let script = self.scripts.get(task).map_or("", String::as_str);
        let text = format!("@fake tag={} append=ran {script}", self.root_name());
        text.trim_end().to_owned()
    }

    /// Writes the table with its descriptions to `tasks.csv`.
    pub fn write_table(&self) {
        if self.table.is_empty() {
            return;
        }
        let table = change_rows(&self.table, |header, rows| {
            header.push("description".to_owned());
            for row in rows {
                row.push(self.description(&row[0]));
            }
        });
        self.write("tasks.csv", table);
    }

    /// The ids of all sessions, in their order.
    pub fn sessions(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path(SESSIONS)).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    /// The id of the last session.
    #[track_caller]
    pub fn session_id(&self) -> String {
        self.sessions().pop().expect("a session")
    }

    /// The folder of the last session.
    #[track_caller]
    pub fn session(&self) -> PathBuf {
        self.path(SESSIONS).join(self.session_id())
    }

    /// A path in the session.
    #[track_caller]
    pub fn in_session(&self, name: &str) -> PathBuf {
        self.session().join(name)
    }

    /// The text of a file of the session.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        read(&self.in_session(name))
    }

    /// A JSON document of the session.
    #[track_caller]
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("one JSON document")
    }

    /// The events in the journal so far; none without a session.
    pub fn journal(&self) -> Vec<Value> {
        let Some(session) = self.sessions().pop() else {
            return Vec::new();
        };
        let file = self.path(SESSIONS).join(session).join("journal.ndjson");
        let text = fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter_map(|(_, json)| serde_json::from_str(json).ok())
            .collect()
    }

    /// The events of one kind.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let mut events = self.journal();
        events.retain(|event| event["e"] == kind);
        events
    }

    /// A row of the session's table, by column.
    #[track_caller]
    pub fn row(&self, task: &str) -> BTreeMap<String, String> {
        let mut rows = read_rows(&self.in_session("tasks.csv")).into_iter();
        let row = rows.find(|row| row["id"] == task);
        row.unwrap_or_else(|| panic!("`{task}` is not in the table"))
    }

    /// A cell of the session's table.
    #[track_caller]
    pub fn cell(&self, task: &str, column: &str) -> String {
        let mut row = self.row(task);
        row.remove(column)
            .unwrap_or_else(|| panic!("no column `{column}`"))
    }

    /// Fails unless a cell contains a text.
    #[track_caller]
    pub fn expect_cell(&self, task: &str, column: &str, text: &str) {
        let cell = self.cell(task, column);
        assert!(
            cell.contains(text),
            "`{text}` is not in {column} of {task}: {cell}"
        );
    }

    /// Fails unless a file of the session contains a text.
    #[track_caller]
    pub fn expect_read(&self, name: &str, text: &str) {
        let content = self.read(name);
        assert!(content.contains(text), "`{text}` is not in {name}:\n{content}");
    }

    #[track_caller]
    pub fn status(&self, task: &str) -> String {
        self.cell(task, "status")
    }

    /// `a completed, b failed, ...`
    #[track_caller]
    pub fn statuses(&self) -> String {
        let rows = read_rows(&self.in_session("tasks.csv"));
        let status = |row: &BTreeMap<String, String>| format!("{} {}", row["id"], row["status"]);
        rows.iter().map(status).collect::<Vec<_>>().join(", ")
    }

    /// How often scripted workers began the first turn of a task.
    pub fn ran(&self, task: &str) -> usize {
        let notes = fs::read_to_string(self.path("ran")).unwrap_or_default();
        let is_first_turn =
            |line: &&str| matches!(line.split(' ').collect::<Vec<_>>()[..], [id, _, "1"] if id == task);
        notes.lines().filter(is_first_turn).count()
    }

    /// Changes the session's table as a spreadsheet does: the whole text is replaced in one step.
    pub fn edit(&self, change: impl FnOnce(String) -> String) {
        let draft = self.path("edited.csv");
        fs::write(&draft, change(self.read("tasks.csv"))).expect("the draft is written");
        fs::rename(draft, self.in_session("tasks.csv")).expect("the table is replaced");
    }

    /// Changes the rows of the session's table.
    pub fn edit_rows(&self, change: impl FnOnce(&mut Vec<String>, &mut Vec<Vec<String>>)) {
        self.edit(|text| change_rows(&text, change));
    }

    /// Changes cells: `(task, column, value)`.
    pub fn edit_cells(&self, cells: &[(&str, &str, &str)]) {
        self.edit_rows(|header, rows| {
            for (task, column, value) in cells {
                let at = header.iter().position(|name| name == column);
                let row = rows.iter_mut().find(|row| row[0] == *task);
                (*value).clone_into(&mut row.expect("the row")[at.expect("the column")]);
            }
        });
    }

    /// Waits for a question in the folder of the run.
    pub fn question(&self, run: &mut Running) -> Value {
        wait_for("a question", || {
            let question = self.open_question();
            assert!(
                question.is_some() || run.is_running(),
                "the run ended without a question"
            );
            question
        })
    }

    /// Answers the next question of a run, waits until the run has read the answer, and returns the question.
    pub fn answer(&self, run: &mut Running, answer: &str) -> Value {
        let question = self.question(run);
        let draft = self.in_session(".run/answer.json.new");
        fs::write(
            &draft,
            json!({"id": question["id"], "answer": answer}).to_string(),
        )
        .expect("an answer");
        fs::rename(draft, self.in_session(".run/answer.json")).expect("an answer");
        wait_for("the run to read the answer", || {
            let open = self
                .open_question()
                .is_some_and(|now| now["id"] == question["id"]);
            (!open || !run.is_running()).then_some(())
        });
        question
    }

    fn open_question(&self) -> Option<Value> {
        let session = self.sessions().pop()?;
        let file = self.path(SESSIONS).join(session).join(".run/question.json");
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }
}

/// The rows of a table, by column.
#[track_caller]
pub fn read_rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows = reader.deserialize();
    rows.map(|row| row.unwrap_or_else(|e| panic!("{}: {e}", path.display())))
        .collect()
}

/// The text of a table after a change of its header and rows.
fn change_rows(text: &str, change: impl FnOnce(&mut Vec<String>, &mut Vec<Vec<String>>)) -> String {
    let owned = |row: &csv::StringRecord| row.iter().map(str::to_owned).collect::<Vec<_>>();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut header = owned(reader.headers().expect("a header"));
    let mut rows: Vec<_> = reader.records().map(|row| owned(&row.expect("a row"))).collect();
    change(&mut header, &mut rows);
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in std::iter::once(&header).chain(&rows) {
        writer.write_record(row).expect("in memory");
    }
    String::from_utf8(writer.into_inner().expect("in memory")).expect("text")
}

/// The scripted worker as an agent.
pub fn test_agent() -> String {
    format!("command:{}", built("examples/fake_worker").display())
}
