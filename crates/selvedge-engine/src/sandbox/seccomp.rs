//! System calls that no build needs and that circumvent sandboxes of files: they fail with EPERM. Namespaces and
//! mounts are not among them, so that a program can create sandboxes of its own inside.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Calls that affect the whole kernel, or access files and keys without a path.
const BLOCKED_SYSCALLS: &[libc::c_long] = &[
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Inserts characters into a terminal that another process reads.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// Blocks these calls for this process and its future children. If `sockets` are blocked too, only those between
/// processes of one machine are allowed.
pub(super) fn install_filter(sockets: bool) -> io::Result<()> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BLOCKED_SYSCALLS
        .iter()
        .map(|call| (*call, Vec::new()))
        .collect();
    let ioctl = [TIOCSTI, TIOCLINUX].map(|request| argument_rule(1, SeccompCmpOp::Eq, request));
    rules.insert(
        libc::SYS_ioctl,
        ioctl.into_iter().collect::<io::Result<_>>()?,
    );
    if sockets {
        let local = u64::try_from(libc::AF_UNIX).unwrap_or_default();
        rules.insert(
            libc::SYS_socket,
            vec![argument_rule(0, SeccompCmpOp::Ne, local)?],
        );
        // It would open sockets without that call.
        rules.insert(libc::SYS_io_uring_setup, Vec::new());
    }
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refusal = u32::try_from(libc::EPERM).unwrap_or(1);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(refusal),
        architecture,
    );
    let program: BpfProgram = filter
        .and_then(TryInto::try_into)
        .map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

fn argument_rule(argument: u8, is: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value);
    condition
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(io::Error::other)
}
