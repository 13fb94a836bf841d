//! `wavecrew list`: the sessions of this project, newest first.

use crate::clock;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::layout::{fit, widest};
use crate::report::counts;
use crate::show::safe;
use crate::{hint, json};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::path::Path;
use wavecrew_core::engine::Counts;
use wavecrew_session::SessionEntry;
use wavecrew_session::SessionView;

/// List the sessions of this project, newest first
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew list\n  wavecrew list --json | jq -r '.[].session'")]
pub struct Args {}

/// A session's line.
enum Line {
    Session {
        id: String,
        team: String,
        state: &'static str,
        counts: Counts,
        started_at: String,
        request: String,
        replay: bool,
    },
    Broken {
        id: String,
        reason: String,
    },
}

impl Args {
    #[expect(clippy::unused_self, reason = "every verb is run the same way")]
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let lines: Vec<Line> = wavecrew_session::list_sessions(Path::new("."))?
            .into_iter()
            .map(Line::of)
            .collect();
        let mut out = stdout().lock();
        if global.json {
            let lines: Vec<Value> = lines.iter().map(Line::json).collect();
            json::print(lines)?;
            return Ok(Exit::Done);
        }
        if lines.is_empty() {
            writeln!(out, "No sessions yet. `{}` starts one.", hint::command("run"))?;
            return Ok(Exit::Done);
        }
        let width = widest(lines.iter().map(Line::id)).min(60);
        for line in &lines {
            writeln!(out, "{}", line.text(width).trim_end())?;
        }
        Ok(Exit::Done)
    }
}

impl Line {
    fn of(listed: SessionEntry) -> Self {
        match listed {
            SessionEntry::Session(dir, info) => {
                let id = dir.id().to_owned();
                match SessionView::load(dir) {
                    Ok(view) => Self::Session {
                        id,
                        replay: info.replay().is_some(),
                        team: info.team,
                        state: view.state(),
                        counts: view.counts(),
                        started_at: info.started_at,
                        request: info.request,
                    },
                    Err(failure) => Self::Broken {
                        id,
                        reason: failure.to_string(),
                    },
                }
            }
            SessionEntry::Broken { path, error } => Self::Broken {
                id: path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                reason: error.to_string(),
            },
        }
    }

    fn id(&self) -> &str {
        match self {
            Self::Session { id, .. } | Self::Broken { id, .. } => id,
        }
    }

    fn text(&self, width: usize) -> String {
        let id = fit(self.id(), width);
        match self {
            Self::Session {
                team,
                state,
                counts,
                started_at,
                replay,
                ..
            } => {
                let done = format!("{}/{}", counts.completed, counts.total());
                let age = clock::parse(started_at).map_or_else(
                    || safe(started_at),
                    |started| clock::ago(clock::now().since(started)),
                );
                let replay = if *replay { "  replay" } else { "" };
                format!("{id}  {}  {state:<9}  {done:>7}  {age}{replay}", fit(team, 10))
            }
            Self::Broken { reason, .. } => format!("{id}  broken: {}", safe(reason)),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Session {
                id,
                team,
                state,
                counts: numbers,
                started_at,
                request,
                replay,
            } => json!({
                "session": id, "team": team, "state": state, "counts": counts(numbers),
                "started_at": started_at, "request": request, "replay": replay,
            }),
            Self::Broken { id, reason } => json!({"session": id, "state": "broken", "reason": reason}),
        }
    }
}
