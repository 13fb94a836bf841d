//! What differs between agent command lines: how each is started and what its output means. Starts nothing itself.

mod adapter;
mod choice;
pub mod launch;
mod listen;
pub mod machine;
mod redact;
pub mod stream;
pub mod transcript;

pub use adapter::{Adapter, Attempted, Command, Memory, Part, Replayed};
pub use choice::{AgentError, by_name, preferred};
pub use listen::Listener;
pub(crate) use redact::map_text;
pub use redact::{Redactor, settled};

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
