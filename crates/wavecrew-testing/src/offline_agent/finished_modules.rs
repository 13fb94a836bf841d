//! The modules that the offline generator has finished in a round. A generator that is interrupted and continued searches
//! only the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wavecrew_session::SessionPaths;
use wavecrew_testgen::Module;

use super::generator::findings::FIX;

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Entry {
    round: u32,
    module: Module,
}

pub struct FinishedModules {
    file: PathBuf,
    round: u32,
    /// By source file.
    modules: BTreeMap<PathBuf, Module>,
}

impl FinishedModules {
    /// Reads the modules of a round whose tests are still there. An incomplete last line does not count.
    pub fn open(session: &Path, layer: &str, round: u32) -> Self {
        let file = SessionPaths::at(session).generated_modules(layer);
        let text = fs::read_to_string(&file).unwrap_or_default();
        let entries = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Entry>(line).ok());
        let is_there = |module: &Module| module.written.iter().all(|written| written.path.is_file());
        let modules = entries
            .filter(|entry| entry.round == round && is_there(&entry.module))
            .map(|entry| (entry.module.file.clone(), entry.module))
            .collect();
        Self { file, round, modules }
    }

    pub fn get(&self, source: &Path) -> Option<&Module> {
        self.modules.get(source)
    }

    /// Records a module as soon as it is finished.
    pub fn add(&self, module: &Module) -> std::io::Result<()> {
        let entry = Entry {
            round: self.round,
            module: module.clone(),
        };
        let mut line = serde_json::to_vec(&entry).map_err(std::io::Error::other)?;
        line.push(b'\n');
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        file.write_all(&line)
    }
}

/// The commands that would make modules load, and for how many modules.
pub fn fixes(session: &Path, layer: &str) -> (usize, BTreeSet<String>) {
    let text = fs::read_to_string(SessionPaths::at(session).generated_modules(layer)).unwrap_or_default();
    let mut modules = BTreeSet::new();
    let mut commands = BTreeSet::new();
    for entry in text
        .lines()
        .filter_map(|line| serde_json::from_str::<Entry>(line).ok())
    {
        let Entry { module, .. } = entry;
        let is_whole = |what: &str| what == module.module || Path::new(what) == module.file;
        let fix = module
            .dropped
            .iter()
            .filter(|left| is_whole(&left.what))
            .find_map(|left| left.why.split_once(FIX));
        if let Some((_, command)) = fix {
            commands.insert(command.trim_end_matches(')').to_owned());
            modules.insert(module.file);
        }
    }
    (modules.len(), commands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavecrew_testgen::{Dropped, WrittenFile};

    #[test]
    fn modules_of_the_same_round_are_found_again_while_their_tests_exist() {
        let session = tempfile::tempdir().unwrap();
        fs::create_dir(session.path().join("results")).unwrap();
        let test = session.path().join("test_a.py");
        fs::write(&test, "").unwrap();
        let module = Module {
            file: "/copy/a.py".into(),
            written: vec![WrittenFile {
                path: test.clone(),
                ..WrittenFile::default()
            }],
            ..Module::default()
        };
        let open = |round| FinishedModules::open(session.path(), "L1", round);
        open(1).add(&module).unwrap();
        assert_eq!(open(1).get(Path::new("/copy/a.py")), Some(&module));
        assert_eq!(open(2).get(Path::new("/copy/a.py")), None);
        let left = |what: &str, why: &str| Dropped {
            what: what.to_owned(),
            why: why.to_owned(),
        };
        let broken = Module {
            file: "/copy/b.py".into(),
            module: "b".to_owned(),
            dropped: vec![
                left("b.f", "no (fix: not this one)"),
                left("b", "the import fails (fix: uv add --dev PyYAML)"),
            ],
            ..Module::default()
        };
        open(1).add(&broken).unwrap();
        open(2).add(&broken).unwrap();
        let (modules, commands) = fixes(session.path(), "L1");
        assert_eq!((modules, commands.len()), (1, 1));
        assert!(commands.contains("uv add --dev PyYAML"));
        fs::remove_file(test).unwrap();
        assert_eq!(open(1).get(Path::new("/copy/a.py")), None);
    }
}
