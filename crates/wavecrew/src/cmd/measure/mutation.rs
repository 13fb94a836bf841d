//! `--mutation`: its extent, and how its result is printed.

use super::percent;
use crate::show::safe;
use std::io::{self, Write};
use wavecrew_measure::mutation::{MutationBudget, MutationReport};
use wavecrew_measure::run::MeasureError;

/// How many mutants are tried.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// None
    Off,
    /// At most 8 per file, and 30 seconds in all
    Quick,
    /// All of them
    Full,
}

impl Effort {
    pub fn budget(self, seed: u64) -> Option<MutationBudget> {
        match self {
            Self::Off => None,
            Self::Quick => Some(MutationBudget::quick(seed)),
            Self::Full => Some(MutationBudget::full(seed)),
        }
    }
}

pub fn print(result: &Result<MutationReport, MeasureError>, out: &mut impl Write) -> io::Result<()> {
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            writeln!(out, "  mutants   not tried: {}", safe(&error.to_string()))?;
            return writeln!(out, "    help: {}", safe(&error.help()));
        }
    };
    match report.rate() {
        Some(rate) => {
            let (tried, killed) = (report.tested.len(), report.killed());
            write!(out, "  mutants   {killed} of {tried} killed")?;
            if report.timed_out() > 0 {
                write!(out, ", {} ran out of time", report.timed_out())?;
            }
            write!(out, "; effectiveness {}", percent(rate))?;
        }
        None => write!(out, "  mutants   none tried")?,
    }
    match report.untested {
        0 => writeln!(out)?,
        more => writeln!(out, "; {more} more were not tried within the time limit")?,
    }
    for survivor in report.survivors() {
        let place = format!("{}:{}", survivor.file, survivor.line);
        writeln!(out, "  survived {}  {}", safe(&place), safe(&survivor.what))?;
    }
    for note in &report.notes {
        writeln!(out, "  note: {}", safe(&note.what))?;
        if let Some(fix) = &note.fix {
            writeln!(out, "    help: {}", safe(fix))?;
        }
    }
    Ok(())
}
