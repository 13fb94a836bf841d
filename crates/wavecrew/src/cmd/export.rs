//! `wavecrew export`: copies what a session delivered into a folder. Overwrites nothing.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::export::export;
use crate::json;
use crate::session_view::find_to_read;
use serde_json::json;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use wavecrew_session::SessionView;

/// Copy documents and report of a session to a folder
#[derive(clap::Args, Debug)]
#[command(
    allow_missing_positional = true,
    after_help = "Examples:\n  wavecrew export docs/undo                       the latest session\n  wavecrew export tlv4-undo-20260308 docs/undo"
)]
pub struct Args {
    /// Session id, or the beginning of it [default: the latest session]
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Destination folder; created if missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let view = SessionView::load(find_to_read(Path::new("."), self.session.as_deref(), global)?)?;
        let files = export(&view.dir, &view.ledger, &self.folder)?;
        if global.json {
            json::print(json!({"session": view.dir.id(), "folder": self.folder, "files": files}))?;
        } else {
            writeln!(
                stdout(),
                "Copied {} files to {}",
                files.len(),
                self.folder.display()
            )?;
        }
        Ok(Exit::Done)
    }
}
