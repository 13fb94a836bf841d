//! Places on every machine that all confinements treat alike: devices, credentials, sockets of services,
//! caches of tools.

use std::fs;
use std::path::{Path, PathBuf};

/// Devices that every program may use, and memory that processes of one worker share.
pub const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Credentials below the home folder. No worker reads them.
const CREDENTIALS: [&str; 21] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".pypirc",
    ".git-credentials",
    ".password-store",
    ".vault-token",
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh",
    ".config/gcloud",
    ".config/git/credentials",
    ".config/hub",
    ".config/op",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".mozilla",
];

/// Credentials of the machine, which only root can read.
const MACHINE_CREDENTIALS: [&str; 5] = [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/ssl/private",
];

/// Sockets of services that act on request, outside any confinement.
const SERVICES: [&str; 8] = [
    "/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/dbus",
    "/run/user",
    "/run/systemd/private",
    "/run/systemd/io.systemd.Manager",
    "/run/crio",
];

/// Caches of package managers and compilers below the home folder. Builds and tests do not work without them.
const TOOL_CACHES: [&str; 15] = [
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".npm/_cacache",
    ".npm/_logs",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".cache/yarn",
    ".cache/pnpm",
    "go/pkg/mod",
    ".gradle/caches",
    ".m2/repository",
];

/// Where these caches are.
pub fn tool_caches(home: &Path) -> impl Iterator<Item = PathBuf> {
    TOOL_CACHES.iter().map(|cache| home.join(cache))
}

/// Places that no worker may read: credentials below the home folder, and of the machine.
pub fn credentials(home: &Path) -> Vec<PathBuf> {
    let own = CREDENTIALS.iter().map(|name| home.join(name));
    let machine = MACHINE_CREDENTIALS.iter().map(PathBuf::from);
    own.chain(machine).collect()
}

/// Sockets to hide.
pub fn services() -> Vec<PathBuf> {
    SERVICES.map(PathBuf::from).to_vec()
}

/// The fewest places that cover everything below `root` except `denied`. `list` returns the entries of a folder.
pub fn all_but(root: &Path, denied: &[PathBuf], list: &impl Fn(&Path) -> Vec<PathBuf>) -> Vec<PathBuf> {
    if denied.iter().any(|path| root.starts_with(path)) {
        return Vec::new();
    }
    let inside: Vec<PathBuf> = denied
        .iter()
        .filter(|path| path.starts_with(root))
        .cloned()
        .collect();
    if inside.is_empty() {
        return vec![root.to_owned()];
    }
    let entries = list(root).into_iter();
    entries.flat_map(|entry| all_but(&entry, &inside, list)).collect()
}

/// The entries of a folder without links: what they lead to has a place of its own. Unfinished files come and go.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let kept = found.filter(|entry| {
        let name = entry.file_name();
        let unfinished = name.to_string_lossy().starts_with(".tmp-") || name == ".tasks.part";
        !unfinished && entry.file_type().is_ok_and(|kind| !kind.is_symlink())
    });
    // Paths must be valid text, because confinements are passed on as text.
    let mut paths: Vec<PathBuf> = kept
        .map(|entry| entry.path())
        .filter(|path| path.to_str().is_some())
        .collect();
    paths.sort_unstable();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_denied_places_is_covered() {
        let list = |folder: &Path| {
            let names: &[&str] = match folder.to_str().unwrap() {
                "/" => &["usr", "home"],
                "/home" => &["me"],
                "/home/me" => &[".ssh", ".config", "work"],
                "/home/me/.config" => &["gh", "editor"],
                other => panic!("{other} needs no listing"),
            };
            names.iter().map(|name| folder.join(name)).collect()
        };
        let denied = ["/home/me/.ssh", "/home/me/.config/gh"].map(PathBuf::from);
        let wanted = ["/usr", "/home/me/.config/editor", "/home/me/work"].map(PathBuf::from);
        assert_eq!(all_but(Path::new("/"), &denied, &list), wanted);
        assert_eq!(all_but(Path::new("/"), &[], &list), [PathBuf::from("/")]);
    }
}
