//! Finds the file of a test in a layer. cargo reports the binary, go the package and the function.

use std::fs;
use std::path::Path;

use wavecrew_measure::framework::TestNames;
use wavecrew_measure::{TestCase, TestId, TestOutcome};

use super::project_path;
use crate::layer::Placed;
use crate::scope::FrameworkInScope;

/// A test with its file in the layer. There are several if a package of several files does not build, and
/// none for a test of the project that ran beside those of the layer.
pub fn in_layer(
    test: &TestCase,
    framework: &FrameworkInScope,
    placed: &[&Placed],
    tree: &Path,
) -> Vec<TestCase> {
    let of = |file: &Placed, name: &str| TestCase {
        id: TestId {
            file: file.file.to_string_lossy().into_owned(),
            name: name.to_owned(),
        },
        ..test.clone()
    };
    let path = project_path(&framework.root, &test.id.file);
    if let Some(file) = placed.iter().find(|file| file.target == Path::new(&path)) {
        return vec![of(file, &test.id.name)];
    }
    match framework.framework.facts().test_names {
        TestNames::CargoBinary => {
            // `package::binary::module::name`
            let mut parts = test.id.name.splitn(3, "::").skip(1);
            let stem = parts.next().map(Path::new);
            let file = placed
                .iter()
                .find(|file| file.file.file_stem().map(Path::new) == stem);
            match file.zip(parts.next()) {
                Some((file, name)) => vec![of(file, name)],
                None => vec![test.clone()],
            }
        }
        TestNames::GoPackage => {
            let mut files: Vec<&Placed> = placed
                .iter()
                .copied()
                .filter(|file| is_of_package(file, framework, &test.id.file))
                .collect();
            let function = test.id.name.split('/').next().unwrap_or_default();
            if let TestOutcome::Unloaded { message } = &test.outcome
                && function.is_empty()
            {
                let name = |file: &&Placed| file.file.file_name().unwrap_or_default().to_owned();
                let named = |file: &&Placed| message.contains(&*name(file).to_string_lossy());
                if files.iter().any(named) {
                    files.retain(named);
                }
                return files.iter().map(|file| of(file, "")).collect();
            }
            let holds = |file: &&&Placed| {
                let source = fs::read_to_string(tree.join(&file.target)).unwrap_or_default();
                source.contains(&format!("func {function}("))
            };
            files
                .iter()
                .find(holds)
                .map(|file| of(file, &test.id.name))
                .into_iter()
                .collect()
        }
        TestNames::File => {
            vec![test.clone()]
        }
    }
}

/// Whether a package, by its import path, is the folder of the file.
fn is_of_package(file: &Placed, framework: &FrameworkInScope, package: &str) -> bool {
    let root = framework.root.strip_prefix(".").unwrap_or(&framework.root);
    let below = file.target.strip_prefix(root).unwrap_or(&file.target);
    Path::new(package).ends_with(below.parent().unwrap_or(Path::new("")))
}
