//! The session folder on disk: layout, lock, journal, boards, reports, and the table that people edit. Also
//! the state that sessions share on one machine.
//!
//! Everything here is synchronous and knows nothing of engines or agents: callers decide what to write and
//! when, this crate decides how it reaches the disk so that a kill at any instant leaves files that can be
//! continued.

pub mod atomic;
pub mod attempts;
pub mod board;
pub mod bounded_log;
pub mod bus;
mod copied_files;
pub mod error;
mod file_stamp;
pub mod issues;
pub mod journal;
mod lines;
pub mod lock;
pub mod log_reader;
pub mod pack;
pub mod paths;
pub mod person_requests;
mod reader;
pub mod session;
pub mod shared_pool;
pub mod shared_state;
pub mod table_file;
pub mod wisdom;
pub mod worker_file;
pub mod worker_questions;

pub use attempts::{Attempts, ClosedAttempt, ReportRefusal, SubmitOutcome, Token, random_name, submit};
pub use board::{Discoveries, Discovery, DiscoveryBoard};
pub use bounded_log::{BoundedLog, LogSummary};
pub use bus::{Message, MessageBus};
pub use copied_files::{CopiedFile, copied_files, restore};
pub use error::{IoContext, SessionError};
pub use file_stamp::FileStamp;
pub use issues::{BadLine, IssueFile, IssueStore};
pub use journal::{Journal, JournalReplica, JournalTail, Recovery, Syncer};
pub use lock::{Holder, SessionLock};
pub use log_reader::{LogReader, end_of_log};
pub use pack::{Pack, PackReader};
pub use paths::{ProjectPaths, SessionPaths, WORKFLOW_FOLDER};
pub use person_requests::{PersonRequest, PersonRequests};
pub use reader::{SessionView, state_name};
pub use session::{
    SESSION_FORMAT, SessionDir, SessionEntry, SessionInfo, SessionState, list_sessions, session_id,
};
pub use shared_pool::{SharedPool, SharedPoolFile};
pub use shared_state::SharedState;
pub use table_file::{PublishOutcome, TableFile, save_rejected_edit, table_mark};
pub use wisdom::{Wisdom, WisdomFile};
pub use worker_questions::{WorkerQuestion, WorkerQuestions};
