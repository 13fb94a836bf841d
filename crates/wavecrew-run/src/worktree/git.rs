//! Runs the installed git, without hooks, signatures, editors and variables of an outer git.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Variables with which an outer git would point ours at its own repository.
const OUTER_VARIABLES: [&str; 14] = [
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

/// Settings of every command: the hooks and signatures of the person's own commits do not apply to ours.
const SETTINGS: [&str; 14] = [
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
    "-c",
    "core.sshCommand=false",
    "-c",
    "protocol.ext.allow=never",
];

/// Settings with programs that git runs on files. Those of the repository itself may come from a worker.
const COMMANDS: &str = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$";
/// Commands that neither read nor write files of the checkout.
const HARMLESS: [&str; 5] = ["rev-parse", "merge-base", "for-each-ref", "show-ref", "var"];

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
        let mut command = git_command(&self.folder);
        command.args(args);
        if !args.first().is_some_and(|name| HARMLESS.contains(name)) {
            let replaced = self.replaced_commands();
            command.env("GIT_CONFIG_COUNT", replaced.len().to_string());
            for (number, (name, value)) in replaced.iter().enumerate() {
                command.env(format!("GIT_CONFIG_KEY_{number}"), name);
                command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
            }
        }
        command
            .output()
            .map_err(|error| GitError::Missing(error.to_string()))
    }

    /// Every program of the repository's own settings, with what replaces it. Those of the person's settings stay.
    fn replaced_commands(&self) -> Vec<(String, &'static str)> {
        let listing = [
            "config",
            "--show-scope",
            "-z",
            "--includes",
            "--get-regexp",
            COMMANDS,
        ];
        let Ok(listed) = git_command(&self.folder).args(listing).output() else {
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut fields = text.split('\0');
        let mut replaced = Vec::new();
        while let (Some(scope), Some(setting)) = (fields.next(), fields.next()) {
            let name = setting.split('\n').next().unwrap_or(setting);
            if scope == "local" || scope == "worktree" {
                replaced.push((name.to_owned(), replacement(name)));
            }
        }
        replaced
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

/// Git in a folder, with hooks, monitors, transports and the variables of an outer git turned off.
pub fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(SETTINGS)
        .stdin(Stdio::null())
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("LC_ALL", "C");
    for name in OUTER_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// What takes the place of a repository's own program: files as they are, and git's own merge.
fn replacement(name: &str) -> &'static str {
    if name.ends_with(".driver") {
        "git merge-file %A %O %B"
    } else if name.ends_with(".required") {
        "false"
    } else {
        ""
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn programs_in_a_repositorys_settings_do_not_run() {
        let root = tempfile::tempdir().unwrap();
        let marker = root.path().join("ran");
        let repo = root.path().join("repo");
        fs::create_dir(&repo).unwrap();
        let run = |args: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(&repo).args(args);
            assert!(git.output().unwrap().status.success(), "{args:?}");
        };
        run(&["init", "-q"]);
        let touch = format!("touch {}; cat", marker.display());
        fs::write(
            repo.join(".git/more"),
            format!("[filter \"c=d\"]\n\tsmudge = {touch}\n"),
        )
        .unwrap();
        for (name, value) in [
            ("filter.a.clean", touch.as_str()),
            ("filter.a.smudge", &touch),
            ("filter.a.required", "true"),
            ("filter.c=d.clean", &touch),
            ("core.fsmonitor", &touch),
            ("core.sshCommand", &touch),
            ("include.path", "more"),
        ] {
            run(&["config", name, value]);
        }
        fs::write(
            repo.join(".git/hooks/pre-commit"),
            format!("#!/bin/sh\n{touch}\n"),
        )
        .unwrap();
        fs::write(repo.join(".gitattributes"), "*.txt filter=a\n*.md filter=c=d\n").unwrap();
        for name in ["a.txt", "b.md"] {
            fs::write(repo.join(name), "text\n").unwrap();
        }
        let git = Git::at(&repo);
        git.run(&["add", "-A"]).unwrap();
        git.run(&[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@y",
            "commit",
            "-q",
            "-m",
            "x",
        ])
        .unwrap();
        fs::remove_file(repo.join("a.txt")).unwrap();
        git.run(&["status", "--porcelain"]).unwrap();
        git.run(&["reset", "-q", "--hard"]).unwrap();
        assert!(repo.join("a.txt").exists());
        assert!(!marker.exists(), "a program of the repository ran");
    }
}
