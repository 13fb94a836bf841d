//! Copies the deliverables of a session into a folder. Overwrites nothing.

use crate::exit::Failure;
use crate::hint;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use wavecrew_core::engine::Ledger;
use wavecrew_run::session::report::deliverables;
use wavecrew_session::{SessionDir, SessionPaths};

/// Copies the deliverables; returns the paths of the copied files.
pub fn export(dir: &SessionDir, ledger: &Ledger, folder: &Path) -> Result<Vec<String>, Failure> {
    let mut files: Vec<String> = deliverables(dir.path(), ledger)
        .into_iter()
        .map(|found| found.path)
        .collect();
    let relative = SessionPaths::relative();
    let reports = [relative.context_md(), relative.results_csv()];
    let reports = reports.iter().filter(|name| dir.path().join(name).is_file());
    files.extend(reports.map(|name| name.to_string_lossy().into_owned()));
    if files.is_empty() {
        return Err(Failure::with_help(
            format!("the session `{}` has no deliverables yet", dir.id()),
            format!("see `{}`", hint::command(&format!("status {}", dir.id()))),
        ));
    }
    if let Some(there) = files
        .iter()
        .map(|file| folder.join(file))
        .find(|file| file.exists())
    {
        return Err(Failure::with_help(
            format!("{} already exists", there.display()),
            "name another folder, or remove it first",
        ));
    }
    for file in &files {
        copy(&dir.path().join(file), &folder.join(file))?;
    }
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Disk {
        message: format!("cannot write {}: {error}", to.display()),
        help: "name another folder".to_owned(),
    };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // Checked above; a file that appeared since stays as it is.
    let mut file = fs::File::create_new(to).map_err(failed)?;
    let text = fs::read(from).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(Vec::new()),
        _ => Err(failed(error)),
    })?;
    file.write_all(&text).map_err(failed)
}
