//! One file per verb. Each owns its flags and its `run`.

pub mod agents;
pub mod archive;
pub mod ask;
pub mod cancel;
pub mod completions;
pub mod discover;
pub mod init;
pub mod issues;
pub mod list;
pub mod logs;
pub mod mcp;
pub mod measure;
pub mod msg;
pub mod plan;
pub mod planex;
pub mod report;
pub mod resume;
pub mod retry;
pub mod run;
pub mod show;
pub mod skills;
pub mod status;
pub mod teams;
pub mod validate;
pub mod watch;
pub mod wisdom;
