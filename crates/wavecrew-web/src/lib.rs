//! wavecrew in the browser: a live dashboard on this machine, and a one-file report. HTML is one more projection of the
//! journal: everything here is rendered from the readers of `wavecrew-session` and the ledger of `wavecrew-core`.
//!
//! Changes nothing itself: actions of a person in the browser go through [`Person`], which the command line
//! implements with its own commands.

mod follow;
mod page;
mod report;
mod server;
mod shot;

pub use report::{ReportError, write_report};
pub use server::desk::{Desk, Prompt, Reply};
pub use server::tls::{Certificate, TlsError};
pub use server::{Access, Bound, Server, ServerError};

use wavecrew_session::SessionDir;

/// What a person can do to a session from the browser. Each call may block.
pub trait Person: Send + Sync {
    /// Performs the action; returns its result in one line.
    fn act(&self, dir: &SessionDir, act: Act) -> Result<String, Refusal>;
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    Pause,
    Resume,
    Cancel,
    CancelTask(String),
    /// Retries the task, or all failed tasks if none is given.
    Retry(Option<String>),
    /// A message to the worker of a task.
    SendMessage {
        task: String,
        text: String,
    },
    /// New values of cells of a row.
    EditRow {
        task: String,
        cells: Vec<(String, String)>,
    },
    /// The answer to the open question of a run.
    Answer {
        question: u32,
        answer: String,
        /// For the worker whose work is revised.
        remark: Option<String>,
    },
    /// Copy kept tests into the project.
    Apply,
    Archive,
}

/// Why something was not done, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub message: String,
    pub help: String,
}
