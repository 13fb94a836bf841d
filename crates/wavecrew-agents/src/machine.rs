//! Agents on this machine: which are installed, in which version, and whether they seem to be logged in. Looks at
//! files and variables only; a version is asked of the program itself, with a clock.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Cli;

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// How an agent is paid for or let in, as far as can be told without asking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// This variable holds a key.
    Variable(&'static str),
    /// This file holds credentials, or says where they are.
    File(PathBuf),
    /// Nothing was found where this agent usually keeps it.
    NotFound,
}

/// What a person can do with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table of yes and no")]
pub struct Features {
    pub resume: bool,
    pub mcp: bool,
    pub schema: bool,
    pub usage: bool,
    pub cost: bool,
    /// A role that may not write is held to it by the agent itself.
    pub read_only: bool,
}

impl Cli {
    /// Where it is installed: the first program of its name on the search path.
    pub fn find(self, path: &OsStr) -> Option<PathBuf> {
        find_program(self.name(), path)
    }

    /// The words with which it speaks ACP, if it does so by itself.
    pub const fn acp(self) -> Option<&'static str> {
        match self {
            Self::Gemini => Some("acp:gemini --acp"),
            Self::Qwen => Some("acp:qwen --acp"),
            Self::Opencode => Some("acp:opencode acp"),
            Self::Goose => Some("acp:goose acp"),
            Self::Codex | Self::Claude => None,
        }
    }

    pub const fn how_to_install(self) -> &'static str {
        match self {
            Self::Codex => "npm install -g @openai/codex",
            Self::Claude => "npm install -g @anthropic-ai/claude-code",
            Self::Gemini => "npm install -g @google/gemini-cli",
            Self::Qwen => "npm install -g @qwen-code/qwen-code",
            Self::Opencode => "npm install -g opencode-ai",
            Self::Goose => "see https://block.github.io/goose for an installer",
        }
    }

    /// The version that the tests run.
    pub const fn tested_version(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("0.166.0"),
            Self::Claude => Some("2.1.325"),
            Self::Gemini => Some("0.61.0"),
            Self::Qwen => Some("0.24.4"),
            Self::Opencode => Some("1.18.33"),
            Self::Goose => None,
        }
    }

    pub const fn how_to_log_in(self) -> &'static str {
        match self {
            Self::Codex => "run `codex login`, or set OPENAI_API_KEY",
            Self::Claude => "run `claude` and type /login, or set ANTHROPIC_API_KEY",
            Self::Gemini => "run `gemini` once and choose a login, or set GEMINI_API_KEY",
            Self::Qwen => "run `qwen` once and choose a login, or set OPENAI_API_KEY",
            Self::Opencode => "run `opencode auth login`",
            Self::Goose => "run `goose configure`",
        }
    }

    pub const fn features(self) -> Features {
        let cost = matches!(self, Self::Claude);
        let read_only = !matches!(self, Self::Goose);
        Features {
            resume: true,
            mcp: true,
            schema: self.takes_schema(),
            usage: true,
            cost,
            read_only,
        }
    }

    /// Variables that let it in, and files below the home folder (or below the folder that a variable names).
    pub(super) fn credentials(self) -> (&'static [&'static str], &'static [Place]) {
        match self {
            Self::Codex => (
                &["OPENAI_API_KEY", "CODEX_API_KEY"],
                &[
                    Place("CODEX_HOME", ".codex", "auth.json"),
                    Place("CODEX_HOME", ".codex", "config.toml"),
                ],
            ),
            Self::Claude => (
                &[
                    "ANTHROPIC_API_KEY",
                    "ANTHROPIC_AUTH_TOKEN",
                    "CLAUDE_CODE_OAUTH_TOKEN",
                    "CLAUDE_CODE_USE_BEDROCK",
                    "CLAUDE_CODE_USE_VERTEX",
                ],
                &[Place("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json")],
            ),
            Self::Gemini => (
                &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
                &[Place("GEMINI_CLI_HOME", ".gemini", "oauth_creds.json")],
            ),
            Self::Qwen => (
                &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
                &[Place("QWEN_HOME", ".qwen", "oauth_creds.json")],
            ),
            Self::Opencode => (
                &["OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
                &[
                    Place("XDG_DATA_HOME", ".local/share", "opencode/auth.json"),
                    Place("XDG_CONFIG_HOME", ".config", "opencode/opencode.json"),
                ],
            ),
            Self::Goose => (
                &["GOOSE_PROVIDER"],
                &[Place("XDG_CONFIG_HOME", ".config", "goose/config.yaml")],
            ),
        }
    }

    /// Whether it seems to be logged in. A login that the system's key ring holds is not seen.
    pub fn login(self, variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Login {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let (variables, places) = self.credentials();
        if let Some(name) = variables.iter().find(|name| set(name).is_some()) {
            return Login::Variable(name);
        }
        let home = set("HOME").map(PathBuf::from);
        let found = places.iter().find_map(|Place(variable, below_home, file)| {
            let folder = set(variable)
                .map(PathBuf::from)
                .or_else(|| Some(home.as_ref()?.join(below_home)))?;
            Some(folder.join(file)).filter(|path| path.is_file())
        });
        found.map_or(Login::NotFound, Login::File)
    }
}

/// A variable that names a folder, the folder below the home that it replaces, and a file in it.
pub(super) struct Place(pub &'static str, &'static str, &'static str);

/// Every known agent that is installed, in the order of preference.
pub fn installed(path: &OsStr) -> Vec<Cli> {
    Cli::ALL
        .into_iter()
        .filter(|cli| cli.find(path).is_some())
        .collect()
}

/// What the program says of its version, or why it does not.
pub fn version(program: &Path) -> Result<String, String> {
    let mut child = Command::new(program)
        .arg("--version")
        // gemini would start itself a second time, which is slow and leaves two to end.
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                // It may be gone already.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer to --version in {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    let mut text = String::new();
    if let Some(stdout) = child.stdout.take() {
        // A program that has ended and prints more than this is not telling its version.
        let _ = stdout.take(4096).read_to_string(&mut text);
    }
    let word = text
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    word.map(str::to_owned)
        .ok_or_else(|| "its answer to --version names none".to_owned())
}

/// Programs that do nothing but speak ACP, for agents that do not by themselves.
pub const ACP_PROGRAMS: [&str; 2] = ["claude-agent-acp", "codex-acp"];

/// Where a program is: a path as it is, a name on the search path.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|file| is_program(file));
    }
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| is_program(file))
}

/// What `--agent` may be given here to speak ACP.
pub fn acp_agents(path: &OsStr) -> Vec<String> {
    let known = installed(path)
        .into_iter()
        .filter_map(Cli::acp)
        .map(str::to_owned);
    let programs = ACP_PROGRAMS
        .iter()
        .filter(|name| find_program(name, path).is_some());
    known.chain(programs.map(|name| format!("acp:{name}"))).collect()
}

fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::fs;

    fn program(folder: &Path, name: &str, script: &str) {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn agents_are_found_in_the_order_of_preference() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        program(first.path(), "qwen", "echo 'qwen v1'");
        program(second.path(), "codex-acp", "exit 0");
        program(second.path(), "claude", "echo '2.1.3 (Claude Code)'");
        fs::write(first.path().join("codex"), "not a program").unwrap();
        let path = std::env::join_paths([first.path(), second.path()]).unwrap();
        assert_eq!(installed(&path), [Cli::Claude, Cli::Qwen]);
        assert_eq!(acp_agents(&path), ["acp:qwen --acp", "acp:codex-acp"]);
        let by_path = first.path().join("qwen");
        assert_eq!(
            find_program(by_path.to_str().unwrap(), &path),
            Some(by_path.clone())
        );
        assert_eq!(find_program("/no/such", &path), None);
        assert_eq!(version(&Cli::Claude.find(&path).unwrap()).unwrap(), "2.1.3");
        assert!(
            version(&Cli::Qwen.find(&path).unwrap())
                .unwrap_err()
                .contains("names none")
        );
    }

    #[test]
    fn logins_are_seen_where_agents_keep_them() {
        let home = tempfile::tempdir().unwrap();
        let codex = home.path().join("elsewhere");
        fs::create_dir_all(&codex).unwrap();
        fs::write(codex.join("auth.json"), "{}").unwrap();
        let variables = |name: &str| match name {
            "HOME" => Some(OsString::from(home.path())),
            "CODEX_HOME" => Some(OsString::from(&codex)),
            "ANTHROPIC_API_KEY" => Some(OsString::from("k")),
            "GEMINI_API_KEY" => Some(OsString::new()),
            _ => None,
        };
        assert_eq!(Cli::Codex.login(variables), Login::File(codex.join("auth.json")));
        assert_eq!(Cli::Claude.login(variables), Login::Variable("ANTHROPIC_API_KEY"));
        assert_eq!(Cli::Gemini.login(variables), Login::NotFound);
    }
}
