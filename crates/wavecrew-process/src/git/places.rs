//! The folders that git may change when it runs in a folder: the checkout and its repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The project's checkout and the target of its `.git` link, as they were before any worker ran.
static TRUSTED: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();

/// Lets git change the repository that the project's `.git` names now, wherever it is. Only the first call
/// has an effect.
pub fn trust_repository(project: &Path) {
    let checkout = checkout(project);
    if let Some(repository) = linked(&checkout) {
        let _ = TRUSTED.set((checkout, repository));
    }
}

pub(super) fn writable(folder: &Path) -> Vec<PathBuf> {
    let checkout = checkout(folder);
    let repository = repository(&checkout);
    let mut places = vec![checkout];
    places.extend(repository);
    places
}

fn checkout(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_checkout = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let found = folder.ancestors().find(is_checkout);
    found.unwrap_or(&folder).to_owned()
}

/// Where a `.git` that is a file leads.
fn linked(checkout: &Path) -> Option<PathBuf> {
    let link = checkout.join(".git");
    if !link.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let text = fs::read_to_string(link).ok()?;
    checkout
        .join(text.strip_prefix("gitdir:")?.trim())
        .canonicalize()
        .ok()
}

/// The repository of a worktree or a submodule. A link is followed only if the repository points back: a
/// worker may have made it.
fn repository(checkout: &Path) -> Option<PathBuf> {
    let own = linked(checkout)?;
    let is_trusted = TRUSTED
        .get()
        .is_some_and(|(trusted, to)| trusted == checkout && *to == own);
    if !is_trusted && !confirms(&own, checkout) {
        return None;
    }
    match fs::read_to_string(own.join("commondir")) {
        Ok(common) => own.join(common.trim()).canonicalize().ok(),
        Err(_) => Some(own),
    }
}

/// Worktrees are named in a file of the repository, submodules in its settings.
fn confirms(repository: &Path, checkout: &Path) -> bool {
    let is_checkout = |named: &str| {
        let named = repository.join(named.trim()).canonicalize();
        named.is_ok_and(|named| named == checkout || named == checkout.join(".git"))
    };
    let text = |name: &str| fs::read_to_string(repository.join(name)).unwrap_or_default();
    let settings = text("config");
    let mut named = settings.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "worktree").then_some(value)
    });
    is_checkout(&text("gitdir")) || named.any(is_checkout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_has_its_repository_if_that_confirms_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (main, tree) = (root.join("main"), root.join("tree"));
        let own = main.join(".git/worktrees/tree");
        for folder in [&own, &main.join("src"), &tree.join("src")] {
            fs::create_dir_all(folder).unwrap();
        }
        let found = |folder: &Path| -> Vec<String> {
            let names = writable(folder);
            let below = |path: &PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
            names.iter().map(below).collect()
        };
        assert_eq!(found(&main.join("src")), ["main"]);
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        assert_eq!(found(&tree), ["tree"], "nothing points back");
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        assert_eq!(found(&tree.join("src")), ["tree", "main/.git"]);
        assert_eq!(found(&root), [""], "no repository");
    }

    #[test]
    fn a_submodule_has_its_repository_and_so_has_the_project() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (checkout, own) = (root.join("main/lib"), root.join("main/.git/modules/lib"));
        for folder in [&own, &checkout] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(checkout.join(".git"), "gitdir: ../.git/modules/lib\n").unwrap();
        let settings = own.join("config");
        fs::write(&settings, "[core]\n\tworktree = ../../../other\n").unwrap();
        assert_eq!(writable(&checkout).len(), 1, "of another checkout");
        fs::write(&settings, "[core]\n\tworktree = ../../../lib\n").unwrap();
        assert_eq!(writable(&checkout), [checkout.clone(), own.clone()]);
        fs::write(&settings, "").unwrap();
        assert_eq!(writable(&checkout).len(), 1, "nothing points back");
        trust_repository(&checkout);
        assert_eq!(writable(&checkout), [checkout, own]);
    }
}
