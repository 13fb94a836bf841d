//! The project's settings for single agents.

use std::collections::BTreeMap;

/// Settings by the name of an agent; all ACP agents share the name `acp`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSettings(pub BTreeMap<String, AgentSetting>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSetting {
    pub model: Option<String>,
    /// Further arguments for its command line.
    pub args: Vec<String>,
}

impl AgentSettings {
    /// The settings of an agent, by its name in `--agent`.
    pub fn of(&self, agent: &str) -> AgentSetting {
        let kind = if agent.starts_with("acp:") { "acp" } else { agent };
        self.0.get(kind).cloned().unwrap_or_default()
    }
}
