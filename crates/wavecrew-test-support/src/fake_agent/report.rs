//! The worker's report, by hand: this program starts ten thousand times in a benchmark, and links nothing for JSON.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::process::Command;

use crate::fake_agent::variable;

/// The content of the next report.
#[derive(Debug)]
pub struct Report {
    pub task: String,
    pub status: String,
    pub findings: String,
    pub token: Option<String>,
    columns: Vec<(String, String)>,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            task: variable("WAVECREW_TASK"),
            status: "completed".to_owned(),
            findings: "done".to_owned(),
            token: None,
            columns: Vec::new(),
        }
    }
}

impl Report {
    /// `COLUMN:VALUE`
    pub fn set(&mut self, column: &str) -> io::Result<()> {
        let (name, value) = column
            .split_once(':')
            .ok_or_else(|| io::Error::other("`set` wants COLUMN:VALUE"))?;
        self.columns.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    pub fn failed(&mut self, error: &str) -> &Self {
        "failed".clone_into(&mut self.status);
        self.columns.push(("error".to_owned(), error.to_owned()));
        self
    }

    pub fn print(&self) -> io::Result<()> {
        io::stdout().write_all((self.json() + "\n").as_bytes())
    }

    pub fn write_file(&self) -> io::Result<()> {
        fs::write(variable("WAVECREW_RESULT_FILE"), self.json())
    }

    pub fn run_command(&self) -> io::Result<()> {
        let program = std::env::var_os("FAKE_WAVECREW").unwrap_or_else(|| "wavecrew".into());
        let mut command = Command::new(program);
        command.arg("report").arg(self.json());
        if let Some(token) = &self.token {
            command.env("WAVECREW_TOKEN", token);
        }
        command.status().map(drop)
    }

    fn json(&self) -> String {
        let [task, status, findings] = [&self.task, &self.status, &self.findings].map(|t| quoted(t));
        let mut out = format!("{{\"id\":{task},\"status\":{status},\"findings\":{findings}");
        for (name, value) in &self.columns {
            let [name, value] = [name, value].map(|t| quoted(t));
            out.extend([",", &name, ":", &value]);
        }
        out + "}"
    }
}

pub fn print_invalid() -> io::Result<()> {
    let task = quoted(&variable("WAVECREW_TASK"));
    writeln!(
        io::stdout(),
        "{{\"id\":{task},\"status\":[\"maybe\"],\"findings\":{{}}}}"
    )
}

/// As a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string cannot fail");
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
