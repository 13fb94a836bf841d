//! `wavecrew export`: copies what a session delivered into a folder. Overwrites nothing.

use crate::exit::{Exit, Failure};
use crate::export::export;
use crate::global::Global;
use crate::json;
use crate::project;
use crate::session_view::SessionArg;
use serde_json::json;
use std::path::PathBuf;
use wavecrew_core::view::count;

/// Copy the documents and the report of a session to a folder
#[derive(clap::Args, Debug)]
#[command(
    allow_missing_positional = true,
    after_help = "Examples:\n  wavecrew export docs/undo                       the latest session\n  wavecrew export tlv4-undo-20260308 docs/undo"
)]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Destination folder; created if missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let view = self.session.view(global)?;
        let folder = project::typed(&self.folder);
        let files = export(&view.dir, &view.ledger, &folder)?;
        json::answer(
            global,
            json!({"session": view.dir.id(), "folder": self.folder, "files": files}),
            &format!(
                "Copied {} to {}",
                count(files.len(), "file"),
                self.folder.display()
            ),
        )
    }
}
