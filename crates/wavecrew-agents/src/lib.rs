//! What differs between agent command lines: how each is started and what its output means. Starts nothing itself.

mod acp;
mod adapter;
mod by_name;
mod claude_talk;
mod dialogue;
pub mod launch;
mod listen;
pub mod machine;
mod policy;
mod pools;
mod redact;
mod settings;
pub mod stream;
pub mod transcript;

pub use acp::Acp;
pub use adapter::{Adapter, Attempted, Command, Memory, Part, Replayed};
pub use by_name::{AgentError, acp_program, by_name};
pub use dialogue::{Dialogue, Heard};
pub use listen::Listener;
pub use pools::Pools;
pub use redact::map_text;
pub use redact::{Redactor, settled};
pub use settings::{AgentSetting, AgentSettings};

/// An agent command line that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cli {
    Codex,
    Claude,
    Gemini,
    Qwen,
    Opencode,
    Goose,
}

impl Cli {
    pub const ALL: [Self; 6] = [
        Self::Codex,
        Self::Claude,
        Self::Gemini,
        Self::Qwen,
        Self::Opencode,
        Self::Goose,
    ];

    /// The name in `--agent` and of the program on `PATH`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cli| cli.name() == name)
    }
}
