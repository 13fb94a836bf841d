//! The session folder on disk: layout, lock, journal, boards, reports, and the table that people edit. Also what sessions
//! share on one machine.
//!
//! Everything here is synchronous and knows nothing of agents. Callers decide what to write and when; this crate decides
//! how it reaches the disk, so that a kill at any instant leaves files that can be continued.

pub mod atomic;
mod attempts;
mod board;
mod bounded_log;
pub mod bus;
mod error;
pub mod issues;
mod journal;
mod lines;
pub mod lock;
mod log_reader;
mod pack;
pub mod paths;
mod reader;
mod session;
mod shared_pool;
mod shared_state;
mod table_file;
mod wisdom;
pub mod worker_questions;

pub use attempts::{Attempts, ClosedAttempt, ReportRefusal, SubmitOutcome, Token, random_name, submit};
pub use board::{Discoveries, Discovery, DiscoveryBoard};
pub use bounded_log::BoundedLog;
pub use bus::{Message, MessageBus};
pub use error::SessionError;
pub use issues::{BadLine, IssueFile, IssueStore};
pub use journal::{Journal, Recovery, Syncer};
pub use lock::{Holder, SessionLock};
pub use log_reader::{LogReader, end_of_log};
pub use pack::read_packs;
pub use paths::{ProjectPaths, SessionPaths, WORKFLOW_FOLDER};
pub use reader::SessionView;
pub use session::{
    SESSION_FORMAT, SessionDir, SessionEntry, SessionInfo, SessionState, list_sessions, session_id,
};
pub use shared_pool::{SharedPool, SharedPoolFile};
pub use shared_state::SharedState;
pub use table_file::{PublishOutcome, TableFile, save_rejected_edit};
pub use wisdom::{Wisdom, WisdomFile};
pub use worker_questions::{WorkerQuestion, WorkerQuestions};
