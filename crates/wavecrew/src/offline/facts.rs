//! What the offline agent knows of its task: the scope, the row, and what was measured so far.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_run::worker_side::{Identity, WorkerSide};
use wavecrew_session::SessionPaths;
use wavecrew_syntax::{Language, Symbol, symbols};
use wavecrew_testing::baseline::Baseline;
use wavecrew_testing::result::RunResult;
use wavecrew_testing::scope::Scope;

pub struct Facts {
    pub session: PathBuf,
    /// The copy of the project that it works in.
    pub tree: PathBuf,
    pub role: String,
    /// Empty for roles without one.
    pub layer: String,
    pub scope: Scope,
    side: WorkerSide,
}

impl Facts {
    pub fn gather() -> Result<Self, String> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let session = PathBuf::from(variable("WAVECREW_SESSION_DIR"));
        let scope = Scope::read(&session).map_err(|error| {
            format!("the offline agent works from the session's scope.json, which cannot be read: {error}; it belongs to `wavecrew testing`")
        })?;
        let identity = Identity::from_env().map_err(|error| error.to_string())?;
        let side = WorkerSide::open(identity).map_err(|error| error.to_string())?;
        let tree = std::env::current_dir().map_err(|error| format!("there is no working folder: {error}"))?;
        Ok(Self {
            layer: cell(&session, &variable("WAVECREW_TASK"), "layer"),
            role: variable("WAVECREW_ROLE"),
            session,
            tree,
            scope,
            side,
        })
    }

    /// What was measured of this layer last.
    pub fn result(&self) -> Option<RunResult> {
        RunResult::read(&self.session, &self.layer).ok()
    }

    /// What was measured of each layer.
    pub fn results(&self) -> Vec<RunResult> {
        let layers = self.scope.layers.iter();
        layers
            .filter_map(|layer| RunResult::read(&self.session, &layer.name).ok())
            .collect()
    }

    pub fn baseline(&self) -> Baseline {
        Baseline::read(&self.session).unwrap_or_default()
    }

    pub fn source(&self, path: &Path) -> String {
        let bytes = fs::read(self.tree.join(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Functions, classes and methods of each file in scope.
    pub fn symbols(&self) -> BTreeMap<PathBuf, Vec<Symbol>> {
        let files = self.scope.files.iter().map(|file| &file.path);
        files
            .map(|path| {
                let found = Language::of(path).map(|language| symbols(language, &self.source(path)));
                (path.clone(), found.unwrap_or_default())
            })
            .collect()
    }

    /// The board is for others: what cannot be put there stops nothing.
    pub fn discover<const N: usize>(&self, kind: &str, fields: [(&str, Value); N]) {
        let fields: Map<String, Value> = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let _ = self.side.discover(kind, fields);
    }

    pub fn write(&self, path: impl AsRef<Path>, text: &str) -> Result<(), String> {
        let path = self.session.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// A cell of the session's table.
fn cell(session: &Path, task: &str, column: &str) -> String {
    let bytes = fs::read(SessionPaths::at(session).tasks_csv()).unwrap_or_default();
    let Ok(sheet) = Sheet::read(&bytes[..], Origin::Session) else {
        return String::new();
    };
    let (Some(id), Some(wanted)) = (sheet.column("id"), sheet.column(column)) else {
        return String::new();
    };
    let mut rows = (0..sheet.rows()).map(|row| (sheet.cell(row, id), sheet.cell(row, wanted)));
    rows.find(|(known, _)| *known == task)
        .map(|(_, value)| value.to_owned())
        .unwrap_or_default()
}
