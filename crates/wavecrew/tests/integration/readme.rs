//! Runs the tour of the README, command by command, and compares what it prints with what the README shows; times
//! and dates may differ. `WAVECREW_BLESS=1 cargo nextest run -p wavecrew readme` puts the real output there.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wavecrew_test_support::sandbox::{Running, Sandbox, copy_folder, program, wait_until};

/// Where the reader of the README is.
const PROJECT: &str = "/home/you/project";
/// The shell's message about a killed program.
const KILLED: &str = "Killed\n";

/// The tour in the reader's project.
struct Tour(Sandbox);

impl Tour {
    fn new() -> Self {
        let sandbox = Sandbox::new().requiring_confinement();
        copy_folder(&root().join("examples/tour"), &sandbox.path("examples/tour"));
        let folder = program().parent().unwrap().display().to_string();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
        Self(sandbox.env("PATH", path))
    }

    /// Everything that the command prints, as if the reader had typed it.
    fn run(&self, command: &str) -> String {
        let output = if let Some(command) = command.strip_prefix("timeout -s KILL 2.5 ") {
            self.kill_midway(command)
        } else {
            self.start(command).wait().stdout
        };
        output.replace(self.0.project().to_str().unwrap(), PROJECT)
    }

    fn start(&self, command: &str) -> Running {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1; {command}")]);
        self.0.prepare(&mut shell);
        self.0.spawn(shell.env_remove("COLUMNS"))
    }

    /// Kills the run by what it has done and not by the clock: two tasks are done, the third is at work.
    fn kill_midway(&self, command: &str) -> String {
        let mut run = self.start(&format!("exec {command}"));
        wait_until("the third task", || {
            assert!(run.is_running(), "it ended by itself: {}", run.stdout());
            run.stdout().contains("READ-soup") && self.0.in_session("prompts/READ-salad.1.1.md").exists()
        });
        run.kill().stdout + KILLED
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
    let tour = Tour::new();
    let mut real = String::new();
    let mut in_block = false;
    for line in readme.lines() {
        if let Some(command) = line.strip_prefix("$ ").filter(|_| in_block) {
            real += &format!("{line}\n{}", tour.run(command));
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
    // What can be enforced differs from machine to machine.
    if line.starts_with("Sandbox ") {
        return "Sandbox".to_owned();
    }
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
