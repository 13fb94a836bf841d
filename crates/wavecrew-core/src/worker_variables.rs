//! Environment variables of workers. Their names are part of the interface: programs of users read them.

/// The file with the message of the turn.
pub const PROMPT_FILE: &str = "WAVECREW_PROMPT_FILE";
/// The folder of the session.
pub const SESSION_DIR: &str = "WAVECREW_SESSION_DIR";
/// Where a worker may write its report.
pub const RESULT_FILE: &str = "WAVECREW_RESULT_FILE";
/// The id of the task.
pub const TASK: &str = "WAVECREW_TASK";
/// The role of the task.
pub const ROLE: &str = "WAVECREW_ROLE";
/// The number of the attempt.
pub const ATTEMPT: &str = "WAVECREW_ATTEMPT";
/// The number of the turn.
pub const TURN: &str = "WAVECREW_TURN";
/// The secret with which the worker reports.
pub const TOKEN: &str = "WAVECREW_TOKEN";
/// Where a worker may write what it has used.
pub const USAGE_FILE: &str = "WAVECREW_USAGE_FILE";
/// When the attempt ends, in seconds since the Unix epoch.
pub const DEADLINE: &str = "WAVECREW_DEADLINE";
/// The name of the host, if the worker runs on one.
pub const HOST: &str = "WAVECREW_HOST";
