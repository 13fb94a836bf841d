//! Runs the person's git. Sees to it that no hook, signature, editor or variable of an outer git takes part; knows
//! nothing of what the commands are for.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Variables by which a git that started us would bend ours to its own repository.
const OUTER: [&str; 14] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_WORK_TREE",
];

/// Settings of every command: what a person's own commits go through is not for ours.
const SETTINGS: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "advice.detachedHead=false",
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    Missing(String),
    #[error("git {command}: {said}")]
    Failed { command: String, said: String },
}

/// Git, in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Git {
    folder: PathBuf,
}

impl Git {
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// What the command prints, without the line's end.
    pub fn run(&self, words: &[&str]) -> Result<String, GitError> {
        let output = self.output(words)?;
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(failed(words, &output))
    }

    /// For commands that answer by their exit code: 0 is yes, 1 is no.
    pub fn asks(&self, words: &[&str]) -> Result<bool, GitError> {
        let output = self.output(words)?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            Some(_) | None => Err(failed(words, &output)),
        }
    }

    /// The commit that a name stands for.
    pub fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let name = format!("{name}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", &name];
        let output = self.output(&words)?;
        match output.status.code() {
            Some(0) => Ok(Some(text(&output.stdout))),
            Some(1) => Ok(None),
            Some(_) | None => Err(failed(&words, &output)),
        }
    }

    /// Whether everything in `old` is in `new`.
    pub fn contains(&self, new: &str, old: &str) -> Result<bool, GitError> {
        self.asks(&["merge-base", "--is-ancestor", old, new])
    }

    pub fn output(&self, words: &[&str]) -> Result<Output, GitError> {
        let mut command = Command::new("git");
        command
            .current_dir(&self.folder)
            .args(SETTINGS)
            .args(words)
            .stdin(Stdio::null())
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "true")
            .env("LC_ALL", "C");
        for name in OUTER {
            command.env_remove(name);
        }
        command
            .output()
            .map_err(|error| GitError::Missing(error.to_string()))
    }

    /// Who commits: the person, or ourselves where git knows nobody.
    pub fn identity(&self) -> Result<&'static [&'static str], GitError> {
        let known = ["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"];
        Ok(if self.output(&known)?.status.success() {
            &[]
        } else {
            &["-c", "user.name=wavecrew", "-c", "user.email=wavecrew@localhost"]
        })
    }
}

fn failed(words: &[&str], output: &Output) -> GitError {
    let said = match text(&output.stderr) {
        silent if silent.is_empty() => text(&output.stdout),
        said => said,
    };
    GitError::Failed {
        command: words.join(" "),
        said,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
