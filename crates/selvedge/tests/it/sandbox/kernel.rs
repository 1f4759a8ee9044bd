//! Attempts to bypass the sandbox by means of the kernel.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::fixture::SandboxFixture;
use super::on_all_profiles;

fn signal_does_not_reach_outside_processes(fixture: &SandboxFixture) {
    let mut stranger = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let pid = stranger.id();
    fixture.check_output(&format!(
        "kill -9 {pid}; kill {pid}; pkill -9 -x sleep; true"
    ));
    assert!(stranger.try_wait().unwrap().is_none(), "it was ended");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// The session's supervisor cannot be ended from inside: the check's own end is reported.
fn signal_does_not_end_the_supervisor(fixture: &SandboxFixture) {
    let report = fixture.verify(
        "kill -9 $PPID; kill -9 1; pkill -9 selvedge; kill -9 -1 & sleep 0.1; exit 0",
        &[],
    );
    assert!(
        report["checks"][0]["reason"] != "its supervisor was lost",
        "{report}"
    );
    assert_eq!(fixture.env.processes(), []);
}

/// A limit of processor time would end the supervisor.
fn limits_of_other_processes_cannot_be_changed(fixture: &SandboxFixture) {
    let mut stranger = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let limits = format!("/proc/{}/limits", stranger.id());
    let before = std::fs::read_to_string(&limits).unwrap();
    let output = fixture.check_output(&format!(
        "python3 - $PPID {} <<'END'
import resource, sys
for pid in sys.argv[1:]:
    try:
        resource.prlimit(int(pid), resource.RLIMIT_CPU, (1, 1))
        print('changed', pid)
    except OSError as error:
        print('refused', error.errno)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print('own limits')
END",
        stranger.id()
    ));
    assert!(!output.contains("changed"), "{output}");
    assert!(output.contains("own limits"), "{output}");
    assert_eq!(std::fs::read_to_string(&limits).unwrap(), before);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// A lease delays every program that opens the file; a socket of this family leads to the host of a virtual machine.
fn calls_that_no_build_needs_are_refused(fixture: &SandboxFixture) {
    fixture.write_home_file("file", "");
    let output = fixture.check_output(
        "python3 - <<'END'
import fcntl, os, socket
def refused(call, *arguments):
    try:
        call(*arguments)
        print('done')
    except OSError as error:
        print('refused', error.errno)
def lease(path):
    fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)
for path in [os.path.expanduser('~/file'), 'attempt.sh']:
    if os.path.exists(path):
        refused(lease, path)
refused(socket.socket, socket.AF_VSOCK)
print('gains' if 'NoNewPrivs:\t1' not in open('/proc/self/status').read() else 'end')
END",
    );
    assert!(
        output.contains("refused 1") && !output.contains("done"),
        "{output}"
    );
    assert!(output.trim().ends_with("end"), "{output}");
}

/// Landlock cannot deny changes of modes outside, and the report says so.
fn attributes_of_files_outside_cannot_be_changed(fixture: &SandboxFixture) {
    let file = fixture.env.home().join(".bashrc");
    let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    let before = mode();
    let report = fixture.verify(
        "chmod 751 ~/.bashrc; python3 -c 'import os; os.setxattr(os.path.expanduser(\"~/.bashrc\"), \"user.x\", b\"1\"); print(\"changed\")'; cp -a attempt.sh copy && echo copied",
        &[],
    );
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(!output.contains("changed"), "{output}");
    assert!(output.contains("copied"), "{output}");
    let is_open = |restriction: &str| {
        let open = report["sandbox"]["open"].as_array().unwrap();
        open.iter().any(|it| it == restriction)
    };
    assert_eq!(mode() != before, is_open("attributes"), "{report}");
    assert_eq!(is_open("attributes"), fixture.backend == "landlock");
}

/// Under `default` Landlock cannot deny this, and the report says so.
fn shared_memory_and_terminals_are_unreachable_under_strict(fixture: &SandboxFixture) {
    let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
    let script = &format!(
        "ipcmk -M 64 && echo memory; python3 -c 'import os; os.openpty(); print(\"terminal\")'; cat $(printf /dev/sh){} && echo file; true",
        file.path()
            .display()
            .to_string()
            .trim_start_matches("/dev/sh")
    );
    let is_landlock = fixture.backend == "landlock";
    for profile in ["default", "strict"] {
        let report = fixture.verify(script, &[("SELVEDGE_SANDBOX_CHECKS", profile)]);
        let output = report["checks"][0]["output"].as_str().unwrap();
        let is_refused = is_landlock && profile == "strict";
        for what in ["memory\n", "terminal\n"] {
            assert_eq!(output.contains(what), !is_refused, "{profile}: {output}");
        }
        let open = report["sandbox"]["open"].as_array().unwrap();
        let is_open = open.iter().any(|it| it == "ipc");
        assert_eq!(is_open, is_landlock && profile == "default", "{report}");
        // The names of files in shared memory are visible, but not their content.
        assert_eq!(output.contains("file\n"), is_open, "{profile}: {output}");
    }
}

fn mounts_cannot_be_changed(fixture: &SandboxFixture) {
    fixture.assert_no_secret_in("mount -o remount,rw /; umount -l ~/.ssh; umount -a; mount --bind / mnt; cat ~/.ssh/id_ed25519; touch ~/made; true");
    assert!(!fixture.env.home().join("made").exists());
}

fn namespaces_give_no_access(fixture: &SandboxFixture) {
    fixture.assert_no_secret_in("unshare -Urm sh -c 'umount -l ~/.ssh; mount -o remount,rw,bind /; cat ~/.ssh/id_ed25519; touch ~/made'; unshare -m sh -c 'umount -l ~/.ssh; cat ~/.ssh/id_ed25519'; true");
    assert!(!fixture.env.home().join("made").exists());
}

fn kernel_settings_cannot_be_changed(fixture: &SandboxFixture) {
    let pattern = "/proc/sys/kernel/core_pattern";
    let before = std::fs::read_to_string(pattern).unwrap();
    fixture.check_output("echo '|/bin/evil' > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger.not; echo 1 > /proc/sys/vm/drop_caches; true");
    assert_eq!(std::fs::read_to_string(pattern).unwrap(), before);
}

/// A device node for the disk would give access to all of its data.
fn devices_cannot_be_opened(fixture: &SandboxFixture) {
    let output = fixture.check_output(
        "mknod disk b 254 0 && head -c 4 disk && echo reached; for it in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg; do head -c 1 $it > got 2>/dev/null && test -s got && echo reached; done; true",
    );
    assert!(!output.contains("reached\n"), "{output}");
}

/// System calls that give access to files and keys without paths.
fn syscalls_without_paths_are_denied(fixture: &SandboxFixture) {
    let output = fixture.check_output(
        "python3 - <<'END'
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
calls = {'x86_64': {'handle': 304, 'keyctl': 250, 'bpf': 321, 'module': 313}, 'aarch64': {'handle': 265, 'keyctl': 219, 'bpf': 280, 'module': 273}}[platform.machine()]
for name, number in calls.items():
    libc.syscall(number, 0, 0, 0, 0, 0)
    print(name, ctypes.get_errno())
END",
    );
    for name in ["handle", "keyctl", "bpf", "module"] {
        assert!(output.contains(&format!("{name} 1\n")), "{output}");
    }
}

/// Characters pushed into a terminal would be typed outside of the sandbox.
fn terminal_input_cannot_be_injected(fixture: &SandboxFixture) {
    let output = fixture.check_output(
        "python3 - <<'END'
import fcntl, os
try:
    master, slave = os.openpty()
    fcntl.ioctl(slave, 0x5412, b'x')
    print('typed')
except OSError as error:
    print('refused', error.errno)
END",
    );
    // With Landlock, `strict` has no terminals.
    let expected = ["refused 1\n", "refused 13\n"];
    assert!(expected.iter().any(|it| output.contains(it)), "{output}");
}

/// Programs cannot gain more privileges than their user has.
fn privileges_cannot_be_gained(fixture: &SandboxFixture) {
    let output = fixture.check_output("grep -E 'NoNewPrivs|CapEff' /proc/self/status");
    assert!(output.contains("NoNewPrivs:\t1"), "{output}");
    let effective = output
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:\t"))
        .unwrap();
    let effective = u64::from_str_radix(effective, 16).unwrap();
    // Only capabilities over files, sockets and users may be effective.
    assert_eq!(effective & !0x4fb, 0, "{output}");
}

on_all_profiles!(
    calls_that_no_build_needs_are_refused,
    signal_does_not_reach_outside_processes,
    signal_does_not_end_the_supervisor,
    mounts_cannot_be_changed,
    namespaces_give_no_access,
    kernel_settings_cannot_be_changed,
    devices_cannot_be_opened,
    syscalls_without_paths_are_denied,
    terminal_input_cannot_be_injected,
    privileges_cannot_be_gained,
    limits_of_other_processes_cannot_be_changed,
);

mod backends {
    use super::*;
    crate::sandbox::on_both!(
        attributes_of_files_outside_cannot_be_changed,
        shared_memory_and_terminals_are_unreachable_under_strict,
    );
}
