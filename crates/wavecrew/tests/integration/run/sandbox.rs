//! A project in a temporary folder whose table of tasks is done by scripted workers, and questions to what came of it.
//!
//! Every worker notes its executions in the file `ran` and works in the project's folder, by which it is found in the process table.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing here takes this long; what hangs must not hang the suite.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// A project, its table and what its workers do.
pub struct Sandbox {
    folder: TempDir,
    table: String,
    scripts: BTreeMap<String, String>,
    args: Vec<String>,
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// A run that goes on; killed when dropped.
pub struct Going {
    child: Child,
    said: TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            table: String::new(),
            scripts: BTreeMap::new(),
            args: Vec::new(),
        }
    }

    /// The table, without descriptions: what a task's worker does is its description.
    pub fn tasks(mut self, csv: &str) -> Self {
        csv.clone_into(&mut self.table);
        self
    }

    /// The words of one task's worker; the others report success.
    pub fn agent(mut self, task: &str, script: &str) -> Self {
        self.scripts.insert(task.to_owned(), script.to_owned());
        self
    }

    /// One more flag of every run.
    pub fn flag(mut self, flag: &str) -> Self {
        self.args.push(flag.to_owned());
        self
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// What a task's row says to its worker.
    pub fn description(&self, task: &str) -> String {
        let script = self.scripts.get(task).map_or("", String::as_str);
        format!("@fake tag={} append=ran {script}", self.tag())
            .trim_end()
            .to_owned()
    }

    fn tag(&self) -> String {
        self.folder()
            .file_name()
            .expect("a named folder")
            .to_string_lossy()
            .into_owned()
    }

    pub fn write_table(&self) {
        let mut reader = csv::Reader::from_reader(self.table.as_bytes());
        let mut header = reader.headers().expect("a header").clone();
        header.push_field("description");
        let mut writer = csv::Writer::from_path(self.path("tasks.csv")).expect("the table is created");
        writer.write_record(&header).expect("the table is written");
        for row in reader.records() {
            let mut row = row.expect("a row");
            let description = self.description(&row[0]);
            row.push_field(&description);
            writer.write_record(&row).expect("the table is written");
        }
        writer.flush().expect("the table is written");
    }

    /// `wavecrew run tasks.csv -y`, to its end.
    pub fn run(&self) -> Ended {
        self.start().wait()
    }

    pub fn start(&self) -> Going {
        self.write_table();
        self.spawn(&mut self.command(&["run", "tasks.csv", "-y"]))
    }

    /// `wavecrew run --continue` with the latest session.
    pub fn go_on(&self) -> Ended {
        self.go_on_with(&[])
    }

    pub fn go_on_with(&self, args: &[&str]) -> Ended {
        let session = self.session_id();
        let words = [["run", "--continue", &session].as_slice(), args].concat();
        self.spawn(&mut self.command(&words)).wait()
    }

    /// The program with these words and the flags of every run.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        self.complete(&mut command, words);
        command
    }

    /// Adds words, flags and surroundings to a command that starts the program.
    pub fn complete(&self, command: &mut Command, words: &[&str]) {
        command.args(words).args(&self.args);
        if !words.contains(&"--agent") {
            command.arg("--agent").arg(agent());
        }
        command.current_dir(self.folder()).env("RUST_BACKTRACE", "0");
    }

    #[expect(clippy::unused_self, reason = "reads as what a sandbox does")]
    pub fn spawn(&self, command: &mut Command) -> Going {
        let said = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str| fs::File::create(said.path().join(name)).expect("a file for output");
        let child = command
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", command.get_program().display()));
        Going { child, said }
    }

    /// The ids of all sessions, oldest first.
    pub fn sessions(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(".workflow/.csv-wave")) else {
            return Vec::new();
        };
        let names = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    pub fn session_id(&self) -> String {
        self.sessions().pop().expect("a session")
    }

    pub fn session(&self) -> PathBuf {
        self.path(".workflow/.csv-wave").join(self.session_id())
    }

    /// A file of the session.
    pub fn file(&self, name: &str) -> PathBuf {
        self.session().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.file(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A cell of the session's table.
    pub fn cell(&self, task: &str, column: &str) -> String {
        let rows = read_rows(&self.file("tasks.csv"));
        let row = rows.iter().find(|row| row["id"] == task);
        let row = row.unwrap_or_else(|| panic!("`{task}` is not in the table"));
        row.get(column)
            .unwrap_or_else(|| panic!("no column `{column}`"))
            .clone()
    }

    pub fn status(&self, task: &str) -> String {
        self.cell(task, "status")
    }

    /// `a completed, b failed, ...`
    pub fn statuses(&self) -> String {
        let rows = read_rows(&self.file("tasks.csv"));
        let all: Vec<String> = rows
            .iter()
            .map(|row| format!("{} {}", row["id"], row["status"]))
            .collect();
        all.join(", ")
    }

    /// How often workers of the task began their first turn.
    pub fn ran(&self, task: &str) -> usize {
        let notes = fs::read_to_string(self.path("ran")).unwrap_or_default();
        let is_first_turn =
            |line: &&str| matches!(line.split(' ').collect::<Vec<_>>()[..], [id, _, "1"] if id == task);
        notes.lines().filter(is_first_turn).count()
    }

    /// Changes the session's table as a person would: the whole text, replaced in one step as spreadsheets do.
    pub fn edit(&self, change: impl FnOnce(String) -> String) {
        let table = self.file("tasks.csv");
        let text = fs::read_to_string(&table).expect("a table");
        let draft = self.path("edited.csv");
        fs::write(&draft, change(text)).expect("the draft is written");
        fs::rename(draft, table).expect("the table is replaced");
    }

    /// Changes cells: `(task, column, value)`.
    pub fn edit_cells(&self, cells: &[(&str, &str, &str)]) {
        self.edit(|text| {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let header = reader.headers().expect("a header").clone();
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(&header).expect("in memory");
            for row in reader.records() {
                let row = row.expect("a row");
                let fields = header.iter().zip(&row).map(|(column, value)| {
                    let set = cells.iter().find(|(id, c, _)| *id == &row[0] && *c == column);
                    set.map_or(value, |(.., value)| value)
                });
                writer.write_record(fields).expect("in memory");
            }
            String::from_utf8(writer.into_inner().expect("in memory")).expect("text")
        });
    }

    /// Processes that work in the project's folder or carry its tag.
    pub fn alive(&self) -> Vec<String> {
        let tag = format!("tag={}", self.tag());
        let mut found = Vec::new();
        for process in fs::read_dir("/proc").expect("the process table").flatten() {
            let Ok(line) = fs::read(process.path().join("cmdline")) else {
                continue;
            };
            // A process that ended has neither.
            let here =
                fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.folder()));
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if here || line.contains(&tag) {
                found.push(format!("{} {line}", process.file_name().to_string_lossy()));
            }
        }
        found
    }

    /// Nothing of the run is left, now.
    pub fn expect_nothing_alive(&self) {
        assert_eq!(self.alive(), Vec::<String>::new(), "left running");
    }
}

impl Going {
    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).expect("the run is there");
    }

    pub fn wait(mut self) -> Ended {
        let status = wait_for("the run to end", || {
            self.child.try_wait().expect("a child of ours")
        });
        self.ended(status)
    }

    pub fn kill(mut self) -> Ended {
        self.child.kill().expect("a child of ours");
        let status = self.child.wait().expect("a child of ours");
        self.ended(status)
    }

    /// What it has said on stdout so far.
    pub fn out(&self) -> String {
        self.said("out")
    }

    fn said(&self, name: &str) -> String {
        let bytes = fs::read(self.said.path().join(name)).expect("a file for output");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn ended(&self, status: ExitStatus) -> Ended {
        Ended {
            code: status.code(),
            out: self.said("out"),
            err: self.said("err"),
        }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    #[track_caller]
    pub fn expect_exit(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        self
    }

    /// On stdout or stderr.
    #[track_caller]
    pub fn expect_says(self, text: &str) -> Self {
        let said = format!("{}{}", self.out, self.err);
        // Long messages are wrapped: compare words.
        let words = |text: &str| {
            text.split(|c: char| c.is_whitespace() || "│×╰─▶".contains(c))
                .filter(|w| !w.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert!(words(&said).contains(&words(text)), "`{text}` is not in:\n{said}");
        self
    }
}

/// Waits, within bounds, until `look` finds something.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "waited in vain for {what}");
        sleep(Duration::from_millis(3));
    }
}

#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// The rows of a session file, by column.
pub fn read_rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    reader
        .deserialize()
        .map(|row| row.unwrap_or_else(|e| panic!("{}: {e}", path.display())))
        .collect()
}

pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_wavecrew")
}

/// The scripted worker as an agent.
pub fn agent() -> String {
    let folder = Path::new(program()).parent().expect("the program's folder");
    let worker = folder.join("examples/fake_worker");
    assert!(
        worker.exists(),
        "{} is missing: build it with `cargo build -p wavecrew --examples`",
        worker.display()
    );
    format!("command:{}", worker.display())
}
