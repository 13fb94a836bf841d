//! Lists the files of a folder that are sent. In a repository, files that git ignores are not sent, tracked
//! or not.

use super::{Entry, HashCache, Snapshot};
use ignore::WalkBuilder;
use ignore::gitignore::GitignoreBuilder;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the name of {} is not text, so it cannot be sent to a host", path.display())]
    Name { path: PathBuf },
}

/// Which files of a folder are sent.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Whether to skip files that git ignores.
    pub follow_gitignore: bool,
    /// Paths relative to the folder that are not sent, with everything below them.
    pub without: Vec<PathBuf>,
    /// Patterns of ignored files that are sent all the same.
    pub include: Vec<String>,
    /// Single files that are always sent.
    pub also: Vec<PathBuf>,
}

/// A snapshot, and where its files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    pub snapshot: Snapshot,
    pub bytes: u64,
}

/// Reads a folder. A missing folder counts as empty.
pub fn scan(root: &Path, selection: &Selection, hashes: &mut HashCache) -> Result<Scanned, ScanError> {
    let mut found = Scanned::default();
    if !root.is_dir() {
        return Ok(found);
    }
    for file in &selection.also {
        add(root, &root.join(file), hashes, &mut found)?;
    }
    let without: Vec<PathBuf> = selection.without.iter().map(|path| root.join(path)).collect();
    let included = included(root, &selection.include);
    for ignored in [false, true] {
        // The second pass finds ignored files that the patterns name.
        let Some(included) = included.as_ref().or((!ignored).then_some(&None)) else {
            break;
        };
        let without = without.clone();
        let mut walk = WalkBuilder::new(root);
        walk.standard_filters(false)
            .hidden(false)
            .git_ignore(selection.follow_gitignore && !ignored)
            .git_exclude(selection.follow_gitignore && !ignored)
            .require_git(false)
            .parents(false)
            .follow_links(false)
            .filter_entry(move |entry| {
                entry.file_name() != ".git" && !without.iter().any(|path| path == entry.path())
            });
        for entry in walk.build() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => match error.into_io_error() {
                    // Removed in the meantime, or not readable: a local worker could not read it either.
                    Some(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                        ) =>
                    {
                        continue;
                    }
                    Some(source) => {
                        return Err(ScanError::Read {
                            path: root.to_owned(),
                            source,
                        });
                    }
                    None => continue,
                },
            };
            if entry.depth() == 0 {
                continue;
            }
            if ignored {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let wanted = included.as_ref().is_some_and(|patterns| {
                    patterns
                        .matched_path_or_any_parents(entry.path(), is_folder)
                        .is_ignore()
                });
                if !wanted {
                    continue;
                }
            }
            add(root, entry.path(), hashes, &mut found)?;
        }
    }
    Ok(found)
}

/// Adds one file to what was read of a folder.
pub fn scan_file(
    root: &Path,
    file: &Path,
    hashes: &mut HashCache,
    found: &mut Scanned,
) -> Result<(), ScanError> {
    add(root, &root.join(file), hashes, found)
}

/// The patterns of files that are sent although git ignores them; `None` if there are none.
#[expect(clippy::option_option, reason = "no second pass, or one with patterns")]
fn included(root: &Path, patterns: &[String]) -> Option<Option<ignore::gitignore::Gitignore>> {
    if patterns.is_empty() {
        return None;
    }
    let mut builder = GitignoreBuilder::new(root);
    for pattern in patterns {
        let _ = builder.add_line(None, pattern);
    }
    Some(builder.build().ok())
}

fn add(root: &Path, path: &Path, hashes: &mut HashCache, found: &mut Scanned) -> Result<(), ScanError> {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let Some(name) = relative.to_str() else {
        return Err(ScanError::Name {
            path: path.to_owned(),
        });
    };
    match entry_of(path, hashes) {
        Ok(Some(entry)) => {
            if let Entry::File { size, .. } = &entry {
                found.bytes += size;
            }
            add_parents(name, &mut found.snapshot.0);
            found.snapshot.0.insert(name.to_owned(), entry);
            Ok(())
        }
        // A pipe, a socket or a device; or removed in the meantime; or not readable.
        Ok(None) => Ok(()),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        Err(source) => Err(ScanError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

fn add_parents(name: &str, entries: &mut BTreeMap<String, Entry>) {
    let mut rest = name;
    while let Some((folder, _)) = rest.rsplit_once('/') {
        entries.entry(folder.to_owned()).or_insert(Entry::Folder);
        rest = folder;
    }
}

/// What the path refers to now.
pub(super) fn entry_of(path: &Path, hashes: &mut HashCache) -> io::Result<Option<Entry>> {
    let found = path.symlink_metadata()?;
    Ok(if found.is_dir() {
        Some(Entry::Folder)
    } else if found.is_symlink() {
        let to = std::fs::read_link(path)?;
        to.to_str().map(|to| Entry::Link { to: to.to_owned() })
    } else if found.is_file() {
        Some(Entry::File {
            id: hashes.id(path, &found)?,
            executable: found.permissions().mode() & 0o100 != 0,
            size: found.len(),
        })
    } else {
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(root: &Path, selection: &Selection) -> Vec<String> {
        let scanned = scan(root, selection, &mut HashCache::default()).unwrap();
        scanned.snapshot.0.into_keys().collect()
    }

    #[test]
    fn ignored_files_stay_behind_unless_they_are_wanted() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for folder in ["target", "src", ".git", "node_modules/x", "skipped"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (path, text) in [
            (".gitignore", "target\nnode_modules\n"),
            ("target/out", "o"),
            ("src/a.rs", "a"),
            (".git/HEAD", "ref"),
            ("node_modules/x/i.js", "i"),
            ("skipped/f", "f"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        let mut selection = Selection {
            follow_gitignore: true,
            without: vec!["skipped".into()],
            ..Selection::default()
        };
        assert_eq!(names(root, &selection), [".gitignore", "src", "src/a.rs"]);
        selection.include.push("node_modules".into());
        let with = names(root, &selection);
        assert!(with.contains(&"node_modules/x/i.js".to_owned()), "{with:?}");
        assert!(!with.iter().any(|name| name.starts_with("target")), "{with:?}");
        selection.follow_gitignore = false;
        assert!(names(root, &selection).contains(&"target/out".to_owned()));
    }
}
