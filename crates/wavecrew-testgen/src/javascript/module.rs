//! A module under test: how tests import it, and what the test that searches for its inputs looks like.

use std::fs;
use std::path::{Path, PathBuf};

use super::framework::Runner;
use super::helper;
use super::known::Known;
use super::project::Project;
use crate::Request;

pub struct Source {
    pub file: PathBuf,
    pub text: String,
    /// Where its tests are laid to be run.
    pub laid: PathBuf,
    /// As tests in that folder import it.
    pub import_path: String,
    /// A name for the module itself.
    pub stem: String,
    /// Its path from the root, for people.
    pub shown: String,
    /// How many files there are of earlier rounds.
    pub round: u32,
    /// What files that use it call it.
    pub named: String,
    base: String,
    /// `test` or `spec`, as the project says it.
    word: &'static str,
    /// Where people wrote down calls, the module itself first.
    pub texts: Vec<String>,
}

impl Source {
    pub fn read(request: &Request, project: &Project, file: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(file).map_err(|error| format!("it cannot be read: {error}"))?;
        let laid = request.root.join(&request.laid_in);
        let shown = file.strip_prefix(&request.root).unwrap_or(file);
        let base = base_name(request, file);
        let mut source = Self {
            import_path: import_path(&laid, file),
            stem: identifier(&called(&request.root, file)),
            shown: shown.to_string_lossy().into_owned(),
            file: file.to_owned(),
            round: 0,
            word: project.test_word(),
            texts: std::iter::once(text.clone())
                .chain(project.texts(file, &stem_of(file)))
                .collect(),
            named: stem_of(file),
            text,
            laid,
            base,
        };
        while source.name_of_round(&request.layer_folder).exists() {
            source.round += 1;
        }
        Ok(source)
    }

    /// The file for the tests of this round.
    pub fn free_name(&self, folder: &Path) -> PathBuf {
        self.name_of_round(folder)
    }

    fn name_of_round(&self, folder: &Path) -> PathBuf {
        self.name_of(self.round, folder)
    }

    /// What earlier rounds wrote, with its text.
    pub fn earlier(&self, folder: &Path) -> Vec<(PathBuf, String)> {
        let files = (0..self.round).map(|round| self.name_of(round, folder));
        files
            .filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text)))
            .collect()
    }

    pub fn is_earlier(&self, file: &Path) -> bool {
        let folder = file.parent().unwrap_or(Path::new(""));
        (0..self.round).any(|round| self.name_of(round, folder) == file)
    }

    /// A name for a copy of tests that are there already.
    pub fn known_name(&self, number: usize) -> String {
        format!("wavecrew-known-{number}-{}.{}", self.base, self.ending())
    }

    fn name_of(&self, round: u32, folder: &Path) -> PathBuf {
        let ending = self.ending();
        match round {
            0 => folder.join(format!("{}.{ending}", self.base)),
            more => folder.join(format!("{}-{}.{ending}", self.base, more + 1)),
        }
    }

    /// A test by its name, as those that are written; of its own, because modules are searched side by side.
    pub fn probe_name(&self, runner: &Runner) -> String {
        match runner {
            Runner::Vitest { .. } => format!("wavecrew-search-{}.{}", self.base, self.ending()),
            // It is run by its path, and without types.
            Runner::Jest { .. } => format!("wavecrew-search-{}.test.js", self.base),
        }
    }

    /// A new file for suspected defects, which no framework collects by its name. Those of earlier rounds stay as they are.
    pub fn quarantine_name(&self, folder: &Path) -> PathBuf {
        let mut names = (1..).map(|n| self.quarantine_of(folder, n));
        names.find(|path| !path.exists()).expect("numbers do not run out")
    }

    fn quarantine_of(&self, folder: &Path, n: u32) -> PathBuf {
        let more = if n > 1 { format!("-{n}") } else { String::new() };
        folder.join(format!("quarantine-{}{more}.{}", self.base, self.language()))
    }

    /// What earlier rounds suspected, by the comments over their tests.
    pub fn suspected(&self, folder: &Path) -> Vec<String> {
        let files = (1..).map(|n| self.quarantine_of(folder, n));
        files
            .map_while(|path| fs::read_to_string(path).ok())
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| line.starts_with("// "))
            .collect()
    }

    fn ending(&self) -> String {
        format!("{}.{}", self.word, self.language())
    }

    /// The ending of tests for it.
    fn language(&self) -> &'static str {
        match self.extension() {
            "ts" | "mts" | "cts" => "ts",
            "tsx" => "tsx",
            "mjs" => "mjs",
            "jsx" => "jsx",
            _ => "js",
        }
    }

    fn extension(&self) -> &str {
        self.file
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default()
    }

    pub fn is_typescript(&self) -> bool {
        matches!(self.extension(), "ts" | "tsx" | "mts" | "cts")
    }

    /// How its tests load it: as it exports.
    pub fn style(&self) -> &'static str {
        let exports = self
            .text
            .lines()
            .any(|line| line.trim_start().starts_with("export "));
        let common = self.text.contains("module.exports") || self.text.contains("exports.");
        if self.extension() == "cjs" || (common && !exports) {
            "require"
        } else {
            "import"
        }
    }

    /// The test that searches: it hands the module to the helper, with the tests that are there.
    pub fn probe(&self, runner: &Runner, folder: &Path, plan: &Path, known: &[Known]) -> String {
        let helper = quoted(&helper::home(folder).join("search.cjs").to_string_lossy());
        let (module, plan) = (quoted(&self.import_path), quoted(&plan.to_string_lossy()));
        let load = |how: &str| {
            let one =
                |known: &Known| format!("try {{ {how}({}); }} catch {{}}\n", quoted(&known.import_path));
            known.iter().map(one).collect::<String>()
        };
        match runner {
            Runner::Vitest { .. } => format!(
                "import {{ it }} from 'vitest';\nimport * as suite from 'vitest/suite';\n\
                 import {{ createRequire }} from 'node:module';\n\
                 const load = createRequire(import.meta.url);\nconst helper = load({helper});\n\
                 const begun = helper.begin();\n{}\
                 it('search', async ({{ task }}) => {{\n  \
                 await helper.search(() => import({module}), load({plan}), begun, helper.ofVitest(task.file, task, suite));\n\
                 }}, 100000000);\n",
                load("await import")
            ),
            Runner::Jest { .. } => format!(
                "const helper = require({helper});\nconst begun = helper.begin();\n\
                 const known = helper.recorded(globalThis, () => {{\n{}}});\n\
                 it('search', async () => {{\n  const plan = JSON.parse(require('fs').readFileSync({plan}, 'utf8'));\n  \
                 await helper.search(() => require({module}), plan, begun, known);\n}}, 100000000);\n",
                load("require")
            ),
        }
    }
}

/// The file's own name, with its folder where another file of the request has the same.
fn base_name(request: &Request, file: &Path) -> String {
    let own = stem_of(file);
    let twin = request
        .files
        .iter()
        .any(|other| other != file && stem_of(other) == own);
    let folder = file
        .parent()
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned());
    match folder {
        Some(folder) if twin || own == "index" => format!("{folder}-{own}"),
        Some(_) | None => own,
    }
}

fn stem_of(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Words that are no names, and one that says nothing.
const RESERVED: [&str; 10] = [
    "default", "index", "class", "new", "delete", "in", "this", "typeof", "void", "with",
];

/// What people call a file: an index goes by the name of its folder, or of the whole package.
fn called(root: &Path, file: &Path) -> String {
    let stem = stem_of(file);
    if stem != "index" {
        return stem;
    }
    let folder = file.parent().filter(|folder| {
        *folder != root && !["src", "lib", "source"].iter().any(|name| folder.ends_with(name))
    });
    folder
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned())
        .or_else(|| package_name(root))
        .unwrap_or(stem)
}

fn package_name(root: &Path) -> Option<String> {
    let text = fs::read(root.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let name = package["name"].as_str()?;
    Some(name.rsplit('/').next().unwrap_or(name).to_owned())
}

/// A name that code may use.
fn identifier(stem: &str) -> String {
    let mut name = String::new();
    let mut upper = false;
    for c in stem.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(if upper { c.to_ascii_uppercase() } else { c });
            upper = false;
        } else {
            upper = !name.is_empty();
        }
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || RESERVED.contains(&name.as_str())
    {
        name.insert_str(0, "mod");
    }
    name
}

/// From a folder to a file, as import statements write it.
pub fn import_path(from: &Path, file: &Path) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), file.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut parts: Vec<String> = vec!["..".to_owned(); from.len() - shared];
    if parts.is_empty() {
        parts.push(".".to_owned());
    }
    parts.extend(
        to[shared..]
            .iter()
            .map(|part| part.as_os_str().to_string_lossy().into_owned()),
    );
    let path = parts.join("/");
    // Frameworks find these by themselves; TypeScript does not want to see them.
    for ending in [".ts", ".tsx", ".js", ".jsx"] {
        if let Some(bare) = path.strip_suffix(ending)
            && !path.ends_with(".d.ts")
        {
            return bare.to_owned();
        }
    }
    path
}

pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_go_from_where_tests_are_laid() {
        for (from, file, path) in [
            ("/p/tests/L1-unit", "/p/src/a.ts", "../../src/a"),
            ("/p/src", "/p/src/a.mjs", "./a.mjs"),
            ("/p/src", "/p/src/deep/a.js", "./deep/a"),
        ] {
            assert_eq!(import_path(Path::new(from), Path::new(file)), path);
        }
    }

    #[test]
    fn modules_get_a_name_that_code_may_use() {
        for (file, name) in [
            ("to-title.ts", "toTitle"),
            ("2d.js", "mod2d"),
            ("/p/src/index.js", "modindex"),
            ("/p/src/to-title/index.js", "toTitle"),
            ("äx.js", "x"),
        ] {
            assert_eq!(identifier(&called(Path::new("/p"), Path::new(file))), name);
        }
    }
}
