//! Sockets that programs outside of the sandbox listen on.

use std::os::unix::net::UnixListener;

use super::fixture::SandboxFixture;
use super::on_both;

/// Docker Desktop listens below the home.
fn socket_of_a_service_in_the_home_is_unreachable(fixture: &SandboxFixture) {
    let folder = fixture.env.home().join(".docker/desktop");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("docker.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let path = path.display();
    let output = fixture.check_output(&format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\"); print(\"reached\")'; true"
    ));
    let is_reached = output.contains("reached\n");
    assert_eq!(is_reached, fixture.backend == "landlock", "{output}");
}

/// Services of the machine listen below `/run`, and have pipes there.
fn socket_folder_of_services_is_hidden(fixture: &SandboxFixture) {
    // Only root can create one. Elsewhere the pipes of other programs are attempted, if there are any.
    let own_folder = tempfile::Builder::new()
        .prefix("selvedge-test-")
        .tempdir_in("/run");
    let own_pipe = own_folder.as_ref().ok().map(|folder| {
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        pipe.display().to_string()
    });
    // Opening a pipe for both directions does not wait.
    let output = fixture.check_output(
        "find /run -type s; for pipe in $(find /run -type p); do (: <> $pipe) && echo opened $pipe; done
         test -r /etc/resolv.conf && echo resolver",
    );
    // With Landlock, names can be listed, and other programs may create some meanwhile.
    if fixture.backend == "landlock" {
        assert!(!output.contains("opened "), "{output}");
        if let Some(pipe) = own_pipe {
            assert!(output.contains(&pipe), "not attempted: {output}");
        }
    } else {
        assert!(!output.contains("/run/"), "{output}");
    }
    let has_resolver = std::fs::read("/etc/resolv.conf").is_ok();
    assert_eq!(output.contains("resolver"), has_resolver, "{output}");
}

/// Sockets to the host of a virtual machine belong to no network namespace.
fn socket_to_the_host_is_refused_under_strict(fixture: &SandboxFixture) {
    let script = "python3 -c '
import socket
for family in (socket.AF_INET, socket.AF_VSOCK, socket.AF_UNIX):
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print(family.name, \"allowed\")
    except OSError as error:
        print(family.name, error)
'";
    let report = fixture.verify(script, &[("SELVEDGE_SANDBOX_CHECKS", "strict")]);
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(output.contains("AF_UNIX allowed"), "{output}");
    assert!(
        output.contains("AF_VSOCK") && !output.contains("AF_VSOCK allowed"),
        "{output}"
    );
}

on_both!(
    socket_of_a_service_in_the_home_is_unreachable,
    socket_folder_of_services_is_hidden,
    socket_to_the_host_is_refused_under_strict,
);
