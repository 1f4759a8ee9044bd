//! System calls that no build needs and that circumvent sandboxes of files: they fail with EPERM. Namespaces and
//! mounts are not among them, so that a program can create sandboxes of its own inside.
//!
//! A filter sees numbers, but neither paths nor files. So it cannot refuse `chmod` only outside of the writable paths;
//! Landlock cannot either.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use selvedge_core::model::SandboxBackend;

use super::plan::SandboxPlan;

/// Calls that affect the whole kernel, or access files and keys without a path.
const BLOCKED_SYSCALLS: &[libc::c_long] = &[
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    SYS_KEXEC_FILE_LOAD,
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
    libc::SYS_userfaultfd,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// The constant is missing for musl on arm64.
const SYS_KEXEC_FILE_LOAD: libc::c_long = if cfg!(target_arch = "x86_64") {
    320
} else {
    294
};

/// Delays every program that opens the file, outside too, for up to 45 seconds.
const F_SETLEASE: u64 = 1_024;

/// Inserts characters into a terminal that another process reads.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// Changes attributes of files that need not be writable, such as whether they are compressed.
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;

/// Snapshots of a folder of btrfs in another one: copies of files that are hidden.
const BTRFS_IOC_SNAP_CREATE: u64 = 0x5000_9401;
const BTRFS_IOC_SNAP_CREATE_V2: u64 = 0x5000_9417;

/// Calls that change extended and other attributes, which Landlock does not restrict. The last three have the same number
/// on all architectures.
const ATTRIBUTE_SYSCALLS: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_FILE_SETATTR: libc::c_long = 469;

/// Shared memory, semaphores and message queues by number or by name, which have no path.
const IPC_SYSCALLS: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Sockets that a program may create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SocketAccess {
    Any,
    /// Address families that a network namespace isolates. Others, such as vsock to the host of a virtual machine,
    /// reach outside of it.
    OwnNamespace,
    /// Those between processes of this machine.
    Local,
}

impl SocketAccess {
    fn of(plan: &SandboxPlan) -> Self {
        let has_own_namespace = plan.backend != SandboxBackend::Landlock;
        match (plan.network, has_own_namespace) {
            (true, _) => Self::Any,
            (false, true) => Self::OwnNamespace,
            (false, false) => Self::Local,
        }
    }

    /// The permitted address families; `None` if all of them are.
    fn families(self) -> Option<&'static [libc::c_int]> {
        match self {
            Self::Any => None,
            Self::OwnNamespace => Some(&[
                libc::AF_UNIX,
                libc::AF_INET,
                libc::AF_INET6,
                libc::AF_NETLINK,
                libc::AF_PACKET,
            ]),
            Self::Local => Some(&[libc::AF_UNIX]),
        }
    }
}

/// Blocks the calls that a plan's sandbox must not allow, for this process and its future children.
pub(super) fn install_filter(plan: &SandboxPlan) -> io::Result<()> {
    let block = |calls: &[libc::c_long]| -> Rules {
        calls.iter().map(|call| (*call, Vec::new())).collect()
    };
    let mut rules = block(BLOCKED_SYSCALLS);
    let mut requests = vec![TIOCSTI, TIOCLINUX];
    // Limits of another process, such as CPU time, after which the kernel ends it.
    let is_other = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    let is_change = condition(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    let limits = SeccompRule::new(vec![is_other, is_change]).map_err(io::Error::other)?;
    rules.insert(libc::SYS_prlimit64, vec![limits]);
    let lease = argument_rule(1, SeccompCmpOp::Eq, F_SETLEASE)?;
    rules.insert(libc::SYS_fcntl, vec![lease]);
    if plan.backend == SandboxBackend::Landlock {
        requests.extend([FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR]);
        requests.extend([BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_CREATE_V2]);
        // It performs other calls without a filter.
        rules.insert(libc::SYS_io_uring_setup, Vec::new());
        if plan.strict {
            rules.append(&mut block(IPC_SYSCALLS));
        }
        // Programs that copy attributes expect file systems without any, but not a refusal.
        apply(block(ATTRIBUTE_SYSCALLS), libc::EOPNOTSUPP)?;
    }
    if let Some(families) = SocketAccess::of(plan).families() {
        let others = families.iter().map(|family| {
            let family = u64::try_from(*family).unwrap_or_default();
            condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
        });
        let others = others.collect::<io::Result<Vec<_>>>()?;
        let others = SeccompRule::new(others).map_err(io::Error::other)?;
        rules.insert(libc::SYS_socket, vec![others]);
        // It would open sockets without that call.
        rules.insert(libc::SYS_io_uring_setup, Vec::new());
    } else {
        // Programs on the host of a virtual machine do not expect connections of builds.
        let family = u64::try_from(libc::AF_VSOCK).unwrap_or_default();
        let host = argument_rule(0, SeccompCmpOp::Eq, family)?;
        rules.insert(libc::SYS_socket, vec![host]);
    }
    let requests = requests.into_iter();
    let requests = requests.map(|request| argument_rule(1, SeccompCmpOp::Eq, request));
    rules.insert(libc::SYS_ioctl, requests.collect::<io::Result<_>>()?);
    #[cfg(target_arch = "x86_64")]
    apply_filter(&x32_filter()).map_err(io::Error::other)?;
    apply(rules, libc::EPERM)
}

/// Refuses the calls of the x32 interface, which have the same architecture but other numbers, where the kernel has it.
#[cfg(target_arch = "x86_64")]
fn x32_filter() -> BpfProgram {
    const X32_BIT: u32 = 0x4000_0000;
    let statement = |code: u32, jt, jf, k| seccompiler::sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    let refusal = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::ENOSYS).unwrap_or(1);
    vec![
        // The number of the call is the first field.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, refusal),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Makes these calls fail with an error number.
fn apply(rules: Rules, refusal: libc::c_int) -> io::Result<()> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refusal = u32::try_from(refusal).unwrap_or(1);
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
    let condition = condition(argument, SeccompCmpArgLen::Dword, is, value)?;
    SeccompRule::new(vec![condition]).map_err(io::Error::other)
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    is: SeccompCmpOp,
    value: u64,
) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, length, is, value).map_err(io::Error::other)
}
