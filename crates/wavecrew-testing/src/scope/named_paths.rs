//! Paths in a request: what a person named, and what is not there.

use std::path::{Path, PathBuf};

use wavecrew_measure::detect::project_of;

/// The paths of a request, relative to the project.
pub struct Named {
    pub paths: Vec<PathBuf>,
    /// Words that look like paths of source and are not there.
    pub missing: Vec<String>,
}

impl Named {
    /// Arguments may be paths with spaces, and words of an argument may be paths.
    pub fn of(project: &Path, arguments: &[String]) -> Self {
        // `src` may be meant as a word; when nothing but paths was given, it is one.
        let only_paths = arguments
            .iter()
            .all(|argument| there(project, argument).is_some());
        let words = arguments
            .iter()
            .flat_map(|argument| argument.split_whitespace())
            .map(bare);
        let whole = arguments.iter().map(|argument| argument.trim());
        let mut paths: Vec<PathBuf> = words
            .chain(whole)
            .filter(|word| only_paths || word.contains(['/', '.']))
            .filter_map(|word| there(project, word))
            .collect();
        paths.sort();
        paths.dedup();
        let missing = arguments.iter().map(|argument| argument.trim());
        let missing =
            missing.filter(|word| !word.contains(char::is_whitespace) && is_of_source(word, project));
        let missing = missing
            .filter(|word| there(project, word).is_none())
            .map(str::to_owned);
        Self {
            missing: missing.collect(),
            paths,
        }
    }
}

/// A word of a sentence without what surrounds it.
fn bare(word: &str) -> &str {
    let quotes = ['"', '\'', '`', ',', ';', ':', '(', ')'];
    word.trim_start_matches(quotes)
        .trim_end_matches(|c| c == '.' || quotes.contains(&c))
}

/// The word as a path below the project, if there is something.
fn there(project: &Path, word: &str) -> Option<PathBuf> {
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

fn is_of_source(word: &str, project: &Path) -> bool {
    let path = Path::new(word);
    path.extension().is_some() && project_of(&project.join(path), project).is_some()
}
