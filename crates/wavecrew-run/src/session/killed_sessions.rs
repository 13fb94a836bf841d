//! Removes files that killed runs left behind, even if they are never continued: unfinished files, and their
//! workers' folders outside the project.

use super::read_guardian;
use crate::agent_files::AgentFiles;
use crate::sandbox::remove_left_temp_folder;
use std::fs;
use std::path::Path;
use std::thread::JoinHandle;
use wavecrew_process::is_alive;
use wavecrew_session::{Holder, SessionDir, SessionEntry, SessionState, list_sessions};

/// Cleans up on a thread of its own. Only the end of the run waits for it.
pub struct Sweeping(Option<JoinHandle<()>>);

impl Drop for Sweeping {
    fn drop(&mut self) {
        // A panic of the thread has already been reported.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

/// Cleans up after all killed runs of the project.
pub fn sweep_killed_sessions(project: &Path, holder: &Holder) -> Sweeping {
    let (project, holder) = (project.to_owned(), holder.clone());
    let thread = std::thread::spawn(move || {
        for entry in list_sessions(&project).unwrap_or_default() {
            if let SessionEntry::Session(dir, info) = entry
                && info.state == SessionState::Running
            {
                sweep(&dir, &holder);
            }
        }
    });
    Sweeping(Some(thread))
}

fn sweep(dir: &SessionDir, holder: &Holder) {
    if !matches!(dir.holder(), Ok(None)) {
        return;
    }
    // Nobody else continues it meanwhile.
    let Ok(_lock) = dir.lock(holder) else { return };
    // Its workers may still be writing.
    if read_guardian(dir).is_some_and(|guardian| is_alive(&guardian)) {
        return;
    }
    // Files that cannot be removed do no harm.
    let _ = dir.sweep();
    let _ = fs::remove_dir_all(dir.scratch_folder());
    remove_left_temp_folder(&dir.temp_note());
    AgentFiles::of_session(dir).remove();
}
