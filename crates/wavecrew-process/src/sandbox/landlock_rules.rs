//! The Landlock rules of a confinement.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, NetPort, PathBeneath, PathFd, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope,
};

use super::{Confinement, LandlockAbi, Network};

/// Rules that any number of threads can apply to themselves. Each gets a domain of its own: it can neither signal nor
/// inspect the processes of another.
#[derive(Debug)]
pub(crate) struct Ruleset(Option<RulesetCreated>);

impl Ruleset {
    pub fn new(confinement: &Confinement) -> io::Result<Self> {
        let LandlockAbi(number) = confinement.support.landlock;
        if number == 0 {
            return Ok(Self(None));
        }
        build(confinement, abi(number)).map(|rules| Self(Some(rules)))
    }

    /// Confines the calling thread and its descendants for ever.
    pub fn restrict_thread(&self) -> io::Result<()> {
        match &self.0 {
            Some(rules) => rules
                .try_clone()?
                .restrict_self()
                .map(drop)
                .map_err(io::Error::other),
            None => Ok(()),
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

fn build(confinement: &Confinement, abi: ABI) -> io::Result<RulesetCreated> {
    let failed = io::Error::other;
    let mut rules = landlock::Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .map_err(failed)?;
    if confinement.network != Network::Any && abi >= ABI::V4 {
        rules = rules.handle_access(AccessNet::from_all(abi)).map_err(failed)?;
    }
    if abi >= ABI::V6 {
        rules = rules.scope(Scope::from_all(abi)).map_err(failed)?;
    }
    let mut rules = rules.create().map_err(failed)?;
    // Names of files are not secret, and programs list folders all the time.
    rules = add(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    for path in &confinement.read {
        rules = add(rules, path, AccessFs::from_read(abi))?;
    }
    // No program needs new device files, and root could reach the disk through one.
    let write = AccessFs::from_all(abi) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
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
