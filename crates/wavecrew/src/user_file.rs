//! Changes to files of the user: shown first, then made with consent. Keeps their mode and follows links.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::terminal::is_interactive;
use serde_json::{Value, json};
use similar::TextDiff;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Whether changes are made.
#[derive(clap::Args, Debug)]
pub struct Consent {
    /// Make the change without asking
    #[arg(short = 'y', long)]
    yes: bool,
    /// Only show the change
    #[arg(long, conflicts_with = "yes")]
    print: bool,
}

/// The old and the new text of one file; `None` if the file does not exist.
pub struct Change {
    path: PathBuf,
    old: Option<String>,
    new: Option<String>,
}

impl Change {
    /// The file after `edit`.
    pub fn of(
        path: PathBuf,
        edit: impl FnOnce(Option<&str>) -> Result<Option<String>, String>,
    ) -> Result<Self, Failure> {
        let old = read(&path).map_err(|error| cannot("read", &path, &error))?;
        let new = edit(old.as_deref()).map_err(|why| {
            Failure::with_help(
                format!("{} cannot be changed: {why}", path.display()),
                "fix it by hand first; nothing was written",
            )
        })?;
        Ok(Self { path, old, new })
    }

    fn is_needed(&self) -> bool {
        self.old != self.new
    }

    fn diff(&self) -> String {
        let (old, new) = (
            self.old.as_deref().unwrap_or_default(),
            self.new.as_deref().unwrap_or_default(),
        );
        let name = |there: bool| {
            if there {
                self.path.to_string_lossy().into_owned()
            } else {
                "/dev/null".to_owned()
            }
        };
        TextDiff::from_lines(old, new)
            .unified_diff()
            .header(&name(self.old.is_some()), &name(self.new.is_some()))
            .to_string()
    }

    fn make(&self) -> Result<(), Failure> {
        let failed = |error: io::Error| cannot("write", &self.path, &error);
        if read(&self.path).map_err(failed)? != self.old {
            return Err(Failure::NotDone {
                message: format!("{} was changed by another program meanwhile", self.path.display()),
                help: "try again".to_owned(),
            });
        }
        if let Some(text) = &self.new {
            return replace(&self.path, text).map_err(failed);
        }
        fs::remove_file(&self.path).map_err(failed)?;
        // Removes its folder too, if that is empty.
        let _ = self.path.parent().map(fs::remove_dir);
        Ok(())
    }
}

/// Shows the changes and makes them, if the person agrees.
pub fn show_and_apply(changes: &[Change], consent: &Consent, global: &Global) -> Result<Exit, Failure> {
    let needed: Vec<&Change> = changes.iter().filter(|change| change.is_needed()).collect();
    if !global.json {
        show(changes, &needed)?;
    }
    let write = !consent.print && !needed.is_empty();
    if write && !consent.yes {
        agree(global)?;
    }
    if write {
        for change in &needed {
            change.make()?;
        }
    }
    if global.json {
        let files: Vec<Value> = changes
            .iter()
            .map(|change| change_as_json(change, write))
            .collect();
        json::print_pretty(json!({ "files": files }))?;
    } else if write {
        for change in needed {
            let done = if change.new.is_some() { "Wrote" } else { "Removed" };
            writeln!(stdout(), "{done} {}", change.path.display())?;
        }
    }
    Ok(Exit::Done)
}

fn show(changes: &[Change], needed: &[&Change]) -> io::Result<()> {
    let mut out = stdout().lock();
    if needed.is_empty() {
        for change in changes {
            writeln!(out, "{} is up to date", change.path.display())?;
        }
    }
    for change in needed {
        write!(out, "{}", change.diff())?;
    }
    out.flush()
}

fn change_as_json(change: &Change, written: bool) -> Value {
    json!({
        "file": change.path,
        "changed": written && change.is_needed(),
        "diff": change.diff(),
    })
}

fn agree(global: &Global) -> Result<(), Failure> {
    if global.json || !is_interactive() {
        return Err(Failure::with_help(
            "the change needs your approval",
            "give -y to make it, or --print to only show it",
        ));
    }
    let make = dialoguer::Confirm::new()
        .with_prompt("Make this change?")
        .default(true)
        .interact();
    if make.unwrap_or(false) {
        Ok(())
    } else {
        Err(Failure::Declined)
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the file atomically, at the target of links, with the same permissions.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let (path, mode) = match fs::metadata(path) {
        Ok(found) => (path.canonicalize()?, found.permissions()),
        // New files are private.
        Err(_) => (path.to_owned(), Permissions::from_mode(0o600)),
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut temp = tempfile::Builder::new()
        .prefix(".wavecrew-")
        .tempfile_in(folder)?;
    temp.write_all(text.as_bytes())?;
    temp.as_file().set_permissions(mode)?;
    temp.as_file().sync_all()?;
    temp.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Disk {
        message: format!("cannot {what} {}: {error}", path.display()),
        help: "check that it is a text file and yours; nothing was written".to_owned(),
    }
}
