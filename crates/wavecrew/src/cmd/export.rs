//! `wavecrew export`: copies what a session delivered into a folder. Overwrites nothing.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::session_view::find;
use serde_json::json;
use std::fs;
use std::io::{ErrorKind, Write, stdout};
use std::path::{Path, PathBuf};
use wavecrew_core::engine::Ledger;
use wavecrew_run::driver::documents::deliverables;
use wavecrew_session::SessionView;
use wavecrew_session::{SessionDir, SessionPaths};

/// Copy the documents and the report of a session into a folder
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  wavecrew export tlv4-undo-20260308 docs/undo")]
pub struct Args {
    /// Its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,
    /// Where to; made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let view = SessionView::load(find(Path::new("."), &self.session)?)?;
        let files = export(&view.dir, &view.ledger, &self.folder)?;
        if global.json {
            let said = json!({"session": view.dir.id(), "folder": self.folder, "files": files});
            writeln!(stdout(), "{said}")?;
        } else {
            writeln!(stdout(), "{} files in {}", files.len(), self.folder.display())?;
        }
        Ok(Exit::Done)
    }
}

/// Copies what the session delivered; the names of what was copied.
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
            format!("the session `{}` has delivered nothing yet", dir.id()),
            format!("see `wavecrew status {}`", dir.id()),
        ));
    }
    if let Some(there) = files
        .iter()
        .map(|file| folder.join(file))
        .find(|file| file.exists())
    {
        return Err(Failure::with_help(
            format!("{} is there already", there.display()),
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
        message: format!("{} cannot be written: {error}", to.display()),
        help: "name another folder".to_owned(),
    };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // Looked for above; whoever made it since keeps it.
    let mut file = fs::File::create_new(to).map_err(failed)?;
    let text = fs::read(from).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(Vec::new()),
        _ => Err(failed(error)),
    })?;
    file.write_all(&text).map_err(failed)
}
