//! Attacks of one process on another: tracing it, reading and writing its memory, taking its file
//! descriptors and writing to them.

use std::fs::{self, OpenOptions};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::sys::wait::waitpid;
use nix::unistd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// The number of file descriptors that are tried.
const MAX_DESCRIPTOR: i32 = 64;

/// An address that no process has mapped.
const UNMAPPED_ADDRESS: usize = 0x1000;

/// Attacks the process `target` by every means and returns the means that succeeded. Writes `forged` to
/// each descriptor that can be taken, if it is a socket.
pub fn attack_process(target: i32, forged: &[u8]) -> Vec<String> {
    let mut succeeded = Vec::new();
    let mut note = |succeeds: bool, means: &str| {
        if succeeds {
            succeeded.push(means.to_owned());
        }
    };
    let process = format!("/proc/{target}");
    note(can_trace(target), "ptrace");
    note(
        can_access_memory(target, MemoryAccess::Read),
        "process_vm_readv",
    );
    note(
        can_access_memory(target, MemoryAccess::Write),
        "process_vm_writev",
    );
    let written = OpenOptions::new()
        .write(true)
        .open(format!("{process}/mem"));
    note(written.is_ok(), "mem (write)");
    note(fs::File::open(format!("{process}/mem")).is_ok(), "mem");
    for file in ["environ", "auxv"] {
        let mut bytes = Vec::new();
        let opened = fs::File::open(format!("{process}/{file}"));
        let read = opened.and_then(|mut file| file.read_to_end(&mut bytes));
        note(read.is_ok(), file);
    }
    let links = (0..MAX_DESCRIPTOR).any(|fd| fs::read_link(format!("{process}/fd/{fd}")).is_ok());
    note(links, "fd");
    let taken = take_descriptors(target);
    note(!taken.is_empty(), "pidfd_getfd");
    for descriptor in taken {
        // The write fails if the descriptor is not a socket.
        let _ = UnixStream::from(descriptor).write_all(forged);
    }
    succeeded
}

fn can_trace(target: i32) -> bool {
    let target = unistd::Pid::from_raw(target);
    let attached = ptrace::attach(target).is_ok();
    if attached {
        let _ = waitpid(target, None);
        let _ = ptrace::detach(target, None);
    }
    attached
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MemoryAccess {
    Read,
    Write,
}

/// Whether the memory can be accessed. The kernel checks permissions before it checks the address, so
/// `EFAULT` means that access is permitted.
fn can_access_memory(target: i32, access: MemoryAccess) -> bool {
    let target = unistd::Pid::from_raw(target);
    let mut bytes = [0];
    let there = [RemoteIoVec {
        base: UNMAPPED_ADDRESS,
        len: bytes.len(),
    }];
    let done = match access {
        MemoryAccess::Read => process_vm_readv(target, &mut [IoSliceMut::new(&mut bytes)], &there),
        MemoryAccess::Write => process_vm_writev(target, &[IoSlice::new(&bytes)], &there),
    };
    matches!(done, Ok(_) | Err(nix::errno::Errno::EFAULT))
}

fn take_descriptors(target: i32) -> Vec<OwnedFd> {
    let opened = Pid::from_raw(target)
        .ok_or(Errno::SRCH)
        .and_then(|target| pidfd_open(target, PidfdFlags::empty()));
    let Ok(opened) = opened else {
        return Vec::new();
    };
    (0..MAX_DESCRIPTOR)
        .filter_map(|fd| pidfd_getfd(&opened, fd, PidfdGetfdFlags::empty()).ok())
        .collect()
}
