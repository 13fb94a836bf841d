//! Agent CLIs: how to start each, and what its output means. Does no I/O and starts no process.

mod access_policy;
mod acp;
mod agent;
mod by_name;
pub mod cli;
mod interactive;
pub mod launch;
mod output_reader;
mod pools;
mod redact;
mod settings;
pub mod stream;
pub mod transcript;

pub use acp::Acp;
pub use agent::{Agent, AttemptAgent, AttemptKey, Command, RecordedEnd, ResumeBy};
pub use by_name::{AgentError, by_name, named_program, seen_from};
pub use interactive::{InteractiveProtocol, Received};
pub use output_reader::OutputReader;
pub use pools::Pools;
pub use redact::{Redactor, map_text};
pub use settings::{AgentSetting, AgentSettings};
