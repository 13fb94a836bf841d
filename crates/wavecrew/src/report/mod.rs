//! What a run shows while it runs and when it ends: lines, a live view, or JSON. Never fails a run: output
//! that cannot be written is lost.

pub mod colour;
mod event_lines;
mod json;
mod lines;
mod live;

pub use json::{Json, counts, usage};
pub use lines::Lines;
pub use live::{Keys, Live};

use crate::exit::Exit;
use crate::global::Global;
use crate::session_view::final_report;
use std::io::{IsTerminal, Write};
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::RunOutcome;
use wavecrew_run::event_loop::Reporter;
use wavecrew_session::{SessionDir, SessionInfo};

/// A reporter that also prints the final report.
pub trait Screen: Reporter {
    fn end(&mut self, ending: &RunOutcome, ledger: &Ledger, dir: &SessionDir, info: &SessionInfo, exit: Exit);
}

/// How much is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    Quiet,
    Normal,
    Verbose,
}

impl Detail {
    pub fn of(global: &Global) -> Self {
        match (global.quiet, global.verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Normal,
        }
    }
}

/// The reporter that fits the flags and the terminal.
pub fn for_run(global: &Global, dir: &SessionDir, info: &SessionInfo, keys: Keys) -> Box<dyn Screen> {
    let detail = Detail::of(global);
    let (out, err) = (std::io::stdout(), std::io::stderr());
    if global.json {
        return Box::new(Json::new(Box::new(out), dir, info));
    }
    if detail != Detail::Quiet && out.is_terminal() && err.is_terminal() {
        return Box::new(Live::new(dir, detail, info, keys));
    }
    Box::new(Lines::new(
        Box::new(anstream::AutoStream::auto(out)),
        dir.id(),
        detail,
    ))
}

/// The report at the end.
fn last_words(out: &mut dyn Write, ledger: &Ledger, dir: &SessionDir, info: &SessionInfo) {
    let _ = write!(out, "\n{}", final_report(dir, ledger, info));
    let _ = out.flush();
}
