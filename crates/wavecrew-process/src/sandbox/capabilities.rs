//! Drops capabilities of root. For some calls the kernel checks a capability instead of the confinement: with
//! `SYS_ADMIN` or `PERFMON` a process reads the memory and environment of every other one, whatever Landlock
//! says.

use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// Capabilities that programs of root may need for files and networks stay, such as changing owners and
/// binding ports.
const GIVEN_UP: [CapabilitySet; 22] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::PERFMON,
    CapabilitySet::BPF,
    CapabilitySet::CHECKPOINT_RESTORE,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::SYS_TIME,
    CapabilitySet::SYS_CHROOT,
    CapabilitySet::SYS_TTY_CONFIG,
    CapabilitySet::SYS_PACCT,
    CapabilitySet::SYSLOG,
    CapabilitySet::MKNOD,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_RAW,
    CapabilitySet::AUDIT_CONTROL,
    CapabilitySet::AUDIT_READ,
    CapabilitySet::MAC_ADMIN,
    CapabilitySet::MAC_OVERRIDE,
    CapabilitySet::LINUX_IMMUTABLE,
];

/// Takes them away from every program that this thread and its descendants start.
pub(super) fn give_up() {
    for capability in GIVEN_UP {
        // Fails for a user who has no capabilities.
        let _ = remove_capability_from_bounding_set(capability);
    }
}
