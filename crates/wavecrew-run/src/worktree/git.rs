//! Runs git in the worktrees of a session, and reads its output.

use std::path::{Path, PathBuf};
use std::process::Output;
use wavecrew_process::{git_command, git_output};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    Missing(String),
    #[error("git {command}: {message}")]
    Failed { command: String, message: String },
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

    /// The output of a command, without the final newline.
    pub fn run(&self, args: &[&str]) -> Result<String, GitError> {
        let output = self.output(args)?;
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(failed(args, &output))
    }

    /// For commands that answer with their exit code: 0 is yes, 1 is no.
    pub fn test(&self, args: &[&str]) -> Result<bool, GitError> {
        let output = self.output(args)?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            Some(_) | None => Err(failed(args, &output)),
        }
    }

    /// The commit that a name refers to.
    pub fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let name = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", &name];
        let output = self.output(&args)?;
        match output.status.code() {
            Some(0) => Ok(Some(text(&output.stdout))),
            Some(1) => Ok(None),
            Some(_) | None => Err(failed(&args, &output)),
        }
    }

    /// Whether `old` is an ancestor of `new`.
    pub fn contains(&self, new: &str, old: &str) -> Result<bool, GitError> {
        self.test(&["merge-base", "--is-ancestor", old, new])
    }

    pub fn output(&self, args: &[&str]) -> Result<Output, GitError> {
        git_output(git_command(&self.folder, args)).map_err(|error| GitError::Missing(error.to_string()))
    }

    /// The committer: the person, or wavecrew if git has no name configured.
    pub fn identity(&self) -> Result<&'static [&'static str], GitError> {
        let known = ["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"];
        Ok(if self.output(&known)?.status.success() {
            &[]
        } else {
            &["-c", "user.name=wavecrew", "-c", "user.email=wavecrew@localhost"]
        })
    }
}

fn failed(args: &[&str], output: &Output) -> GitError {
    let message = match text(&output.stderr) {
        stderr if stderr.is_empty() => text(&output.stdout),
        stderr => stderr,
    };
    GitError::Failed {
        command: args.join(" "),
        message,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
