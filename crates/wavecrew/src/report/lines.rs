//! One calm line per finished task and per wave, for files, pipes and CI.

use super::colour;
use super::event_lines::{self, Weight};
use super::{Detail, Screen, last_words};
use crate::exit::Exit;
use std::io::{BufWriter, Write};
use wavecrew_core::engine::{Ledger, Notice};
use wavecrew_core::event::{Event, RunOutcome};
use wavecrew_run::event_loop::{Reporter, Running};
use wavecrew_session::{SessionDir, SessionInfo};

pub struct Lines {
    /// Flushed at every tick, so that ten thousand quick tasks do not cause ten thousand writes.
    out: BufWriter<Box<dyn Write>>,
    session: String,
    least: Weight,
}

impl Lines {
    pub fn new(out: Box<dyn Write>, session: &str, detail: Detail) -> Self {
        let least = match detail {
            Detail::Quiet => Weight::Trouble,
            Detail::Normal => Weight::Progress,
            Detail::Verbose => Weight::Detail,
        };
        Self {
            out: BufWriter::new(out),
            session: session.to_owned(),
            least,
        }
    }

    fn print_line(&mut self, line: Option<(Weight, String)>) {
        if let Some((weight, line)) = line
            && weight >= self.least
        {
            let _ = writeln!(self.out, "{}", colour::event(weight, &line));
        }
    }
}

impl Reporter for Lines {
    fn event(&mut self, event: &Event, ledger: &Ledger) {
        self.print_line(event_lines::event(event, ledger));
    }

    fn notice(&mut self, notice: &Notice) {
        self.print_line(event_lines::notice(notice, &self.session));
    }

    fn tick(&mut self, _: &[Running], _: &Ledger) {
        let _ = self.out.flush();
    }

    fn wants_running(&self) -> bool {
        false
    }
}

impl Screen for Lines {
    fn end(&mut self, _: &RunOutcome, ledger: &Ledger, dir: &SessionDir, info: &SessionInfo, _: Exit) {
        last_words(&mut self.out, ledger, dir, info);
    }
}
