//! The quality score of a suite: four parts, each computed from measurements. A part without data does not
//! count, and the report states that. Nothing is estimated.

mod plot;
mod score;
mod sections;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use wavecrew_measure::FileCoverage;

use crate::baseline::Baseline;
use crate::coverage_figures::merge_coverage;
use crate::result::RunResult;
use crate::rounds;
use crate::scope::Scope;
use crate::what_changed;
use wavecrew_session::SessionPaths;

pub use score::{Part, Score};

/// All data for the report on a session.
#[derive(Debug)]
pub struct Data {
    pub layers: Vec<LayerData>,
    /// Whether the project's own tests could be measured.
    pub baseline_known: bool,
    pub baseline_seconds: f64,
    pub before: Vec<FileCoverage>,
    pub after: Vec<FileCoverage>,
    pub defects: Vec<Defect>,
    /// What the change under test does, as Markdown.
    pub what_changed: Option<String>,
}

#[derive(Debug)]
pub struct LayerData {
    pub run: RunResult,
    /// The layer of the team, for a part.
    pub part_of: Option<String>,
    /// The critic's earlier runs, oldest first.
    pub history: Vec<RunResult>,
    /// How often the loop sent work back.
    pub rounds: u32,
}

/// A defect that a worker reported.
#[derive(Debug, Clone, Deserialize)]
pub struct Defect {
    #[serde(default)]
    pub file: String,
    #[serde(default)]
    pub line: serde_json::Value,
    #[serde(default)]
    pub pattern: String,
    #[serde(default)]
    pub description: String,
}

impl Data {
    pub fn read(session: &Path, scope: &Scope) -> io::Result<Self> {
        #[derive(Default, Deserialize)]
        struct Loops {
            #[serde(default)]
            rounds: BTreeMap<String, u32>,
        }
        let state = fs::read(SessionPaths::at(session).gc_state()).unwrap_or_default();
        let loops: Loops = serde_json::from_slice(&state).unwrap_or_default();
        let baseline = Baseline::read(session).unwrap_or_default();
        let before = baseline.coverage();
        let mut after = before.clone();
        let mut layers = Vec::new();
        for layer in &scope.layers {
            let Ok(run) = RunResult::read(session, &layer.name) else {
                continue;
            };
            if let Some(covered) = &run.coverage {
                after = merge_coverage(&after, &covered.files);
            }
            layers.push(LayerData {
                history: rounds::history(session, &layer.name, &run.task, run.attempt),
                rounds: loops.rounds.get(&layer.name).copied().unwrap_or(0),
                part_of: layer.part_of.clone(),
                run,
            });
        }
        Ok(Self {
            layers,
            baseline_known: baseline.is_known(),
            baseline_seconds: baseline.seconds,
            before,
            after,
            defects: defects(session)?,
            what_changed: what_changed::document(session),
        })
    }
}

/// One per location: the latest entry on the board.
fn defects(session: &Path) -> io::Result<Vec<Defect>> {
    #[derive(Deserialize)]
    struct Entry {
        #[serde(rename = "type")]
        kind: String,
        data: serde_json::Value,
    }
    let text = match fs::read_to_string(SessionPaths::at(session).discoveries_file()) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found: BTreeMap<(String, String), Defect> = BTreeMap::new();
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<Entry>(line) else {
            continue;
        };
        if entry.kind != "defect_found" {
            continue;
        }
        if let Ok(defect) = serde_json::from_value::<Defect>(entry.data) {
            found.insert((defect.file.clone(), defect.line.to_string()), defect);
        }
    }
    Ok(found.into_values().collect())
}

/// Puts the computed score and the measured tables into the analyst's report, in place of the analyst's own,
/// and writes the plot beside it.
pub fn complete(session: &Path, data: &Data) -> io::Result<Score> {
    let score = Score::of(data);
    let paths = SessionPaths::at(session);
    let path = paths.quality_report();
    let text = fs::read_to_string(&path)?;
    fs::write(paths.coverage_plot(), plot::svg(data))?;
    fs::write(path, sections::completed(&text, &score, data))?;
    Ok(score)
}
