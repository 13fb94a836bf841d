//! Parts of a large scope: each gets tasks of its own in every layer. A part is a layer of the session with a name such as
//! `L1.2`, a folder and the files that its tests are for, so that checks, rounds and results of parts stay apart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wavecrew_core::team::{Pipeline, PipelineTask, Team};

use super::{LayerInScope, Scope};

/// Files of one task, unless the settings set another number.
pub const FILES_PER_TASK: usize = 12;

/// The column that holds the layer of a row.
const LAYER: &str = "layer";

impl LayerInScope {
    /// The layer of the team that this one is, or is a part of.
    pub fn team_layer(&self) -> &str {
        self.part_of.as_deref().unwrap_or(&self.name)
    }
}

impl Scope {
    /// Splits every layer into parts of at most so many files. A scope that is small enough stays whole.
    pub fn split(&mut self, files_per_task: usize) {
        let limit = files_per_task.max(1);
        // A small scope is not divided just because it has several frameworks.
        if self.files.len() <= limit {
            return;
        }
        let parts = self.parts(limit);
        let whole = std::mem::take(&mut self.layers);
        for layer in whole {
            for (n, files) in (1..).zip(&parts) {
                let name = format!("{}.{n}", layer.name);
                let folder = layer.folder.to_string_lossy().replacen(&layer.name, &name, 1);
                self.layers.push(LayerInScope {
                    // A folder that does not name its layer gets a subfolder.
                    folder: if folder.contains(&name) {
                        folder.into()
                    } else {
                        layer.folder.join(&name)
                    },
                    name,
                    part_of: Some(layer.name.clone()),
                    files: files.clone(),
                });
            }
        }
    }

    /// The files in groups: by framework, then by folder. A folder with too many files is divided, small ones next to each
    /// other are joined.
    fn parts(&self, limit: usize) -> Vec<Vec<PathBuf>> {
        let mut roots: BTreeMap<(&Path, &str), Vec<PathBuf>> = BTreeMap::new();
        for file in &self.files {
            let root = (file.root.as_path(), file.framework.name());
            roots.entry(root).or_default().push(file.path.clone());
        }
        let groups = roots.into_values().map(|files| grouped(files, 0, limit));
        groups.flatten().collect()
    }

    /// The scope of a layer's tasks: a part has its own files only.
    #[must_use]
    pub fn for_layer(&self, layer: &str) -> Self {
        let mut scope = self.clone();
        let part = self.layers.iter().find(|known| known.name == layer);
        if let Some(part) = part.filter(|part| !part.files.is_empty()) {
            scope.files.retain(|file| part.files.contains(&file.path));
        }
        scope
    }

    /// The parts of a layer of the team; none if it is whole.
    pub fn parts_of<'a>(&'a self, layer: &'a str) -> impl Iterator<Item = &'a LayerInScope> {
        let is_part = move |known: &&LayerInScope| known.part_of.as_deref() == Some(layer);
        self.layers.iter().filter(is_part)
    }

    /// Adds the parts to the team: as values of the column `layer`, and as folders of the session.
    pub fn add_parts_to(&self, team: &mut Team) {
        for part in self.layers.iter().filter(|layer| layer.part_of.is_some()) {
            let columns = team.columns.iter_mut().filter(|column| column.name == LAYER);
            for column in columns {
                if !column.values.is_empty() && !column.values.contains(&part.name) {
                    column.values.push(part.name.clone());
                }
            }
            let folder = part.folder.to_string_lossy().into_owned();
            if !team.folders.contains(&folder) {
                team.folders.push(folder);
            }
        }
    }

    /// The pipeline with a row per part in place of each row of a layer. `request` gives the request of a part. Rows of a
    /// part depend on rows of the same part, so that a part that fails does not hold up the others.
    #[must_use]
    pub fn split_rows(&self, pipeline: &Pipeline, request: impl Fn(&Self) -> String) -> Pipeline {
        let parts_of = |id: &str| -> Vec<&LayerInScope> {
            let layer = pipeline.task(id).and_then(|task| task.set.get(LAYER));
            layer.map_or_else(Vec::new, |layer| self.parts_of(layer).collect())
        };
        let row = |id: &str, n: usize| format!("{id}.{n}");
        let rows = |id: &String| match parts_of(id).len() {
            0 => vec![id.clone()],
            parts => (1..=parts).map(|n| row(id, n)).collect(),
        };
        let row_of_part = |id: &String, n: usize| {
            if parts_of(id).is_empty() {
                id.clone()
            } else {
                row(id, n)
            }
        };
        let mut tasks = Vec::new();
        for task in &pipeline.tasks {
            let parts = parts_of(&task.id);
            if parts.is_empty() {
                tasks.push(PipelineTask {
                    deps: task.deps.iter().flat_map(rows).collect(),
                    context_from: task.context_from.iter().flat_map(rows).collect(),
                    ..task.clone()
                });
            }
            for (n, part) in (1..).zip(&parts) {
                let of_part = |ids: &[String]| ids.iter().map(|id| row_of_part(id, n)).collect();
                let mut set = task.set.clone();
                set.insert(LAYER.to_owned(), part.name.clone());
                tasks.push(PipelineTask {
                    id: row(&task.id, n),
                    title: part.titled(&task.title, &parts),
                    description: part.described(&task.description, &request(&self.for_layer(&part.name))),
                    deps: of_part(&task.deps),
                    context_from: of_part(&task.context_from),
                    set,
                    ..task.clone()
                });
            }
        }
        Pipeline {
            tasks,
            ..pipeline.clone()
        }
    }
}

impl LayerInScope {
    /// `Generate L1.2 unit tests: src/net`.
    fn titled(&self, title: &str, parts: &[&Self]) -> String {
        let title = title.replacen(self.team_layer(), &self.name, 1);
        format!("{title}: {}", self.label(parts))
    }

    /// The folder of the part's files, and the first and last of them when other parts are in the same folder.
    fn label(&self, parts: &[&Self]) -> String {
        let (Some(first), Some(last)) = (self.files.first(), self.files.last()) else {
            return String::new();
        };
        if self.files.len() == 1 {
            return first.display().to_string();
        }
        let is_common = |folder: &&Path| self.files.iter().all(|file| file.starts_with(folder));
        let folder = first.ancestors().skip(1).find(is_common).unwrap_or(Path::new(""));
        let mut others = parts.iter().filter(|part| part.name != self.name);
        if !others.any(|part| part.files.iter().any(|file| file.starts_with(folder))) {
            return folder.display().to_string();
        }
        let below = |file: &Path| file.strip_prefix(folder).unwrap_or(file).display().to_string();
        let range = format!("{} to {}", below(first), below(last));
        if folder.as_os_str().is_empty() {
            range
        } else {
            format!("{}, {range}", folder.display())
        }
    }

    /// The description of a row of the layer, for this part: its request, its folder, its result.
    fn described(&self, description: &str, request: &str) -> String {
        let layer = self.team_layer();
        let text = description
            .replace(&format!("tests/{layer}-"), &format!("tests/{}-", self.name))
            .replace(&format!("run-{layer}.json"), &format!("run-{}.json", self.name))
            .replace("{request}", request);
        format!(
            "{text} This task is {}, a part of {layer}: other tasks test the other files, at the same time. Work on the files of \
             your part only, and write in {}/ only.",
            self.name,
            self.folder.display()
        )
    }
}

/// Files, sorted, in groups by the folder at this depth of their paths.
fn grouped(files: Vec<PathBuf>, depth: usize, limit: usize) -> Vec<Vec<PathBuf>> {
    if files.len() <= limit {
        return vec![files];
    }
    let mut folders: BTreeMap<Option<PathBuf>, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        let below = file.components().count() > depth + 1;
        let folder = below.then(|| file.components().take(depth + 1).collect());
        folders.entry(folder).or_default().push(file);
    }
    let mut groups: Vec<Vec<PathBuf>> = Vec::new();
    for (folder, files) in folders {
        let parts = match folder {
            Some(_) => grouped(files, depth + 1, limit),
            None => in_equal_parts(&files, limit),
        };
        for part in parts {
            match groups.last_mut() {
                Some(last) if last.len() + part.len() <= limit => last.extend(part),
                _ => groups.push(part),
            }
        }
    }
    groups
}

/// Files of one folder, in as few groups as possible, of nearly the same size.
fn in_equal_parts(files: &[PathBuf], limit: usize) -> Vec<Vec<PathBuf>> {
    let parts = files.len().div_ceil(limit);
    let size = files.len().div_ceil(parts);
    files.chunks(size).map(<[PathBuf]>::to_vec).collect()
}
