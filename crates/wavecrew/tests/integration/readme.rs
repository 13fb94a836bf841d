//! Runs the tour of the README, command by command, and compares what it prints with what the README shows; times
//! and dates may differ. `WAVECREW_BLESS=1 cargo nextest run -p wavecrew readme` puts the real output there.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use crate::example_files::{copy, examples};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where the reader of the README is.
const PROJECT: &str = "/home/you/project";
/// What the shell says about a killed program.
const KILLED: &str = "Killed\n";

/// A folder with the tour in it.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(&examples().join("tour"), &folder.path().join("examples/tour"));
        Self { folder }
    }

    fn sessions(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path().join(".workflow/.csv-wave"));
        let paths = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_dir()).collect()
    }

    /// Everything that the command prints, as if the reader had typed it.
    fn run(&self, command: &str) -> String {
        let output = if let Some(command) = command.strip_prefix("timeout -s KILL 2.5 ") {
            self.kill_midway(command)
        } else {
            let output = self.shell(command).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let folder = self.folder.path().canonicalize().unwrap();
        output.replace(folder.to_str().unwrap(), PROJECT)
    }

    fn shell(&self, command: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_wavecrew")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", program.display()))
            .env_remove("COLUMNS")
            .stdin(Stdio::null());
        shell
    }

    /// Kills the run by what it has done and not by the clock: two tasks are done, the third is at work.
    fn kill_midway(&self, command: &str) -> String {
        let printed = self.folder.path().join(".printed");
        let mut run = self
            .shell(&format!("exec {command}"))
            .stdout(File::create(&printed).unwrap())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let third = |session: &PathBuf| session.join("prompts/READ-salad.1.1.md").exists();
            let told = fs::read_to_string(&printed).unwrap();
            if self.sessions().iter().any(third) && told.contains("READ-soup") {
                break;
            }
            assert!(Instant::now() < deadline, "the third task never started: {told}");
            assert!(run.try_wait().unwrap().is_none(), "it ended by itself: {told}");
            std::thread::sleep(Duration::from_millis(10));
        }
        run.kill().unwrap();
        run.wait().unwrap();
        fs::read_to_string(&printed).unwrap() + KILLED
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The name of a session, which ends with the date.
fn named_session(word: &str) -> Option<String> {
    let from = word.find("run-tasks-")?;
    let name = &word[from..];
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    Some(name[..end.unwrap_or(name.len())].to_owned())
}

/// The README again, with what its commands really print.
fn rerun(readme: &str) -> String {
    let project = Project::new();
    let mut real = String::new();
    let mut in_block = false;
    for line in readme.lines() {
        if let Some(command) = line.strip_prefix("$ ").filter(|_| in_block) {
            real += &format!("{line}\n{}", project.run(command));
            continue;
        }
        if line.starts_with("```") {
            in_block = line == "```console";
        }
        if !in_block || line == "```console" {
            real += &format!("{line}\n");
        }
    }
    real
}

/// A line without what differs from run to run: times, dates, and the spaces that align them.
fn lasting(line: &str) -> String {
    let number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_unit = |word: &str| ["ms", "s", "min", "h"].contains(&word);
    let is_time = |word: &str| {
        let (digits, unit) = word.split_at(word.find(|c: char| c.is_alphabetic()).unwrap_or(word.len()));
        let is_moment = |c: char| c.is_ascii_digit() || "-:.TZ".contains(c);
        (number(digits) && is_unit(unit)) || (word.len() > 7 && word.chars().all(is_moment))
    };
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_matches(|c: char| "(),;.".contains(c));
        if is_time(bare) {
            words.push("TIME".to_owned());
        } else if is_unit(bare) && words.last().is_some_and(|last| number(last.trim_matches('('))) {
            words.pop();
            words.push("TIME".to_owned());
        } else if let Some(name) = named_session(word) {
            words.push(word.replace(&name, "SESSION"));
        } else {
            words.push(word.to_owned());
        }
    }
    words.dedup_by(|a, b| *a == "TIME" && *b == "TIME");
    words.join(" ")
}

#[test]
fn the_tour_prints_what_the_readme_shows() {
    let path = root().join("README.md");
    let shown = fs::read_to_string(&path).unwrap();
    let real = rerun(&shown);
    if std::env::var_os("WAVECREW_BLESS").is_some() {
        fs::write(&path, real).unwrap();
        return;
    }
    let lines = |text: &str| text.lines().map(lasting).collect::<Vec<_>>().join("\n");
    assert!(
        lines(&shown) == lines(&real),
        "the README shows something else; compare, or repair it with WAVECREW_BLESS=1:\n{real}"
    );
}
