//! Whether the places that mounts were made for are still the same files and folders. A mount stays with the file that it was
//! made for: when that is replaced, the new one is not covered.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use wavecrew_process::sandbox::Confinement;

/// A file or folder, told apart from a later one that got its number. `None`: there was none.
type FileIdentity = Option<(u64, u64, SystemTime)>;

/// What the places of a confinement were at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity(Vec<FileIdentity>);

impl Identity {
    /// `None` if the file system does not tell a file from a later one.
    pub fn of(confinement: &Confinement) -> Option<Self> {
        let Confinement {
            write,
            protect,
            hide,
            show,
            ..
        } = confinement;
        let all = [write, protect, hide, show].into_iter().flatten();
        // Devices get no mounts.
        let all = all.filter(|path| !path.starts_with("/dev"));
        all.map(|path| place(path)).collect::<Option<Vec<_>>>().map(Self)
    }
}

fn place(path: &Path) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = fs::metadata(path) else {
        return Some(None);
    };
    Some(Some((found.dev(), found.ino(), found.created().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let confinement = Confinement {
            write: vec![path("file"), path("folder")],
            show: vec![path("missing")],
            ..Confinement::default()
        };
        fs::create_dir(path("folder")).unwrap();
        fs::write(path("file"), "a").unwrap();
        let identity = || Identity::of(&confinement).unwrap();
        let first = identity();
        fs::write(path("file"), "b").unwrap();
        fs::write(path("folder/more"), "c").unwrap();
        assert_eq!(first, identity(), "they are the same with other content");
        fs::write(path("next"), "b").unwrap();
        fs::rename(path("next"), path("file")).unwrap();
        let second = identity();
        assert_ne!(first, second);
        fs::remove_dir_all(path("folder")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        let third = identity();
        assert_ne!(second, third);
        fs::write(path("missing"), "").unwrap();
        assert_ne!(third, identity());
    }
}
