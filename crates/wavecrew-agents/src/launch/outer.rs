//! The marks that an agent leaves in the environment of what it starts. A worker that inherits them would take itself
//! for a part of that conversation. Only such marks are listed: never homes, base URLs, keys or settings.

/// Variables to take out of a worker's environment.
pub const OUTER_MARKERS: &[&str] = &[
    // codex
    "CODEX_CI",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_PACKAGE_ROOT",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_VERSION",
    // claude
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PID",
    // gemini
    "GEMINI_CLI",
    // qwen
    "QWEN_CODE",
    "QWEN_CODE_AGENT_ID",
    "QWEN_CODE_CLI",
    "QWEN_CODE_LAUNCHER_PID",
    "QWEN_CODE_MANAGED_NPM_PIN",
    "QWEN_CODE_MANAGED_NPM_ROOT",
    "QWEN_CODE_NO_RELAUNCH",
    "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE",
    "QWEN_CODE_PROJECT_DIR",
    "QWEN_CODE_PROMPT_ID",
    "QWEN_CODE_SESSION_ID",
    "QWEN_CODE_STARTUP_VERSION",
    // opencode
    "AGENT",
    "OPENCODE",
    "OPENCODE_PID",
];
