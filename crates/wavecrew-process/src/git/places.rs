//! The folders that git may change when it runs in a folder: the checkout and its repository.

use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn writable(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_checkout = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let checkout = folder.ancestors().find(is_checkout).unwrap_or(&folder);
    let mut places = vec![checkout.to_owned()];
    places.extend(repository(checkout));
    places
}

/// The repository of a worktree. A link that the repository does not confirm may be a worker's, and is not followed.
fn repository(worktree: &Path) -> Option<PathBuf> {
    let link = worktree.join(".git");
    if !link.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let own = worktree.join(fs::read_to_string(&link).ok()?.strip_prefix("gitdir:")?.trim());
    let back = fs::read_to_string(own.join("gitdir")).ok()?;
    if own.join(back.trim()).canonicalize().ok()? != link {
        return None;
    }
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    own.join(common.trim()).canonicalize().ok()
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
}
