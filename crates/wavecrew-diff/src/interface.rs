//! The interface diff of a file: added, removed and renamed functions, and changed parameters.

use std::path::{Path, PathBuf};

use serde::Serialize;
use wavecrew_syntax::{Signature, SymbolKind};

/// Shorter bodies may be equal by accident.
const LEAST_LINES: u32 = 2;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InterfaceChange {
    pub file: PathBuf,
    pub change: InterfaceChangeKind,
    pub name: String,
    /// The signature in the old version.
    pub before: Option<String>,
    /// The signature in the new version.
    pub after: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InterfaceChangeKind {
    Added,
    Removed,
    Renamed,
    /// The parameters changed.
    Signature,
}

impl InterfaceChangeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Renamed => "renamed",
            Self::Signature => "signature",
        }
    }

    /// Whether callers of the old version may fail.
    pub fn may_break_callers(self) -> bool {
        self != Self::Added
    }
}

/// The public changes between two versions of a file, in the order of the new version.
pub fn interface_changes(file: &Path, old: &[Signature], new: &[Signature]) -> Vec<InterfaceChange> {
    let (old, new) = (last_of_each_name(old), last_of_each_name(new));
    let mut found = Vec::new();
    let mut gone: Vec<&Signature> = old
        .iter()
        .filter(|one| one.public && !new.iter().any(|other| other.name == one.name))
        .copied()
        .collect();
    let change =
        |change, name: &str, before: Option<&Signature>, after: Option<&Signature>| InterfaceChange {
            file: file.to_owned(),
            change,
            name: name.to_owned(),
            before: before.map(shown),
            after: after.map(shown),
        };
    for one in new.iter().filter(|one| one.public) {
        if let Some(before) = old.iter().find(|other| other.name == one.name) {
            if before.parameters != one.parameters {
                found.push(change(
                    InterfaceChangeKind::Signature,
                    &one.name,
                    Some(before),
                    Some(one),
                ));
            }
            continue;
        }
        let renamed = gone.iter().position(|other| {
            let long_enough = one.lines.last - one.lines.first >= LEAST_LINES - 1;
            other.kind == one.kind && long_enough && other.fingerprint == one.fingerprint
        });
        match renamed {
            Some(at) => {
                let before = gone.remove(at);
                found.push(change(
                    InterfaceChangeKind::Renamed,
                    &before.name,
                    Some(before),
                    Some(one),
                ));
            }
            None => found.push(change(InterfaceChangeKind::Added, &one.name, None, Some(one))),
        }
    }
    found.extend(
        gone.into_iter()
            .map(|one| change(InterfaceChangeKind::Removed, &one.name, Some(one), None)),
    );
    found
}

/// A function that is defined several times, such as one with `@overload`, is what its last definition says.
fn last_of_each_name(all: &[Signature]) -> Vec<&Signature> {
    let is_last = |at: usize, one: &Signature| !all[at + 1..].iter().any(|later| later.name == one.name);
    let numbered = all.iter().enumerate();
    numbered
        .filter(|(at, one)| is_last(*at, one))
        .map(|(_, one)| one)
        .collect()
}

fn shown(signature: &Signature) -> String {
    match signature.kind {
        SymbolKind::Class => format!("class {}", signature.name),
        SymbolKind::Function | SymbolKind::Method => format!("{}{}", signature.name, signature.parameters),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavecrew_syntax::{Grammar, signatures};

    #[test]
    fn a_function_with_several_signatures_changes_once() {
        let text = "@overload\ndef one(a): ...\n\n\n@overload\ndef one(a, b): ...\n\n\ndef one(a, b=None):\n    return a\n";
        let known = signatures(Grammar::Python, text);
        assert_eq!(interface_changes(Path::new("m.py"), &known, &known), []);
        let changed = signatures(Grammar::Python, &text.replace("(a", "(x"));
        let found = interface_changes(Path::new("m.py"), &known, &changed);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].after.as_deref(), Some("one(x, b=None)"));
    }

    #[test]
    fn renamed_removed_added_and_changed_functions_are_told_apart() {
        let old = "def total(a, b):\n    return a + b * 2\n\n\ndef gone():\n    return 1\n\n\ndef cut(text, size):\n    return text[:size]\n\n\ndef _private(a):\n    pass\n";
        let new = "def sum_of(a, b):\n    return a + b * 2\n\n\ndef cut(text, size=10):\n    return text[:size]\n\n\ndef fresh():\n    return [1, 2]\n";
        let read = |source| signatures(Grammar::Python, source);
        let found: Vec<(&str, String)> = interface_changes(Path::new("m.py"), &read(old), &read(new))
            .into_iter()
            .map(|one| (one.change.as_str(), one.name))
            .collect();
        assert_eq!(
            found,
            [
                ("renamed", "total".to_owned()),
                ("signature", "cut".to_owned()),
                ("added", "fresh".to_owned()),
                ("removed", "gone".to_owned()),
            ]
        );
    }
}
