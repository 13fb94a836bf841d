//! `wavecrew export`: copies what a session delivered into a folder. Overwrites nothing.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::export::export;
use crate::session_view::find;
use serde_json::json;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use wavecrew_session::SessionView;

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
