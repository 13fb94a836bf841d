//! Paths in a request: those that a person named, and those that do not exist.

use std::path::{Path, PathBuf};

use wavecrew_measure::detect::project_of;

/// The paths of a request, relative to the project.
pub struct Named {
    pub paths: Vec<PathBuf>,
    /// Words that can only be paths, but do not exist.
    pub missing: Vec<String>,
}

impl Named {
    /// Arguments may be paths with spaces, and words of an argument may be paths.
    pub fn of(project: &Path, arguments: &[String]) -> Self {
        // `src` may be an ordinary word; if the request has only paths, it is a path.
        let only_paths = arguments
            .iter()
            .all(|argument| existing_path(project, argument).is_some());
        let words = arguments
            .iter()
            .flat_map(|argument| argument.split_whitespace())
            .map(bare);
        let whole = arguments.iter().map(|argument| argument.trim());
        let mut paths: Vec<PathBuf> = words
            .chain(whole)
            .filter(|word| only_paths || word.contains(['/', '.']))
            .filter_map(|word| existing_path(project, word))
            .collect();
        paths.sort();
        paths.dedup();
        // Among other words, `Node.js` is a word.
        let plain_names = arguments.iter().all(|argument| argument.contains(['/', '.']));
        let is_missing = |word: &&str| {
            (plain_names || word.contains('/'))
                && existing_path(project, word).is_none()
                && is_path(word, project)
        };
        let single = arguments.iter().map(|argument| argument.trim());
        let single = single.filter(|argument| !argument.contains(char::is_whitespace));
        let mut missing: Vec<String> = single.filter(is_missing).map(str::to_owned).collect();
        // If nothing else narrows the scope, a path in a sentence does.
        let words = arguments.iter().flat_map(|argument| argument.split_whitespace());
        let words = words
            .map(bare)
            .filter(|word| paths.is_empty() && word.contains('/'));
        missing.extend(words.filter(is_missing).map(str::to_owned));
        missing.sort();
        missing.dedup();
        Self { paths, missing }
    }
}

/// A word of a sentence, without surrounding punctuation.
fn bare(word: &str) -> &str {
    let quotes = ['"', '\'', '`', ',', ';', ':', '(', ')'];
    word.trim_start_matches(quotes)
        .trim_end_matches(|c| c == '.' || quotes.contains(&c))
}

/// The word as a path below the project, if it exists.
fn existing_path(project: &Path, word: &str) -> Option<PathBuf> {
    if word.is_empty() || word.contains("..") {
        return None;
    }
    let path: PathBuf = Path::new(word)
        .components()
        .filter(|part| part.as_os_str() != ".")
        .collect();
    let path = path.strip_prefix(project).unwrap_or(&path).to_owned();
    let is_below = path.is_relative() && !path.as_os_str().is_empty();
    (is_below && project.join(&path).exists()).then_some(path)
}

/// Whether a word can only be a path: a source file, or a name in an existing folder.
fn is_path(word: &str, project: &Path) -> bool {
    let path = Path::new(word);
    let is_source = path.extension().is_some() && project_of(&project.join(path), project).is_some();
    let in_folder = |(folder, _): (&str, &str)| {
        existing_path(project, folder).is_some_and(|folder| project.join(folder).is_dir())
    };
    is_source || word.starts_with("./") || word.split_once('/').is_some_and(in_folder)
}
