//! A module under test: its names, how tests import it, and the test that runs the search.

use std::fs;
use std::path::{Path, PathBuf};

use super::existing_tests::ExistingTest;
use super::helper_folder;
use super::project::Project;
use super::runner::Runner;
use crate::Request;

pub struct SourceModule {
    pub file: PathBuf,
    pub text: String,
    /// Where its tests run.
    pub run_folder: PathBuf,
    /// How tests in that folder import it.
    pub import_path: String,
    /// The name of the module itself in tests.
    pub identifier: String,
    /// Its path from the root, for people.
    pub shown_path: String,
    /// How many test files earlier rounds wrote.
    pub round: u32,
    /// The file name without extension, by which other files mention it.
    pub file_stem: String,
    base_name: String,
    /// `test` or `spec`, as the project names its tests.
    test_word: &'static str,
    /// Texts that may show calls of it, its own first.
    pub texts: Vec<String>,
}

impl SourceModule {
    pub fn read(request: &Request, project: &Project, file: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(file).map_err(|error| format!("cannot be read: {error}"))?;
        let run_folder = request.root.join(&request.run_folder);
        let shown_path = file.strip_prefix(&request.root).unwrap_or(file);
        let mut source = Self {
            import_path: import_path(&run_folder, file),
            identifier: identifier(&common_name(&request.root, file)),
            shown_path: shown_path.to_string_lossy().into_owned(),
            file: file.to_owned(),
            round: 0,
            test_word: project.test_word(),
            texts: std::iter::once(text.clone())
                .chain(project.texts(file, &stem_of(file)))
                .collect(),
            file_stem: stem_of(file),
            base_name: base_name(&request.root, &request.files, file),
            text,
            run_folder,
        };
        while source.new_test_file(&request.layer_folder).exists() {
            source.round += 1;
        }
        Ok(source)
    }

    /// The file for the tests of this round.
    pub fn new_test_file(&self, folder: &Path) -> PathBuf {
        self.test_file_of_round(self.round, folder)
    }

    fn test_file_of_round(&self, round: u32, folder: &Path) -> PathBuf {
        let extension = self.test_extension();
        match round {
            0 => folder.join(format!("{}.{extension}", self.base_name)),
            more => folder.join(format!("{}-{}.{extension}", self.base_name, more + 1)),
        }
    }

    /// A test file with `what` in its name.
    pub fn named_test_file(&self, folder: &Path, what: &str) -> PathBuf {
        folder.join(format!("{}-{what}.{}", self.base_name, self.test_extension()))
    }

    /// The test files of earlier rounds, with their texts.
    pub fn earlier_rounds(&self, folder: &Path) -> Vec<(PathBuf, String)> {
        let files = (0..self.round).map(|round| self.test_file_of_round(round, folder));
        files
            .filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text)))
            .collect()
    }

    pub fn is_from_earlier_round(&self, file: &Path) -> bool {
        let folder = file.parent().unwrap_or(Path::new(""));
        (0..self.round).any(|round| self.test_file_of_round(round, folder) == file)
    }

    /// A name for a copy of an existing test.
    pub fn copy_name(&self, number: usize) -> String {
        format!(
            "wavecrew-existing-{number}-{}.{}",
            self.base_name,
            self.test_extension()
        )
    }

    /// The name of the test that runs the search. Unique, because modules are searched at the same time.
    pub fn search_test_name(&self, runner: &Runner) -> String {
        match runner {
            Runner::Vitest { .. } => format!("wavecrew-search-{}.{}", self.base_name, self.test_extension()),
            // It runs by its path, and contains no types.
            Runner::Jest { .. } => format!("wavecrew-search-{}.test.js", self.base_name),
        }
    }

    /// A new file for suspected defects. Its name keeps frameworks from collecting it; those of earlier rounds stay.
    pub fn new_quarantine_file(&self, folder: &Path) -> PathBuf {
        let mut names = (1..).map(|number| self.quarantine_file(folder, number));
        names.find(|path| !path.exists()).expect("numbers do not run out")
    }

    fn quarantine_file(&self, folder: &Path, number: u32) -> PathBuf {
        let suffix = if number > 1 {
            format!("-{number}")
        } else {
            String::new()
        };
        folder.join(format!(
            "quarantine-{}{suffix}.{}",
            self.base_name,
            self.language_extension()
        ))
    }

    /// The comments above the tests of defects that earlier rounds suspected.
    pub fn suspected_before(&self, folder: &Path) -> Vec<String> {
        let files = (1..).map(|number| self.quarantine_file(folder, number));
        files
            .map_while(|path| fs::read_to_string(path).ok())
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| line.starts_with("// "))
            .collect()
    }

    fn test_extension(&self) -> String {
        format!("{}.{}", self.test_word, self.language_extension())
    }

    /// The extension of its tests.
    fn language_extension(&self) -> &'static str {
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
            .and_then(|extension| extension.to_str())
            .unwrap_or_default()
    }

    pub fn is_typescript(&self) -> bool {
        matches!(self.extension(), "ts" | "tsx" | "mts" | "cts")
    }

    /// Whether its tests `import` or `require` it, depending on how it exports.
    pub fn style(&self) -> &'static str {
        let exports = self
            .text
            .lines()
            .any(|line| line.trim_start().starts_with("export "));
        let common_js = self.text.contains("module.exports") || self.text.contains("exports.");
        if self.extension() == "cjs" || (common_js && !exports) {
            "require"
        } else {
            "import"
        }
    }

    /// The test that runs the search: it loads existing tests and passes the module to the helper.
    pub fn search_test(
        &self,
        runner: &Runner,
        helper: &Path,
        plan: &Path,
        existing_tests: &[ExistingTest],
    ) -> String {
        let helper = quoted(&helper_folder(helper).join("session.cjs").to_string_lossy());
        let (module, plan) = (quoted(&self.import_path), quoted(&plan.to_string_lossy()));
        let load_existing = |load: &str| {
            let line = |test: &ExistingTest| {
                format!("try {{ {load}({}); }} catch {{}}\n", quoted(&test.import_path))
            };
            existing_tests.iter().map(line).collect::<String>()
        };
        match runner {
            Runner::Vitest { .. } => format!(
                "import {{ it }} from 'vitest';\nimport * as suite from 'vitest/suite';\n\
                 import {{ createRequire }} from 'node:module';\n\
                 const load = createRequire(import.meta.url);\nconst helper = load({helper});\n\
                 const sandbox = helper.enterSandbox();\n{}\
                 it('search', async ({{ task }}) => {{\n  \
                 await helper.runSession(() => import({module}), load({plan}), sandbox, helper.passedInVitest(task.file, task, suite));\n\
                 }}, 100000000);\n",
                load_existing("await import")
            ),
            Runner::Jest { .. } => format!(
                "const helper = require({helper});\nconst sandbox = helper.enterSandbox();\n\
                 const tests = helper.recordTests(globalThis, () => {{\n{}}});\n\
                 it('search', async () => {{\n  const plan = JSON.parse(require('fs').readFileSync({plan}, 'utf8'));\n  \
                 await helper.runSession(() => require({module}), plan, sandbox, tests);\n}}, 100000000);\n",
                load_existing("require")
            ),
        }
    }
}

/// The file's own name, with as many folders as distinguish it from the other files of the request.
fn base_name(root: &Path, files: &[PathBuf], file: &Path) -> String {
    let mut folders = usize::from(stem_of(file) == "index");
    let most = file.components().count();
    let others = || files.iter().filter(|other| *other != file);
    let name = |file: &Path, folders| name_with_folders(root, file, folders);
    while folders < most && others().any(|other| name(other, folders) == name(file, folders)) {
        folders += 1;
    }
    name(file, folders)
}

fn name_with_folders(root: &Path, file: &Path, folders: usize) -> String {
    let stem = stem_of(file);
    if stem == "index" && folders == 1 && file.parent() == Some(root) {
        return package_name(root).unwrap_or(stem); // the name of the root's folder means nothing
    }
    let names = file.ancestors().skip(1).take(folders).filter_map(Path::file_name);
    names.fold(stem, |name, folder| {
        format!("{}-{name}", folder.to_string_lossy())
    })
}

fn stem_of(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Not usable as identifiers, or meaningless.
const RESERVED: [&str; 10] = [
    "default", "index", "class", "new", "delete", "in", "this", "typeof", "void", "with",
];

/// The name of a file for people: an index has the name of its folder, or of the package.
fn common_name(root: &Path, file: &Path) -> String {
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

/// A valid identifier.
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

/// The path from a folder to a file, as an import statement writes it.
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
    // Frameworks add these themselves, and TypeScript rejects them.
    for extension in [".ts", ".tsx", ".js", ".jsx"] {
        if let Some(bare) = path.strip_suffix(extension)
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
    fn imports_start_at_the_folder_that_tests_run_in() {
        for (from, file, path) in [
            ("/p/tests/L1-unit", "/p/src/a.ts", "../../src/a"),
            ("/p/src", "/p/src/a.mjs", "./a.mjs"),
            ("/p/src", "/p/src/deep/a.js", "./deep/a"),
        ] {
            assert_eq!(import_path(Path::new(from), Path::new(file)), path);
        }
    }

    #[test]
    fn modules_get_a_valid_identifier() {
        for (file, name) in [
            ("to-title.ts", "toTitle"),
            ("2d.js", "mod2d"),
            ("/p/src/index.js", "modindex"),
            ("/p/src/to-title/index.js", "toTitle"),
            ("äx.js", "x"),
        ] {
            assert_eq!(identifier(&common_name(Path::new("/p"), Path::new(file))), name);
        }
    }

    #[test]
    fn files_of_the_same_name_get_different_tests() {
        let files = [
            "packages/a/src/price.js",
            "packages/b/src/price.js",
            "lib/price.js",
            "lib/index.js",
            "lib/tax.js",
            "/p/index.js",
        ]
        .map(PathBuf::from);
        let names: Vec<String> = files
            .iter()
            .map(|file| base_name(Path::new("/p"), &files, file))
            .collect();
        assert_eq!(
            names,
            [
                "a-src-price",
                "b-src-price",
                "lib-price",
                "lib-index",
                "tax",
                "index"
            ]
        );
    }
}
