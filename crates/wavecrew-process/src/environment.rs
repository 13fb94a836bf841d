//! Environment variables of an outer agent's conversation that a worker must not see, by name.

use std::ffi::{OsStr, OsString};

/// The guardian sets it in every worker, to recognise processes that outlive their worker.
pub const WORKER_VARIABLE: &str = "WAVECREW_WORKER";

/// Agents set these variables for programs that they start. A worker that sees them refuses to start, connects to the outer
/// editor, or assumes that it is sandboxed. Sorted.
const MARKERS: &[&str] = &[
    "AGENT",
    "AI_AGENT",
    "AMP_CURRENT_THREAD_ID",
    "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT",
    "CLAUDECODE",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_TASK_LIST_ID",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLINE_ACTIVE",
    "CODEX_CI",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_PACKAGE_ROOT",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_VERSION",
    "COPILOT_CLI",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "GEMINI_CLI",
    "GEMINI_CLI_IDE_SERVER_PORT",
    "GEMINI_CLI_IDE_WORKSPACE_PATH",
    "GEMINI_CLI_NO_RELAUNCH",
    "GOOSE_TERMINAL",
    "OPENCODE",
    "OPENCODE_CALLER",
    "OPENCODE_CLIENT",
    "OPENCODE_PID",
    "OPENCODE_RUN_ID",
    "OPENCODE_SERVER",
    "QWEN_CODE",
    "QWEN_CODE_AGENT_ID",
    "QWEN_CODE_CLI",
    "QWEN_CODE_IDE_SERVER_PORT",
    "QWEN_CODE_IDE_WORKSPACE_PATH",
    "QWEN_CODE_LAUNCHER_PID",
    "QWEN_CODE_MANAGED_NPM_PIN",
    "QWEN_CODE_MANAGED_NPM_ROOT",
    "QWEN_CODE_NO_RELAUNCH",
    "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE",
    "QWEN_CODE_PROJECT_DIR",
    "QWEN_CODE_PROMPT_ID",
    "QWEN_CODE_SESSION_ID",
    "QWEN_CODE_STARTUP_VERSION",
    "TRAE_AI_SHELL_ID",
];

/// Endings of names that are settings: where something is installed, which service to use, which account pays.
const SETTING_SUFFIXES: &[&str] = &["_HOME", "_BASE_URL", "_API_KEY", "_KEY", "_CONFIG"];

/// The names to remove: markers of an outer agent, and variables that an outer run of wavecrew set for its own worker.
pub fn outer_agent_markers(names: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    names.into_iter().filter(|name| is_marker(name)).collect()
}

fn is_marker(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    if SETTING_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        return false;
    }
    MARKERS.binary_search(&name).is_ok() || name.starts_with("WAVECREW_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_sorted_for_binary_search() {
        assert!(MARKERS.is_sorted());
    }

    #[test]
    fn markers_are_removed_and_settings_are_kept() {
        let names = [
            "CLAUDECODE",
            "CODEX_HOME",
            "CODEX_SANDBOX",
            "ANTHROPIC_BASE_URL",
            "OPENAI_API_KEY",
            "WAVECREW_TOKEN",
            "WAVECREW_HOME",
            "PATH",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        ];
        let removed = outer_agent_markers(names.map(OsString::from));
        assert_eq!(removed, ["CLAUDECODE", "CODEX_SANDBOX", "WAVECREW_TOKEN"]);
    }
}
