//! The secrets in the links of a project's server. They are kept for the next start, readable by their owner alone, so that
//! open pages find the server again.

use crate::exit::Failure;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use wavecrew_core::encoding::hex;
use wavecrew_core::state_folder::state_folder;
use wavecrew_web::Access;

/// The saved secrets of the project, or new ones. Without a place to save them they are new each time.
pub fn of_project(project: &Path, new_link: bool) -> Result<Access, Failure> {
    let file = file_of(project);
    if !new_link && let Some(known) = file.as_deref().and_then(read) {
        return Ok(known);
    }
    let access = Access::random().map_err(Failure::Output)?;
    if !new_link || file.as_deref().is_some_and(Path::exists) {
        // A server also works without a saved link.
        drop(file.map(|file| write(&file, &access)));
    }
    Ok(access)
}

fn file_of(project: &Path) -> Option<PathBuf> {
    let state = state_folder(|name| std::env::var_os(name))?;
    let project = project.canonicalize().ok()?;
    let name = hex(project.to_string_lossy().as_bytes());
    // File names have a maximum length; the end of a path is more distinctive than its beginning.
    let name = &name[name.len().saturating_sub(200)..];
    Some(state.join("web").join(format!("{name}.json")))
}

fn read(file: &Path) -> Option<Access> {
    let private = fs::metadata(file).ok()?.permissions().mode().trailing_zeros() >= 6;
    let saved: Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    let token = |name: &str| {
        saved[name]
            .as_str()
            .filter(|token| token.len() >= 32)
            .map(str::to_owned)
    };
    let access = Access {
        full: token("full")?,
        view: token("view")?,
    };
    private.then_some(access)
}

fn write(file: &Path, access: &Access) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    // One with another mode may have been read by others.
    let _ = fs::remove_file(file);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    let saved = json!({"full": access.full, "view": access.view});
    file.write_all(saved.to_string().as_bytes())
}
