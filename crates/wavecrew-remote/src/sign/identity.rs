//! The identity of a person: a key pair in a file that only they can read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nkeys::KeyPair;

/// Created once per person; `wavecrew worker --trust` accepts its public key.
pub struct Identity(KeyPair);

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Identity").field(&self.public_key()).finish()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot {what} the identity `{}`: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("`{}` is not an identity: {reason}", path.display())]
    NotAKey { path: PathBuf, reason: String },
    #[error("others can read the identity `{}`: anyone who has it can run programs on the hosts that trust it", .0.display())]
    NotPrivate(PathBuf),
}

impl Identity {
    /// Only for this process and for tests.
    pub fn generate() -> Self {
        Self(KeyPair::new_user())
    }

    /// Where the identity is: `$XDG_CONFIG_HOME/wavecrew/identity.nk` or `~/.config/wavecrew/identity.nk`.
    pub fn default_path(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
        let folder = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let config = folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")))?;
        Some(config.join("wavecrew/identity.nk"))
    }

    /// Reads the file, or creates it.
    pub fn load_or_create(path: &Path) -> Result<Self, IdentityError> {
        loop {
            match Self::load(path) {
                Err(IdentityError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                found => return found,
            }
            match Self::create(path) {
                // Another process created it first.
                Err(IdentityError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
    }

    pub fn load(path: &Path) -> Result<Self, IdentityError> {
        let failed = |source| IdentityError::Io {
            what: "read",
            path: path.to_owned(),
            source,
        };
        let seed = fs::read_to_string(path).map_err(failed)?;
        if fs::metadata(path).map_err(failed)?.mode() & 0o077 != 0 {
            return Err(IdentityError::NotPrivate(path.to_owned()));
        }
        let pair = KeyPair::from_seed(seed.trim()).map_err(|error| IdentityError::NotAKey {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self(pair))
    }

    fn create(path: &Path) -> Result<Self, IdentityError> {
        let failed = |source| IdentityError::Io {
            what: "write",
            path: path.to_owned(),
            source,
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(failed)?;
        let pair = KeyPair::new_user();
        let seed = pair.seed().expect("it was just made");
        // The file is linked into place when it is complete, so a reader never finds half a key.
        let unfinished = folder.join(format!(".identity-{}", std::process::id()));
        let _ = fs::remove_file(&unfinished);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)
            .map_err(failed)?;
        let written = writeln!(file, "{seed}").and_then(|()| file.sync_all());
        // Unlike a rename, this fails if the file exists.
        let made = written.and_then(|()| fs::hard_link(&unfinished, path));
        let _ = fs::remove_file(&unfinished);
        made.map_err(failed)?;
        Ok(Self(pair))
    }

    /// The public key, which hosts trust. Not secret.
    pub fn public_key(&self) -> String {
        self.0.public_key()
    }

    pub(super) fn pair(&self) -> &KeyPair {
        &self.0
    }
}
