//! `wavecrew show`: a session's report, from the current journal.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::project;
use crate::session_view::SessionArg;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use wavecrew_core::view::report_markdown;
use wavecrew_run::session::report as documents;
use wavecrew_web::{ReportError, write_report};

/// Print the report of a session
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  wavecrew show run-tasks-20260308
  wavecrew show | less
  wavecrew show --html report.html    one file for the browser, with all checked claims")]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Write the report as a single, self-contained HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        if let Some(file) = &self.html {
            return self.write_html(&project::typed(file), global);
        }
        let view = self.session.view(global)?;
        let folder = project::shown(view.dir.path());
        let mut report = report_markdown(&view.ledger, &view.dir.meta(&folder, view.info.as_ref()));
        report += &documents::sections(&view.dir, &view.ledger);
        let document = json!({"session": view.dir.id(), "state": view.state(), "report": report});
        json::answer(global, document, report.trim_end_matches('\n'))
    }

    fn write_html(&self, file: &Path, global: &Global) -> Result<Exit, Failure> {
        let dir = self.session.find_to_read(global)?;
        let id = dir.id().to_owned();
        let mut html = Vec::new();
        write_report(dir, &mut html).map_err(|error| match error {
            ReportError::Session(error) => error.into(),
            ReportError::Write(error) => Failure::Output(error),
        })?;
        fs::write(file, &html).map_err(|error| Failure::Disk {
            message: format!("cannot write {}: {error}", file.display()),
            help: "name another file".to_owned(),
        })?;
        let name = file.display().to_string();
        json::answer(
            global,
            json!({"session": id, "html": name, "bytes": html.len()}),
            &format!("{name} has the report of {id}"),
        )
    }
}
