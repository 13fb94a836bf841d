//! The programming languages of projects: how their files and tests are named.

use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Python,
    /// TypeScript too.
    JavaScript,
    Rust,
    Go,
}

struct FileNames {
    language: Language,
    extensions: &'static [&'static str],
    test_prefixes: &'static [&'static str],
    test_suffixes: &'static [&'static str],
    /// Whole names, without the extension, of files that serve tests.
    test_names: &'static [&'static str],
}

const FILE_NAMES: &[FileNames] = &[
    FileNames {
        language: Language::Python,
        extensions: &["py"],
        test_prefixes: &["test_"],
        test_suffixes: &["_test"],
        test_names: &["conftest", "tests"],
    },
    FileNames {
        language: Language::JavaScript,
        extensions: &[
            "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte",
        ],
        test_prefixes: &[],
        test_suffixes: &[".test", ".spec", ".cy", ".e2e", ".stories"],
        test_names: &[],
    },
    FileNames {
        language: Language::Rust,
        extensions: &["rs"],
        test_prefixes: &[],
        test_suffixes: &[],
        test_names: &["tests"],
    },
    FileNames {
        language: Language::Go,
        extensions: &["go"],
        test_prefixes: &[],
        test_suffixes: &["_test"],
        test_names: &[],
    },
];

impl Language {
    pub fn of(file: &Path) -> Option<Self> {
        file_names(file).map(|names| names.language)
    }
}

/// Whether a file holds tests or serves them, by its name alone.
pub(crate) fn has_test_name(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file_names(file).is_some_and(|names| {
        names.test_prefixes.iter().any(|start| stem.starts_with(start))
            || names.test_suffixes.iter().any(|end| stem.ends_with(end))
            || names.test_names.contains(&&*stem)
    })
}

fn file_names(file: &Path) -> Option<&'static FileNames> {
    let extension = file.extension()?.to_str()?;
    FILE_NAMES
        .iter()
        .find(|names| names.extensions.contains(&extension))
}
