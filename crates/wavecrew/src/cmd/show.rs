//! `wavecrew show`: a session's report, from what its journal says now.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::json;
use crate::session_view::{find_to_read, shown_folder};
use serde_json::json;
use std::io::{Write, stdout};
use std::path::Path;
use wavecrew_core::view::report_markdown;
use wavecrew_run::session::report as documents;
use wavecrew_session::SessionView;

/// Print the report of a session
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew show run-tasks-20260308\n  wavecrew show | less")]
pub struct Args {
    /// Session id, or the beginning of it [default: the latest session]
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let dir = find_to_read(Path::new("."), self.session.as_deref(), global)?;
        let view = SessionView::load(dir)?;
        let folder = shown_folder(&view.dir);
        let mut report = report_markdown(&view.ledger, &view.dir.meta(&folder, view.info.as_ref()));
        report += &documents::sections(&view.dir, &view.ledger);
        if global.json {
            let id = view.dir.id();
            json::print(json!({"session": id, "state": view.state(), "report": report}))?;
        } else {
            stdout().write_all(report.as_bytes())?;
        }
        Ok(Exit::Done)
    }
}
