//! What the offline agent knows about its task: the scope, the row, and the measurements so far.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Map, Value};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_session::SessionPaths;
use wavecrew_syntax::{Grammar, Symbol, symbols};

use crate::baseline::Baseline;
use crate::result::RunResult;
use crate::scope::Scope;

/// Puts an entry of a type on the discovery board.
pub type Discover = Box<dyn Fn(&str, Map<String, Value>)>;

pub struct RoleTask {
    pub session: PathBuf,
    /// The copy of the project that it works in.
    pub copy: PathBuf,
    pub role: String,
    /// Empty for roles without one.
    pub layer: String,
    pub scope: Scope,
    /// When the time limit of the task ends this worker.
    pub deadline: Option<Instant>,
    discover: Discover,
}

impl RoleTask {
    pub fn load(
        session: PathBuf,
        copy: PathBuf,
        task: &str,
        role: String,
        deadline: Option<Instant>,
        discover: Discover,
    ) -> Result<Self, String> {
        let scope = Scope::read(&session).map_err(|error| {
            format!("the offline agent needs the session's scope.json, which cannot be read: {error}; it is part of `wavecrew testing`")
        })?;
        let layer = cell(&session, task, "layer");
        Ok(Self {
            scope: scope.for_layer(&layer),
            layer,
            role,
            session,
            copy,
            deadline,
            discover,
        })
    }

    /// The last measurement of this layer.
    pub fn result(&self) -> Option<RunResult> {
        RunResult::read(&self.session, &self.layer).ok()
    }

    /// The last measurement of each layer.
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
        let bytes = fs::read(self.copy.join(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Functions, classes and methods of each file in scope.
    pub fn symbols(&self) -> BTreeMap<PathBuf, Vec<Symbol>> {
        let files = self.scope.files.iter().map(|file| &file.path);
        files
            .map(|path| {
                let found = Grammar::of(path).map(|language| symbols(language, &self.source(path)));
                (path.clone(), found.unwrap_or_default())
            })
            .collect()
    }

    /// Puts an entry on the board.
    pub fn discover<const N: usize>(&self, kind: &str, fields: [(&str, Value); N]) {
        let fields: Map<String, Value> = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        (self.discover)(kind, fields);
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
