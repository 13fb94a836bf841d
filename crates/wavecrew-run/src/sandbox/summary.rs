//! Describes for people what is enforced, and why nothing may start if that is not enough.

use wavecrew_process::sandbox::{LandlockAbi, Support};

use super::SandboxMode;

/// The oldest Landlock version that enforces the rules about files: earlier ones allow truncating files.
const REQUIRED: LandlockAbi = LandlockAbi(3);

pub(super) fn refusal(mode: SandboxMode, support: Support) -> Option<String> {
    let enough = support.landlock >= REQUIRED && support.mounts && support.seccomp;
    if mode != SandboxMode::Require || enough {
        return None;
    }
    let missing = support.missing().join(", ");
    Some(format!(
        "the settings require a sandbox, and this machine cannot confine: {missing}"
    ))
}

/// What is enforced, in one line.
pub fn summary(mode: SandboxMode, support: Support) -> String {
    if mode == SandboxMode::Off {
        return "off, as set; workers may do whatever you may".to_owned();
    }
    if !support.any() {
        return "none: this machine supports none; workers can do everything that you can".to_owned();
    }
    let LandlockAbi(abi) = support.landlock;
    let mut parts = Vec::new();
    if abi > 0 {
        parts.push(format!("files by role (Landlock {abi})"));
    }
    if support.mounts {
        parts.push("read-only mounts".to_owned());
    }
    if support.seccomp {
        parts.push("system calls".to_owned());
    }
    let missing = support.missing();
    let missing = if missing.is_empty() {
        String::new()
    } else {
        format!("; not: {}", missing.join(", "))
    };
    format!("{}{missing}", parts.join(", "))
}
