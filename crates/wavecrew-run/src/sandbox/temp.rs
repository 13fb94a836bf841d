//! The folder that holds the temporary folders of a run's workers.

use std::fs;

use tempfile::TempDir;
use wavecrew_session::{SessionDir, atomic};

const TEMP_PREFIX: &str = "wavecrew-workers-";

/// A folder for the temporary folders of this run's workers, in place of that of a run that was killed.
pub(super) fn make_temp_folder(session: &SessionDir) -> Option<TempDir> {
    remove_left_temp_folder(session);
    let folder = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .tempdir_in(std::env::temp_dir())
        .ok()?;
    let name = folder.path().file_name()?;
    let _ = atomic::write_volatile(&session.temp_note(), name.as_encoded_bytes());
    Some(folder)
}

/// Removes the folder of a run that was killed.
pub(crate) fn remove_left_temp_folder(session: &SessionDir) {
    if let Ok(name) = fs::read_to_string(session.temp_note())
        && name.starts_with(TEMP_PREFIX)
        && !name.contains('/')
    {
        let _ = fs::remove_dir_all(std::env::temp_dir().join(name));
        let _ = fs::remove_file(session.temp_note());
    }
}
