//! The Landlock rules of a confinement.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, NetPort, PathBeneath, PathFd, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope,
};

use super::{Confinement, LandlockAbi, Network};

/// Rules that any number of threads can apply to themselves. Each gets a domain of its own: it can neither signal nor
/// inspect the processes of another.
#[derive(Debug)]
pub(crate) struct Ruleset {
    /// The rules for reading that other confinements have too.
    reading: Option<Arc<RulesetCreated>>,
    own: Option<RulesetCreated>,
}

impl Ruleset {
    pub fn new(confinement: &Confinement) -> io::Result<Self> {
        let LandlockAbi(number) = confinement.support.landlock;
        if number == 0 {
            return Ok(Self {
                reading: None,
                own: None,
            });
        }
        let abi = abi(number);
        // With mounts, a path may lead to another file than outside of them.
        let reading = (!confinement.support.mounts)
            .then(|| shared_reading(confinement, abi))
            .transpose()?;
        let handled = match reading {
            Some(_) => AccessFs::from_write(abi),
            None => AccessFs::from_all(abi),
        };
        let own = build(confinement, abi, handled)?;
        Ok(Self {
            reading,
            own: Some(own),
        })
    }

    /// Confines the calling thread and its descendants for ever.
    pub fn restrict_thread(&self) -> io::Result<()> {
        for rules in self.reading.as_deref().into_iter().chain(&self.own) {
            rules.try_clone()?.restrict_self().map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// The rules for reading, which are hundreds: those of the last confinement, if its places were the same files. Every git
/// command has the same ones.
fn shared_reading(confinement: &Confinement, abi: ABI) -> io::Result<Arc<RulesetCreated>> {
    static LAST: Mutex<Option<(Vec<FileOf>, Arc<RulesetCreated>)>> = Mutex::new(None);
    let write = confinement.write.iter();
    let places = confinement.read.iter().chain(write.filter(|path| {
        let is_read = |place: &PathBuf| path.starts_with(place);
        !confinement.read.iter().any(is_read)
    }));
    let files: Vec<FileOf> = places.map(|path| FileOf::new(path)).collect();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, rules)) = &*last
        && *known == files
    {
        return Ok(Arc::clone(rules));
    }
    let own = Confinement {
        read: files.iter().map(|file| file.path.clone()).collect(),
        ..Confinement::default()
    };
    let moves = AccessFs::from_all(abi) & AccessFs::Refer;
    let rules = Arc::new(build(&own, abi, AccessFs::from_read(abi) | moves)?);
    *last = Some((files, Arc::clone(&rules)));
    Ok(rules)
}

/// A place, and which file it is: a rule is for the file.
#[derive(PartialEq, Eq)]
struct FileOf {
    path: PathBuf,
    file: Option<(u64, u64)>,
}

impl FileOf {
    fn new(path: &Path) -> Self {
        let file = path.metadata().ok();
        Self {
            path: path.to_owned(),
            file: file.map(|file| (file.dev(), file.ino())),
        }
    }
}

/// The version of Landlock of this number, or the newest that the rules below know.
fn abi(number: u32) -> ABI {
    match number {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    }
}

/// Rules that refuse the `handled` ways to use files, except in the confinement's places.
fn build(confinement: &Confinement, abi: ABI, handled: BitFlags<AccessFs>) -> io::Result<RulesetCreated> {
    let failed = io::Error::other;
    let mut rules = landlock::Ruleset::default()
        .handle_access(handled)
        .map_err(failed)?;
    if confinement.network != Network::Any && abi >= ABI::V4 {
        rules = rules.handle_access(AccessNet::from_all(abi)).map_err(failed)?;
    }
    if abi >= ABI::V6 {
        rules = rules.scope(Scope::from_all(abi)).map_err(failed)?;
    }
    let mut rules = rules.create().map_err(failed)?;
    // Names of files are not secret, and programs list folders all the time.
    if handled.contains(AccessFs::ReadDir) {
        let mut everywhere: BitFlags<AccessFs> = AccessFs::ReadDir.into();
        if !handled.contains(AccessFs::WriteFile) {
            // Each set of rules has to allow moves between folders, also one that is for reading.
            everywhere |= handled & AccessFs::Refer;
        }
        rules = add(rules, Path::new("/"), everywhere)?;
        for path in &confinement.read {
            rules = add(rules, path, AccessFs::from_read(abi))?;
        }
    }
    // No program needs new device files, and root could reach the disk through one.
    let write = handled & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    for path in &confinement.write {
        rules = add(rules, path, write)?;
    }
    if let Network::Ports(ports) = &confinement.network
        && abi >= ABI::V4
    {
        for port in ports {
            rules = rules
                .add_rule(NetPort::new(*port, AccessNet::ConnectTcp))
                .map_err(failed)?;
        }
    }
    Ok(rules)
}

/// A path that does not exist, or no longer exists, needs no rule.
fn add(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> io::Result<RulesetCreated> {
    match PathFd::new(path) {
        Ok(fd) => rules
            .add_rule(PathBeneath::new(fd, access))
            .map_err(io::Error::other),
        Err(_) => Ok(rules),
    }
}
