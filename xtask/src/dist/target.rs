//! The targets that packages are made for, and how each package manager names them.

use crate::XtaskResult;
use crate::workspace;

#[derive(Debug)]
pub(super) struct PackageTarget {
    pub(super) triple: &'static str,
    /// Compressed set of platform tags of a wheel. A program that depends on the libraries of the machine
    /// that built it is for that machine only: `linux_x86_64`.
    pub(super) wheel_platform: &'static str,
    /// `process.platform` and `process.arch` of Node.js.
    pub(super) npm_platform: (&'static str, &'static str),
    /// None: not for Debian.
    pub(super) debian_architecture: Option<&'static str>,
}

/// Programs for musl are static, so they run with every libc.
const TARGETS: [PackageTarget; 6] = [
    PackageTarget {
        triple: "x86_64-unknown-linux-musl",
        wheel_platform: "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
        npm_platform: ("linux", "x64"),
        debian_architecture: Some("amd64"),
    },
    PackageTarget {
        triple: "aarch64-unknown-linux-musl",
        wheel_platform: "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
        npm_platform: ("linux", "arm64"),
        debian_architecture: Some("arm64"),
    },
    PackageTarget {
        triple: "x86_64-unknown-linux-gnu",
        wheel_platform: "linux_x86_64",
        npm_platform: ("linux", "x64"),
        debian_architecture: Some("amd64"),
    },
    PackageTarget {
        triple: "aarch64-unknown-linux-gnu",
        wheel_platform: "linux_aarch64",
        npm_platform: ("linux", "arm64"),
        debian_architecture: Some("arm64"),
    },
    PackageTarget {
        triple: "x86_64-apple-darwin",
        wheel_platform: "macosx_10_12_x86_64",
        npm_platform: ("darwin", "x64"),
        debian_architecture: None,
    },
    PackageTarget {
        triple: "aarch64-apple-darwin",
        wheel_platform: "macosx_11_0_arm64",
        npm_platform: ("darwin", "arm64"),
        debian_architecture: None,
    },
];

impl PackageTarget {
    pub(super) fn find(triple: &str) -> XtaskResult<&'static Self> {
        let found = TARGETS.iter().find(|target| target.triple == triple);
        found.ok_or_else(|| {
            let known: Vec<_> = TARGETS.iter().map(|target| target.triple).collect();
            format!(
                "no packages for target `{triple}`; known: {}",
                known.join(", ")
            )
            .into()
        })
    }

    /// Whether the C compiler of this machine cannot compile for the target.
    pub(super) fn needs_zig(&self) -> bool {
        let is_linux = self.triple.contains("-linux-");
        is_linux && workspace::host_triple().is_ok_and(|host| host != self.triple)
    }

    /// Whether its programs contain all libraries.
    pub(super) fn is_static(&self) -> bool {
        self.triple.ends_with("-musl")
    }

    /// Name of the npm package with the program of this platform.
    pub(super) fn npm_package(&self) -> String {
        let (os, cpu) = self.npm_platform;
        format!("@selvedge/cli-{os}-{cpu}")
    }
}

/// The names of the npm packages of all platforms.
pub(super) fn npm_packages() -> Vec<String> {
    let mut names: Vec<_> = TARGETS.iter().map(PackageTarget::npm_package).collect();
    names.sort();
    names.dedup();
    names
}
