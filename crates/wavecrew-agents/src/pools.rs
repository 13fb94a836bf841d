//! Pools: which agents use the same account. The name of a pool is a hash of key, login and address of the service, so that it
//! discloses none of them. Also the folder in which the runs on this machine share their pools.

use super::cli::{self, AgentCli};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use wavecrew_core::pool::name_of;

/// Variables with addresses of services other than the default.
const ADDRESSES: [&str; 3] = ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"];

/// The pools of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pools {
    /// Names of pools by agent. The pool of any other agent is not shared.
    pub by_agent: BTreeMap<String, String>,
    /// Where runs share their pools.
    pub folder: Option<PathBuf>,
}

impl Pools {
    /// `named` are the names from the settings.
    pub fn find<'a>(
        agents: impl IntoIterator<Item = &'a str>,
        named: &BTreeMap<String, String>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let pool = |agent: &str| {
            let usual = || cli_behind(agent).map(|cli| pool_of(cli, &variable));
            Some((agent.to_owned(), named.get(agent).cloned().or_else(usual)?))
        };
        Self {
            by_agent: agents.into_iter().filter_map(pool).collect(),
            folder: folder(&variable),
        }
    }
}

/// The CLI whose login the agent uses: gemini for `acp:gemini --acp`, codex for `acp:/opt/codex-acp`.
fn cli_behind(agent: &str) -> Option<&'static dyn AgentCli> {
    let Some(command) = agent.strip_prefix("acp:") else {
        return cli::by_name(agent);
    };
    let program = Path::new(command.split_whitespace().next()?)
        .file_name()?
        .to_str()?;
    let name = program.strip_suffix("-acp").unwrap_or(program);
    cli::by_name(name.strip_suffix("-agent").unwrap_or(name))
}

fn pool_of(cli: &dyn AgentCli, variable: &impl Fn(&str) -> Option<OsString>) -> String {
    let facts = cli.facts();
    let keys = facts.key_variables.iter().copied();
    let folders = facts.login_files.iter().map(|file| file.variable);
    let names = keys.chain(ADDRESSES).chain(folders).chain(["HOME"]);
    let values: Vec<OsString> = names.map(|name| variable(name).unwrap_or_default()).collect();
    name_of(facts.name, values.iter().map(|value| value.as_bytes()))
}

fn folder(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(wavecrew_core::state_folder::state_folder(variable)?.join("pools"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(agents: &[&str], variables: &[(&str, &str)]) -> Pools {
        let named = [("command:./a.sh --fast".to_owned(), "shop".to_owned())].into();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Pools::find(agents.iter().copied(), &named, variable)
    }

    #[test]
    fn another_key_is_another_pool() {
        let pool = |variables: &[(&str, &str)]| pools(&["codex"], variables).by_agent["codex"].clone();
        let one = pool(&[("OPENAI_API_KEY", "one")]);
        assert_eq!(one, pool(&[("OPENAI_API_KEY", "one"), ("TERM", "x")]));
        for other in [
            [("OPENAI_API_KEY", "two")],
            [("OPENAI_BASE_URL", "one")],
            [("CODEX_HOME", "one")],
        ] {
            assert_ne!(one, pool(&other), "{other:?}");
        }
        assert!(
            one.starts_with("codex-") && one.len() == "codex-".len() + 8,
            "{one}"
        );
    }

    #[test]
    fn an_acp_agent_uses_the_pool_of_its_cli() {
        for (agent, cli) in [
            ("acp:gemini --acp", "gemini"),
            ("acp:/opt/bin/opencode acp", "opencode"),
            ("acp:claude-agent-acp", "claude"),
            ("acp:codex-acp", "codex"),
        ] {
            let found = pools(&[agent, cli], &[("OPENAI_API_KEY", "one")]);
            assert_eq!(found.by_agent[agent], found.by_agent[cli]);
        }
        assert_eq!(pools(&["acp:./mine", "acp:"], &[]).by_agent, BTreeMap::new());
    }

    #[test]
    fn programs_share_a_pool_only_by_setting() {
        let found = pools(&["command:./a.sh --fast", "command:./b.sh"], &[]);
        assert_eq!(
            found.by_agent.into_iter().collect::<Vec<_>>(),
            [("command:./a.sh --fast".to_owned(), "shop".to_owned())]
        );
    }

    #[test]
    fn the_folder_is_the_users_state_folder() {
        let folder = |variables| {
            pools(&[], variables)
                .folder
                .map(|path| path.display().to_string())
        };
        assert_eq!(folder(&[]), None);
        assert_eq!(
            folder(&[("HOME", "/h")]).unwrap(),
            "/h/.local/state/wavecrew/pools"
        );
        let all = [
            ("HOME", "/h"),
            ("XDG_STATE_HOME", "/x"),
            ("WAVECREW_STATE_DIR", ""),
        ];
        assert_eq!(folder(&all).unwrap(), "/x/wavecrew/pools");
        assert_eq!(folder(&[("WAVECREW_STATE_DIR", "/w")]).unwrap(), "/w/pools");
    }
}
