//! Going past the walls by the kernel's own means.

use std::process::{Command, Stdio};

use super::fixture::SandboxFixture;
use super::on_all;

fn a_signal_to_a_stranger(scene: &SandboxFixture) {
    let mut stranger = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let pid = stranger.id();
    scene.check_output(&format!(
        "kill -9 {pid}; kill {pid}; pkill -9 -x sleep; true"
    ));
    assert!(stranger.try_wait().unwrap().is_none(), "it was ended");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// Whoever watches the session is not ended from inside: the check still has an ending of its own.
fn a_signal_to_the_supervisor(scene: &SandboxFixture) {
    let report = scene.verify(
        "kill -9 $PPID; kill -9 1; pkill -9 selvedge; kill -9 -1 & sleep 0.1; exit 0",
        &[],
    );
    assert!(
        report["checks"][0]["reason"] != "its supervisor was lost",
        "{report}"
    );
    assert_eq!(scene.env.processes(), []);
}

fn mounting_over_and_away(scene: &SandboxFixture) {
    scene.assert_no_secret_in("mount -o remount,rw /; umount -l ~/.ssh; umount -a; mount --bind / mnt; cat ~/.ssh/id_ed25519; touch ~/made; true");
    assert!(!scene.env.home().join("made").exists());
}

fn namespaces_of_its_own(scene: &SandboxFixture) {
    scene.assert_no_secret_in("unshare -Urm sh -c 'umount -l ~/.ssh; mount -o remount,rw,bind /; cat ~/.ssh/id_ed25519; touch ~/made'; unshare -m sh -c 'umount -l ~/.ssh; cat ~/.ssh/id_ed25519'; true");
    assert!(!scene.env.home().join("made").exists());
}

fn steering_the_kernel(scene: &SandboxFixture) {
    let pattern = "/proc/sys/kernel/core_pattern";
    let before = std::fs::read_to_string(pattern).unwrap();
    scene.check_output("echo '|/bin/evil' > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger.not; echo 1 > /proc/sys/vm/drop_caches; true");
    assert_eq!(std::fs::read_to_string(pattern).unwrap(), before);
}

/// A node for the disk would lead to every byte on it.
fn devices(scene: &SandboxFixture) {
    let said = scene.check_output(
        "mknod disk b 254 0 && head -c 4 disk && echo reached; for it in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg; do head -c 1 $it > got 2>/dev/null && test -s got && echo reached; done; true",
    );
    assert!(!said.contains("reached\n"), "{said}");
}

/// Calls that lead to files and keys without a path.
fn calls_that_need_no_path(scene: &SandboxFixture) {
    let said = scene.check_output(
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
        assert!(said.contains(&format!("{name} 1\n")), "{said}");
    }
}

/// Characters pushed into a terminal would be typed by somebody else.
fn typing_for_somebody_else(scene: &SandboxFixture) {
    let said = scene.check_output(
        "python3 - <<'END'
import fcntl, os
master, slave = os.openpty()
try:
    fcntl.ioctl(slave, 0x5412, b'x')
    print('typed')
except OSError as error:
    print('refused', error.errno)
END",
    );
    assert!(said.contains("refused 1"), "{said}");
}

/// A program with more rights than its user gets none.
fn rights_that_programs_bring(scene: &SandboxFixture) {
    let said = scene.check_output("grep -E 'NoNewPrivs|CapEff' /proc/self/status");
    assert!(said.contains("NoNewPrivs:\t1"), "{said}");
    let effective = said
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:\t"))
        .unwrap();
    let effective = u64::from_str_radix(effective, 16).unwrap();
    // All but those over files, sockets and users.
    assert_eq!(effective & !0x4fb, 0, "{said}");
}

on_all!(
    a_signal_to_a_stranger,
    a_signal_to_the_supervisor,
    mounting_over_and_away,
    namespaces_of_its_own,
    steering_the_kernel,
    devices,
    calls_that_need_no_path,
    typing_for_somebody_else,
    rights_that_programs_bring,
);
