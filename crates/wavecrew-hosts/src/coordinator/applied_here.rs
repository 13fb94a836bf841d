//! The changes of workers on hosts to the project, as a list in the session. A machine that continues the
//! session of another one repeats them in its own copy of the project.

use super::apply::{apply_to_project, fetch_returned};
use super::run::Shared;
use crate::objects::{AtHand, ObjectId};
use crate::task::ReturnedChanges;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use wavecrew_core::view::count;
use wavecrew_process::LockAnyway;

/// The changes of one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReturnRecord {
    pub object: ObjectId,
    pub host: String,
    /// The project of the coordinator that sent the turn.
    pub project: PathBuf,
    /// Changes that the worker was not allowed to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// Records that the project has these changes.
pub(super) fn add(shared: &Shared, line: &ReturnRecord) -> io::Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock_anyway();
    let session = &shared.files.session;
    let mut text = serde_json::to_string(line).expect("plain data");
    text.push('\n');
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(session.returned_changes())?;
    file.write_all(text.as_bytes())?;
    let count = lines(shared).len();
    fs::write(session.applied_here(), count.to_string())
}

fn lines(shared: &Shared) -> Vec<ReturnRecord> {
    let text = fs::read_to_string(shared.files.session.returned_changes()).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Applies the changes that another machine had and this one does not. Returns notes for the person.
pub(super) async fn catch_up(shared: &Arc<Shared>) -> Vec<String> {
    let here = shared.files.session.applied_here();
    let done: usize = fs::read_to_string(&here)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let lines = lines(shared);
    let mut notes = Vec::new();
    for (number, line) in lines.iter().enumerate().skip(done) {
        let returned =
            match fetch_returned(&shared.store, &line.object, &AtHand::on_disk(&shared.cache)).await {
                Ok(returned) => apply_line(shared, returned, line).await,
                Err(reason) => Err(reason),
            };
        match returned {
            Ok(more) => notes.extend(more),
            Err(reason) => notes.push(format!(
                "Work that host {} did for another machine is missing in this project: {reason}",
                line.host
            )),
        }
        let _ = fs::write(&here, (number + 1).to_string());
    }
    let new = lines.len().saturating_sub(done);
    if new > 0 {
        let turns = count(new, "turn");
        notes.push(format!("The work of {turns} was brought to this project"));
    }
    notes
}

async fn apply_line(
    shared: &Arc<Shared>,
    returned: ReturnedChanges,
    line: &ReturnRecord,
) -> Result<Vec<String>, String> {
    let (shared, line) = (Arc::clone(shared), line.clone());
    tokio::task::spawn_blocking(move || apply_to_project(&shared, returned, &line))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}
