//! What a project sets for single agents.

use std::collections::BTreeMap;

/// Settings by the name of an agent; all that are spoken to over ACP share the name `acp`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSettings(pub BTreeMap<String, AgentSetting>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSetting {
    pub model: Option<String>,
    /// Words that are added to its command line.
    pub args: Vec<String>,
}

impl AgentSettings {
    /// Those of an agent as `--agent` names it.
    pub fn of(&self, agent: &str) -> AgentSetting {
        let kind = if agent.starts_with("acp:") { "acp" } else { agent };
        self.0.get(kind).cloned().unwrap_or_default()
    }
}
