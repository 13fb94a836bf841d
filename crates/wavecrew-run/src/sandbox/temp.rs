//! The folder that holds the temporary folders of workers: of a run, or of a host.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use wavecrew_session::atomic;

const TEMP_PREFIX: &str = "wavecrew-workers-";

/// A folder for temporary folders of workers, in place of that of a process that was killed. `note` is the file with its
/// name.
pub fn make_temp_folder(note: &Path) -> Option<TempDir> {
    remove_left_temp_folder(note);
    let folder = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .tempdir_in(std::env::temp_dir())
        .ok()?;
    let name = folder.path().file_name()?;
    let _ = atomic::write_volatile(note, name.as_encoded_bytes());
    Some(folder)
}

/// Removes the folder of a process that was killed.
pub(crate) fn remove_left_temp_folder(note: &Path) {
    if let Ok(name) = fs::read_to_string(note)
        && name.starts_with(TEMP_PREFIX)
        && !name.contains('/')
    {
        let _ = fs::remove_dir_all(std::env::temp_dir().join(name));
        let _ = fs::remove_file(note);
    }
}
