//! One JSON line per event, for programs.

use super::Screen;
use crate::exit::Exit;
use crate::json::{VERSION, with_readable_times};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::{BufWriter, Write};
use wavecrew_core::budget::Totals;
use wavecrew_core::engine::{Counts, Ledger, Notice};
use wavecrew_core::event::{Event, RunOutcome};
use wavecrew_run::event_loop::{Reporter, Running};
use wavecrew_session::{SessionDir, SessionInfo};

pub struct Json {
    out: BufWriter<Box<dyn Write>>,
}

/// The kind of a line comes first, for people who read it.
#[derive(Serialize)]
struct Line<'a> {
    event: &'a str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl Json {
    /// Prints the session at once.
    pub fn new(out: Box<dyn Write>, dir: &SessionDir, info: &SessionInfo) -> Self {
        let mut json = Self {
            out: BufWriter::new(out),
        };
        json.line(
            "session",
            json!({
                "session": dir.id(), "dir": dir.path(), "team": info.team, "pipeline": info.pipeline,
                "replay": info.replay(), "version": VERSION,
            }),
        );
        let _ = json.out.flush();
        json
    }

    fn line(&mut self, event: &str, fields: Value) {
        let Value::Object(fields) = fields else { return };
        if serde_json::to_writer(&mut self.out, &Line { event, fields }).is_ok() {
            let _ = self.out.write_all(b"\n");
        }
    }
}

impl Reporter for Json {
    fn event(&mut self, event: &Event, _: &Ledger) {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(event).map(with_readable_times) else {
            return;
        };
        let Some(Value::String(kind)) = fields.remove("e") else {
            return;
        };
        // The fingerprint is internal.
        fields.remove("print");
        self.line(&kind, Value::Object(fields));
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::WaveDone {
                wave,
                completed,
                failed,
                skipped,
            } => self.line(
                "wave_done",
                json!({"wave": wave, "completed": completed, "failed": failed, "skipped": skipped}),
            ),
            Notice::Stalled { task, silent } => {
                self.line("silent", json!({"task": task, "seconds": silent.as_secs()}));
            }
            Notice::ReportIgnored { task, reason } => {
                self.line("report_ignored", json!({"task": task, "reason": reason}));
            }
            Notice::Note(text) => self.line("note", json!({"text": text})),
        }
    }

    fn tick(&mut self, _: &[Running], _: &Ledger) {
        let _ = self.out.flush();
    }

    fn wants_running(&self) -> bool {
        false
    }
}

impl Screen for Json {
    fn end(&mut self, ending: &RunOutcome, ledger: &Ledger, dir: &SessionDir, _: &SessionInfo, exit: Exit) {
        let ending = serde_json::to_value(ending).unwrap_or_default();
        self.line(
            "end",
            json!({
                "counts": counts(&ledger.counts()), "exit": exit as u8, "ending": ending,
                "usage": usage(&ledger.totals), "result": dir.measured_result(),
            }),
        );
        let _ = self.out.flush();
    }
}

/// Counts in the form that all JSON output uses.
pub fn counts(counts: &Counts) -> Value {
    json!({
        "pending": counts.pending, "running": counts.running, "completed": counts.completed,
        "failed": counts.failed, "skipped": counts.skipped,
    })
}

/// Usage in the form that all JSON output uses.
pub fn usage(totals: &Totals) -> Value {
    let Totals {
        spent,
        unpriced,
        attempts,
    } = totals;
    json!({
        "tokens": spent.tokens(), "input": spent.input, "cached": spent.cached, "output": spent.output,
        "cost_usd": spent.cost, "unpriced_tokens": unpriced, "attempts": attempts,
    })
}
