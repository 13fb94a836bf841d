//! What differs between agent command lines: how each is started and what its output means. Starts nothing itself.

mod acp;
mod agent;
mod by_name;
pub mod cli;
mod dialogue;
pub mod launch;
mod listen;
mod policy;
mod pools;
mod redact;
mod settings;
pub mod stream;
pub mod transcript;

pub use acp::Acp;
pub use agent::{Adapter, Attempted, Command, Memory, Part, Replayed};
pub use by_name::{AgentError, acp_program, by_name};
pub use dialogue::{Dialogue, Heard};
pub use listen::Listener;
pub use pools::Pools;
pub use redact::{Redactor, map_text, settled};
pub use settings::{AgentSetting, AgentSettings};
