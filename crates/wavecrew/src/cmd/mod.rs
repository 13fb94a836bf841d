//! One file per verb. Each owns its flags and its `run`.

pub mod completions;
pub mod mcp;
pub mod plan;
pub mod resume;
pub mod retry;
pub mod run;
pub mod validate;
