//! Runs git on files of workers. Whatever the settings of the repository are, git starts no program: no hook,
//! filter, monitor, driver, editor, signature or transport. Filters and drivers in the user's own settings
//! stay active: projects may need them. Git and the programs that it starts are confined as well: they can
//! change only the checkout and its repository.
//!
//! Landlock and the system call filter confine git, without a mount namespace: git has to change `.git`
//! itself.

mod places;

pub use places::trust_repository;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::sandbox::spawn_confined_by_landlock;
use crate::start_detached;

/// Variables of an outer git that would lead ours to another repository, or to programs.
const OUTER_VARIABLES: [&str; 18] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_PROXY_COMMAND",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SSH",
    "GIT_WORK_TREE",
];

/// Settings of every command.
const SETTINGS: [&str; 11] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.sshCommand=false",
    "commit.gpgsign=false",
    "merge.verifySignatures=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "protocol.ext.allow=never",
];

/// No downloads, no questions, no pager, and no history other than the commits themselves tell.
const VARIABLES: [(&str, &str); 10] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("LC_ALL", "C"),
];

/// Settings with programs that git runs on files. Those of the repository itself may come from a worker.
const PROGRAMS: &str =
    r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver|gpg\.(.*\.)?program)$";
/// Commands that run no program on files, as we call them: they neither convert, compare nor merge what is in files.
const HARMLESS: [&str; 12] = [
    "cat-file",
    "config",
    "for-each-ref",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
    "show-ref",
    "symbolic-ref",
    "update-ref",
    "var",
];
/// Commands that may show differences.
const SHOWING: [&str; 6] = ["diff", "show", "log", "diff-tree", "diff-index", "diff-files"];

/// A git command in a folder.
pub fn git_command(folder: &Path, args: &[&str]) -> Command {
    let mut command = hardened(folder);
    let at = subcommand(args);
    let (options, words) = args.split_at(at.map_or(args.len(), |at| at + 1));
    command.args(options);
    let name = at.map_or("", |at| args[at]);
    if SHOWING.contains(&name) {
        command.args(["--no-ext-diff", "--no-textconv"]);
    }
    if name == "submodule" {
        // Submodules come from the project's own copies.
        command.env("GIT_ALLOW_PROTOCOL", "file");
    }
    command.args(words);
    if !HARMLESS.contains(&name) {
        let replaced = replaced_programs(folder);
        command.env("GIT_CONFIG_COUNT", replaced.len().to_string());
        for (number, (name, value)) in replaced.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
    }
    command
}

/// Runs git to its end, as a detached child: when the guardian is killed, the coordinator ends its
/// descendants, but not this git, which is not a worker's.
pub fn git_output(mut command: Command) -> io::Result<Output> {
    command.stdout(Stdio::piped());
    run_detached(command)
}

/// The output of a git that reads; `None` if it fails.
pub fn git_bytes(folder: &Path, args: &[&str]) -> io::Result<Option<Vec<u8>>> {
    let mut command = git_command(folder, args);
    command.env("GIT_OPTIONAL_LOCKS", "0");
    let output = git_output(command)?;
    Ok(output.status.success().then_some(output.stdout))
}

/// The output of a git that reads, as text without space around it; `None` if it fails.
pub fn git_text(folder: &Path, args: &[&str]) -> io::Result<Option<String>> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    Ok(git_bytes(folder, args)?.map(text))
}

/// The names that git writes with `-z`: between zero bytes, so that they may contain any character.
pub fn git_names(output: &[u8]) -> impl Iterator<Item = PathBuf> {
    output
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
}

/// Like [`git_output`], with the output in a file, which may be where git itself must not write.
pub fn git_output_to(mut command: Command, file: File) -> io::Result<Output> {
    command.stdout(file);
    run_detached(command)
}

fn run_detached(mut command: Command) -> io::Result<Output> {
    command.stderr(Stdio::piped());
    let folder = command.get_current_dir().unwrap_or(Path::new("."));
    let places = places::writable(folder);
    let spawn = || spawn_confined_by_landlock(&mut command, &places);
    let (child, _detached) = start_detached(spawn, |child| Some(child.id()))?;
    child.wait_with_output()
}

/// Where the name of the command is, after options such as `-c name=value`.
fn subcommand(args: &[&str]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        match *word {
            "-c" | "-C" => at += 2,
            option if option.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
    None
}

fn hardened(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null());
    for name in OUTER_VARIABLES {
        command.env_remove(name);
    }
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.envs(VARIABLES);
    command
}

/// Every program in the repository's own settings, with its replacement.
fn replaced_programs(folder: &Path) -> Vec<(String, &'static str)> {
    let listing = [
        "config",
        "--show-scope",
        "-z",
        "--includes",
        "--get-regexp",
        PROGRAMS,
    ];
    let mut command = hardened(folder);
    command.args(listing);
    let Ok(listed) = git_output(command) else {
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

/// The replacement of a repository's own program: files unchanged, git's own merge, no signature.
fn replacement(name: &str) -> &'static str {
    if name.ends_with(".driver") {
        "git merge-file %A %O %B"
    } else if name.ends_with(".required") {
        "false"
    } else if name.ends_with("program") {
        "true"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests;
