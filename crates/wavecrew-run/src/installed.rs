//! Agents on this machine: which are installed, in which version, and whether they seem to be logged in. Reads files and
//! variables, and runs `--version` with a time limit.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wavecrew_agents::cli::{self, AcpCommand, AgentCli};
use wavecrew_core::state_folder::set_folder;

/// How long a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// The login of an agent, as far as it can be seen without starting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// This variable contains a key.
    Variable(&'static str),
    /// This file contains credentials, or their location.
    File(PathBuf),
    /// No login was found in the usual places of this agent.
    NotFound,
}

/// Where an agent CLI is installed: the first program of its name on the search path.
pub fn find(cli: &dyn AgentCli, path: &OsStr) -> Option<PathBuf> {
    find_program(cli.name(), path)
}

/// Whether an agent seems to be logged in. A login in the system's key ring is not seen.
pub fn login(cli: &dyn AgentCli, variable: impl Fn(&str) -> Option<OsString>) -> Login {
    let set = |name: &str| set_folder(&variable, name);
    let facts = cli.facts();
    if let Some(name) = facts.key_variables.iter().find(|name| set(name).is_some()) {
        return Login::Variable(name);
    }
    let home = set("HOME");
    let found = facts.login_files.iter().find_map(|login| {
        let folder = set(login.variable).or_else(|| Some(home.as_ref()?.join(login.home_folder)))?;
        Some(folder.join(login.file)).filter(|path| path.is_file())
    });
    found.map_or(Login::NotFound, Login::File)
}

/// Every known agent that is installed, in the order of preference.
pub fn installed(path: &OsStr) -> Vec<&'static dyn AgentCli> {
    cli::ALL
        .iter()
        .copied()
        .filter(|cli| find(*cli, path).is_some())
        .collect()
}

/// The version that the program prints, or why it is not known.
pub fn version(program: &Path) -> Result<String, String> {
    let mut child = Command::new(program)
        .arg("--version")
        // gemini would start itself a second time, which is slow and makes two processes to end.
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let until = Instant::now() + VERSION_TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                // It may be gone already.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "`--version` took longer than {} s",
                    VERSION_TIMEOUT.as_secs()
                ));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    let mut text = String::new();
    if let Some(stdout) = child.stdout.take() {
        // A longer output is not a version.
        let _ = stdout.take(4096).read_to_string(&mut text);
    }
    let bare = text
        .split_whitespace()
        .map(|word| word.strip_prefix('v').unwrap_or(word));
    let mut versions = bare.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    versions
        .next()
        .map(str::to_owned)
        .ok_or_else(|| "`--version` printed no version".to_owned())
}

/// Finds a program: a path as it is, a name on the search path.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|file| is_program(file));
    }
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| is_program(file))
}

/// The ACP agents that are installed, as `--agent` names them.
pub fn acp_agents(path: &OsStr) -> Vec<String> {
    let (mut builtin, mut programs) = (Vec::new(), Vec::new());
    for cli in cli::ALL {
        match cli.facts().acp {
            AcpCommand::Builtin(command) if find(*cli, path).is_some() => builtin.push(command),
            AcpCommand::Program(name) if find_program(name, path).is_some() => programs.push(name),
            AcpCommand::Builtin(_) | AcpCommand::Program(_) => {}
        }
    }
    let commands = builtin.into_iter().chain(programs);
    commands.map(|command| format!("acp:{command}")).collect()
}

fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use wavecrew_agents::cli::claude::Claude;
    use wavecrew_agents::cli::codex::Codex;
    use wavecrew_agents::cli::gemini::Gemini;
    use wavecrew_agents::cli::qwen::Qwen;

    fn program(folder: &Path, name: &str, script: &str) {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn names(found: &[&dyn AgentCli]) -> Vec<&'static str> {
        found.iter().map(|cli| cli.name()).collect()
    }

    #[test]
    fn agents_are_found_in_the_order_of_preference() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        program(first.path(), "qwen", "echo 'qwen of today'");
        program(second.path(), "codex-acp", "exit 0");
        program(second.path(), "node", "echo v22.1.0");
        program(second.path(), "claude", "echo '2.1.3 (Claude Code)'");
        fs::write(first.path().join("codex"), "not a program").unwrap();
        let path = std::env::join_paths([first.path(), second.path()]).unwrap();
        assert_eq!(names(&installed(&path)), ["claude", "qwen"]);
        assert_eq!(acp_agents(&path), ["acp:qwen --acp", "acp:codex-acp"]);
        let by_path = first.path().join("qwen");
        assert_eq!(
            find_program(by_path.to_str().unwrap(), &path),
            Some(by_path.clone())
        );
        assert_eq!(find_program("/no/such", &path), None);
        assert_eq!(version(&find(&Claude, &path).unwrap()).unwrap(), "2.1.3");
        assert_eq!(version(&second.path().join("node")).unwrap(), "22.1.0");
        assert!(
            version(&find(&Qwen, &path).unwrap())
                .unwrap_err()
                .contains("no version")
        );
    }

    #[test]
    fn logins_are_found_where_agents_keep_them() {
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
        assert_eq!(login(&Codex, variables), Login::File(codex.join("auth.json")));
        assert_eq!(login(&Claude, variables), Login::Variable("ANTHROPIC_API_KEY"));
        assert_eq!(login(&Gemini, variables), Login::NotFound);
    }
}
