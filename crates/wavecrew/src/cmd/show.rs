//! `wavecrew show`: a session's report, from what its journal says now.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::project;
use crate::session_view::SessionArg;
use serde_json::json;
use wavecrew_core::view::report_markdown;
use wavecrew_run::session::report as documents;

/// Print the report of a session
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew show run-tasks-20260308\n  wavecrew show | less")]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let view = self.session.view(global)?;
        let folder = project::shown(view.dir.path());
        let mut report = report_markdown(&view.ledger, &view.dir.meta(&folder, view.info.as_ref()));
        report += &documents::sections(&view.dir, &view.ledger);
        let document = json!({"session": view.dir.id(), "state": view.state(), "report": report});
        json::answer(global, document, report.trim_end_matches('\n'))
    }
}
