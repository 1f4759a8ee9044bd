//! The sandbox of sessions and checks: its configuration, and the restrictions that were seen to be enforced.
//! Restrictions that a backend cannot enforce are listed as well.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The backend of a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxBackend {
    /// The first one that works here of `bubblewrap`, `landlock`, and, if an image is configured, `podman` and
    /// `docker`; no sandbox if none works.
    #[default]
    Auto,
    /// The `bwrap` program: namespaces of its own.
    Bubblewrap,
    /// The kernel's Landlock rules and a seccomp filter: no program is needed.
    Landlock,
    /// A container for each session, by the `podman` program.
    Podman,
    /// A container for each session, by the `docker` program.
    Docker,
    /// No sandbox.
    None,
}

impl SandboxBackend {
    /// The backends that provide a sandbox.
    pub const BUILDERS: [Self; 4] = [Self::Bubblewrap, Self::Landlock, Self::Podman, Self::Docker];

    /// The name in configuration and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Podman => "podman",
            Self::Docker => "docker",
            Self::None => "none",
        }
    }

    /// What it cannot restrict under any profile, in addition to what is probed. None are listed for containers.
    pub fn limits(self) -> Vec<&'static str> {
        /// Of every backend that shares this machine's files.
        const COMMON: &[&str] = &[
            "writes of checks to caches of packages and tools, from which your own builds run code",
            "programs with the set-user-id bit that a session leaves in the workspace",
            "reads of copies, hard links and snapshots of hidden files",
            "locks of files that can be read",
            "use of memory, processors and disk space",
            "for root: reads of other users' files outside of homes",
            "for root: modes and times of device files such as /dev/null",
        ];
        let own: &[&str] = match self {
            Self::Bubblewrap => &[
                "writes to named pipes that another program reads from, in readable folders",
                "connections to sockets outside of /run, /tmp and the folders of known services",
                "reads of what is created or replaced at a hidden path while a session or the checks of an attempt run",
                "under default: sockets to the host of a virtual machine",
            ],
            Self::Landlock => &[
                "writes to settings, hooks and plug-ins in the home of the agent that runs",
                "connections to sockets by path",
                "names, sizes, times and extended attributes of hidden files",
                "modes, owners and times of your files outside",
                "shared memory and terminals of other programs under default",
                "priority and processors of your other programs",
            ],
            Self::Auto | Self::Podman | Self::Docker | Self::None => return Vec::new(),
        };
        own.iter().chain(COMMON).copied().collect()
    }

    /// Whether programs run in an image, which does not have this machine's programs.
    pub const fn is_container(self) -> bool {
        matches!(self, Self::Podman | Self::Docker)
    }
}

/// How restrictive a sandbox is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxProfile {
    /// Permits an ordinary build: the workspace and the tools' caches are writable, the network is available, secrets
    /// are not.
    #[default]
    Default,
    /// Only the workspace is writable, the home directory is not available, and there is no network.
    Strict,
    /// No sandbox.
    None,
}

impl SandboxProfile {
    /// The name in configuration and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Strict => "strict",
            Self::None => "none",
        }
    }
}

/// The sandbox that a run requires.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxSpec {
    /// The backend.
    pub backend: SandboxBackend,
    /// Whether a run without a sandbox is rejected.
    pub required: bool,
    /// Profile for agents.
    pub agents: SandboxProfile,
    /// Profile for checks.
    pub checks: SandboxProfile,
    /// Additional writable paths, absolute or beginning with `~/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Hidden files that single checks may read: paths as above, by a check's name or command.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub grants: BTreeMap<String, Vec<String>>,
    /// Configuration of containers; empty if none is used.
    #[serde(skip_serializing_if = "ContainerSpec::is_empty")]
    pub container: ContainerSpec,
}

impl SandboxSpec {
    /// Whether agents run in an image, which does not have this machine's programs.
    pub fn agents_in_image(&self) -> bool {
        self.backend.is_container() && self.agents != SandboxProfile::None
    }

    /// Whether checks run in an image.
    pub fn checks_in_image(&self) -> bool {
        self.backend.is_container() && self.checks != SandboxProfile::None
    }
}

/// Configuration of containers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContainerSpec {
    /// The image, by a name that the engine knows on this machine: it is never pulled.
    pub image: String,
    /// Arguments of the engine itself, before `run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub engine_args: Vec<String>,
    /// More arguments of `run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_args: Vec<String>,
}

impl ContainerSpec {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A restriction that a sandbox can enforce.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Restriction {
    /// Only permitted paths are writable.
    Writes,
    /// Credentials and Selvedge's own state cannot be read.
    Secrets,
    /// Other processes can be neither inspected nor signalled.
    Processes,
    /// Sockets of programs outside cannot be reached, by path or by name.
    Sockets,
    /// Temporary files are private to the session.
    Temporary,
    /// There is no network.
    Network,
    /// For agents: the caches of tools that checks read are not writable.
    Caches,
    /// Modes, owners and times of files outside of the writable paths cannot be changed.
    Attributes,
    /// Shared memory and terminals of other programs of the user cannot be reached.
    Ipc,
}

impl Restriction {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Writes,
        Self::Secrets,
        Self::Processes,
        Self::Sockets,
        Self::Temporary,
        Self::Network,
        Self::Caches,
        Self::Attributes,
        Self::Ipc,
    ];

    /// Display name.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Secrets => "secrets",
            Self::Processes => "processes",
            Self::Sockets => "sockets",
            Self::Temporary => "temporary files",
            Self::Network => "network",
            Self::Caches => "caches",
            Self::Attributes => "attributes of files",
            Self::Ipc => "shared memory and terminals",
        }
    }
}

/// The restrictions that a sandbox was seen to enforce: each was tested, none is assumed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxReport {
    /// The backend.
    pub backend: SandboxBackend,
    /// The profile.
    pub profile: SandboxProfile,
    /// The restrictions that were tested and are enforced.
    pub holds: Vec<Restriction>,
    /// The restrictions that are not enforced: permitted by the profile, or beyond the backend.
    pub open: Vec<Restriction>,
    /// Whether the checks ran in a verification room: a copy of the workspace that no agent can write.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub room: bool,
    /// Folders of installed tools that the checks write to; the verification room had copies of
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copied_tools: Vec<String>,
    /// Changes of git directories, and of files that git obeys, that were discarded or reverted; `.git` entries that
    /// were moved out of the workspace; and commits that could not be taken over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<String>,
    /// Why there is no sandbox, although one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_none: Option<String>,
}

impl SandboxReport {
    /// Whether there is anything to report, other than that no sandbox was requested.
    pub fn is_notable(&self) -> bool {
        self.backend != SandboxBackend::None || self.why_none.is_some() || !self.put_back.is_empty()
    }

    /// Summary in one line.
    pub fn summary(&self) -> String {
        let put_back = match self.put_back.join(", ").as_str() {
            "" => String::new(),
            files => format!("; reverted {files}"),
        };
        let room = match (self.room, self.copied_tools.join(", ").as_str()) {
            (false, _) => String::new(),
            (true, "") => "; checks ran in a verification room".to_owned(),
            (true, copied) => {
                format!("; checks ran in a verification room with a copy of {copied}")
            }
        };
        // Without mounts, a session works in the repository itself.
        let git = if self.backend == SandboxBackend::Landlock {
            "; git hooks and settings are restored after each session"
        } else {
            ""
        };
        self.describe_restrictions() + git + &room + &put_back
    }

    fn describe_restrictions(&self) -> String {
        let names = |holds: &[Restriction]| {
            let names: Vec<_> = holds.iter().map(|hold| hold.label()).collect();
            names.join(", ")
        };
        if self.backend == SandboxBackend::None {
            return match &self.why_none {
                Some(why) => format!("none: {why}"),
                None => "none: not requested".to_owned(),
            };
        }
        let (backend, profile) = (self.backend.name(), self.profile.name());
        let holds = names(&self.holds);
        match names(&self.open).as_str() {
            "" => format!("{backend}, {profile}: enforces {holds}"),
            open => format!("{backend}, {profile}: enforces {holds}; not enforced: {open}"),
        }
    }
}
