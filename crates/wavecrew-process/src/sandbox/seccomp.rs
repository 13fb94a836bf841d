//! The system calls that no worker needs, and with which it could leave its confinement or harm the machine.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

/// Refused with `EPERM`.
const REFUSED: &[c_long] = &[
    // Reading and changing other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Opens files by number, past every path.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    // Keys of the user.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// Refused as if the kernel did not have them: programs then use calls that the filter can inspect.
const UNKNOWN: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Flags of clone(2) that make namespaces.
const NAMESPACE_FLAGS: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWCGROUP,
];

/// Applies to the calling thread and everything that it starts. Also sets `no_new_privs`, so that setuid
/// programs gain no privileges.
pub(super) fn refuse_dangerous_calls() -> io::Result<()> {
    for program in [
        filter(REFUSED, libc::EPERM, true)?,
        filter(UNKNOWN, libc::ENOSYS, false)?,
    ] {
        apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

fn filter(calls: &[c_long], errno: libc::c_int, namespaces: bool) -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
        calls.iter().map(|call| (*call, Vec::new())).collect();
    if namespaces {
        let flags: Result<_, _> = NAMESPACE_FLAGS.into_iter().map(with_flag).collect();
        rules.insert(libc::SYS_clone, flags.map_err(io::Error::other)?);
        // Puts text into the terminal's input, as if the person typed it.
        rules.insert(libc::SYS_ioctl, vec![terminal_input().map_err(io::Error::other)?]);
    }
    let refused = SeccompAction::Errno(errno.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)
        .and_then(TryInto::try_into)
        .map_err(io::Error::other)
}

fn with_flag(flag: libc::c_int) -> Result<SeccompRule, seccompiler::BackendError> {
    let flag = u64::from(flag.cast_unsigned());
    let set = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?;
    SeccompRule::new(vec![set])
}

fn terminal_input() -> Result<SeccompRule, seccompiler::BackendError> {
    let call = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::TIOCSTI)?;
    SeccompRule::new(vec![call])
}
