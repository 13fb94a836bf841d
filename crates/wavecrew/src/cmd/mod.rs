//! One file per verb: its flags, its `run`, and nothing that another verb needs.

pub mod agents;
pub mod archive;
pub mod ask;
pub mod baseline;
pub mod cancel;
pub mod check;
pub mod completions;
pub mod discover;
pub mod export;
pub mod init;
pub mod issues;
pub mod lifecycle;
pub mod list;
pub mod logs;
pub mod mcp;
pub mod measure;
pub mod msg;
pub mod offline;
pub mod offline_worker;
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
pub mod testing;
pub mod validate;
pub mod watch;
pub mod wisdom;

/// For the help of teams that change code.
const VERIFY_NOTE: &str = "\
A report about code is verified by the project's build and tests. Wavecrew finds their commands in the
project's files. To use others, set setup, build, test and limit_seconds under [verify] in wavecrew.toml.";
