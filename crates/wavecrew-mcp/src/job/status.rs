//! The status of a job: the answer of the tools, and a file in the session folder.

use super::table::InputTable;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::Status;
use wavecrew_session::{SessionDir, SessionError, atomic, lock};

/// Failed items in an answer.
const SHOWN_ERRORS: usize = 5;
/// Notes in an answer.
const SHOWN_NOTES: usize = 5;
/// A new process locks its session within this time.
const START: Duration = Duration::from_secs(10);

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct JobStatus {
    pub job_id: String,
    pub status: JobState,
    pub output_csv_path: PathBuf,
    pub total_items: usize,
    pub completed_items: usize,
    pub failed_items: usize,
    pub job_error: Option<String>,
    pub failed_item_errors: Vec<ItemError>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub running_items: usize,
    /// In dollars, for agents that report it or whose price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Notes for the caller, such as a limit that cannot be enforced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Its process is being started.
    Starting,
    Running,
    /// Every row has a result.
    Completed,
    Cancelled,
    /// Its process ended before its rows; `resume_job_id` continues it.
    Stopped,
    Failed,
}

impl JobState {
    pub fn is_over(self) -> bool {
        match self {
            Self::Starting | Self::Running => false,
            Self::Completed | Self::Cancelled | Self::Stopped | Self::Failed => true,
        }
    }
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ItemError {
    pub item_id: String,
    pub source_id: Option<String>,
    pub last_error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl JobStatus {
    pub fn starting(job_id: &str, output_csv: &Path, total: usize) -> Self {
        Self {
            job_id: job_id.to_owned(),
            status: JobState::Starting,
            output_csv_path: output_csv.to_owned(),
            total_items: total,
            completed_items: 0,
            failed_items: 0,
            job_error: None,
            failed_item_errors: Vec::new(),
            running_items: 0,
            cost: None,
            notes: Vec::new(),
        }
    }

    /// Adds a note, once.
    pub fn note(&mut self, text: &str) {
        if self.notes.len() < SHOWN_NOTES && !self.notes.iter().any(|noted| noted == text) {
            self.notes.push(text.to_owned());
        }
    }

    /// Reads the counts from the ledger.
    pub fn update(&mut self, input: &InputTable, ledger: &Ledger) {
        let counts = ledger.counts();
        let changed = counts.failed != self.failed_items;
        self.completed_items = counts.completed;
        self.failed_items = counts.failed;
        self.running_items = counts.running;
        self.cost = ledger.totals.spent.cost;
        if !changed {
            return;
        }
        let failed = input.items.iter().filter_map(|item| {
            let task = ledger.plan().find(&item.task_id)?;
            (ledger.status(task) == Status::Failed).then(|| ItemError {
                item_id: item.item_id.clone(),
                source_id: item.source_id.clone(),
                last_error: ledger.task(task).result.error.clone(),
            })
        });
        self.failed_item_errors = failed.take(SHOWN_ERRORS).collect();
    }

    pub fn write(&self, dir: &SessionDir) -> Result<(), SessionError> {
        let text = serde_json::to_vec(self).expect("plain data");
        atomic::write_volatile(&dir.job_status(), &text)
    }

    /// The status now; a job that has no process any more was stopped.
    pub fn read(dir: &SessionDir) -> Result<Self, String> {
        let none = |_| format!("there is no job {}", dir.id());
        let bytes = fs::read(dir.job_status()).map_err(none)?;
        let mut found: Self = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if found.status.is_over() || held(dir)? {
            return Ok(found);
        }
        // It may have ended between the two reads.
        let again = fs::read(dir.job_status()).map_err(|error| error.to_string())?;
        if again != bytes {
            return serde_json::from_slice(&again).map_err(|error| error.to_string());
        }
        if found.status == JobState::Starting && age(&dir.job_status()) < START {
            return Ok(found);
        }
        found.status = JobState::Stopped;
        found.running_items = 0;
        let why =
            super::job_error_text(dir).unwrap_or_else(|| "the process of the job was killed".to_owned());
        found.job_error = Some(format!("{why}; continue with resume_job_id {}", dir.id()));
        Ok(found)
    }
}

/// Whether a process runs the job.
pub fn held(dir: &SessionDir) -> Result<bool, String> {
    let holder = lock::holder(&dir.job_lock()).map_err(|error| error.to_string())?;
    Ok(holder.is_some())
}

fn age(path: &Path) -> Duration {
    let changed = fs::metadata(path).and_then(|found| found.modified());
    let changed = changed.unwrap_or(SystemTime::UNIX_EPOCH);
    changed.elapsed().unwrap_or_default()
}
