//! The changes of workers on hosts to the project, as a list in the session. A machine that continues the
//! session of another one repeats them in its own copy of the project.

use super::apply::{Brought, apply_to_project, fetch_brought};
use super::run::Shared;
use crate::objects::{AtHand, ObjectId};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use wavecrew_process::LockAnyway;
use wavecrew_core::view::count;

/// One turn, in the order in which they were brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BroughtLine {
    pub object: ObjectId,
    pub host: String,
    /// The project of the coordinator that sent the turn.
    pub project: PathBuf,
    /// Changes that the worker was not allowed to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// Records that the project has these changes.
pub(super) fn add(shared: &Shared, line: &BroughtLine) -> io::Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock_anyway();
    let session = &shared.files.session;
    let mut text = serde_json::to_string(line).expect("plain data");
    text.push('\n');
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(session.brought_back())?;
    file.write_all(text.as_bytes())?;
    let count = lines(shared).len();
    fs::write(session.brought_back_here(), count.to_string())
}

fn lines(shared: &Shared) -> Vec<BroughtLine> {
    let text = fs::read_to_string(shared.files.session.brought_back()).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Applies the changes that another machine had and this one does not. Returns notes for the person.
pub(super) async fn catch_up(shared: &Arc<Shared>) -> Vec<String> {
    let here = shared.files.session.brought_back_here();
    let done: usize = fs::read_to_string(&here)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let lines = lines(shared);
    let mut notes = Vec::new();
    for (number, line) in lines.iter().enumerate().skip(done) {
        let brought = match fetch_brought(&shared.store, &line.object, &AtHand::on_disk(&shared.cache)).await
        {
            Ok(brought) => apply_line(shared, brought, line).await,
            Err(reason) => Err(reason),
        };
        match brought {
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
    brought: Brought,
    line: &BroughtLine,
) -> Result<Vec<String>, String> {
    let (shared, line) = (Arc::clone(shared), line.clone());
    tokio::task::spawn_blocking(move || apply_to_project(&shared, brought, &line))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}
