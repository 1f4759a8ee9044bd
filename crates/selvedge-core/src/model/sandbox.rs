//! What stands between a session and the rest of the machine: what was asked for, and what was seen
//! to hold. What a backend cannot hold is named beside, never left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who builds the walls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxBackend {
    /// The first that works here of `bubblewrap`, `landlock`, and, where an image is named, `podman`
    /// and `docker`; none where none does.
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
    /// Nobody.
    None,
}

impl SandboxBackend {
    /// Those that build walls.
    pub const BUILDERS: [Self; 4] = [Self::Bubblewrap, Self::Landlock, Self::Podman, Self::Docker];

    /// As people read and write it.
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

    /// Whether programs run in an image, where this machine's own are not.
    pub const fn is_container(self) -> bool {
        matches!(self, Self::Podman | Self::Docker)
    }
}

/// How narrow the walls are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxProfile {
    /// An ordinary build works: the workspace and the tools' caches can be written, the network is
    /// there, secrets are not.
    #[default]
    Default,
    /// Only the workspace can be written, nothing of the home is there, and there is no network.
    Strict,
    /// No walls.
    None,
}

impl SandboxProfile {
    /// As people read and write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Strict => "strict",
            Self::None => "none",
        }
    }
}

/// The walls that a run asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxSpec {
    /// Who builds them.
    pub backend: SandboxBackend,
    /// Whether a run without them is refused.
    pub required: bool,
    /// Around agents.
    pub agents: SandboxProfile,
    /// Around checks.
    pub checks: SandboxProfile,
    /// More that may be written, absolute or beginning with `~/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// What containers are made of; empty where none is to be made.
    #[serde(skip_serializing_if = "ContainerSpec::is_empty")]
    pub container: ContainerSpec,
}

impl SandboxSpec {
    /// Whether agents run in an image, where this machine's programs are not.
    pub fn agents_in_image(&self) -> bool {
        self.backend.is_container() && self.agents != SandboxProfile::None
    }

    /// Whether checks do.
    pub fn checks_in_image(&self) -> bool {
        self.backend.is_container() && self.checks != SandboxProfile::None
    }
}

/// What containers are made of, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContainerSpec {
    /// The image, by a name that the engine knows on this machine: it is never fetched.
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

/// One thing that walls can hold.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Restriction {
    /// Nothing can be written but what may be.
    Writes,
    /// Credentials and Selvedge's own state cannot be read.
    Secrets,
    /// Other processes cannot be seen into, nor signalled.
    Processes,
    /// Sockets of programs outside cannot be reached, neither by path nor by name.
    Sockets,
    /// Temporary files are the session's own.
    Temporary,
    /// There is no network.
    Network,
    /// Of agents: the caches of tools that checks read cannot be written.
    Caches,
}

impl Restriction {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Writes,
        Self::Secrets,
        Self::Processes,
        Self::Sockets,
        Self::Temporary,
        Self::Network,
        Self::Caches,
    ];

    /// As people read it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Secrets => "secrets",
            Self::Processes => "processes",
            Self::Sockets => "sockets",
            Self::Temporary => "temporary files",
            Self::Network => "network",
            Self::Caches => "caches",
        }
    }
}

/// What walls were seen to hold: each was tried, none is assumed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxReport {
    /// Who built them.
    pub backend: SandboxBackend,
    /// How narrow.
    pub profile: SandboxProfile,
    /// What was tried, and held.
    pub holds: Vec<Restriction>,
    /// What did not hold: open by design of the profile, or beyond the backend.
    pub open: Vec<Restriction>,
    /// Whether the checks ran in a verification room: a copy of the workspace that no agent can write.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub room: bool,
    /// What in the repository's own folder would have made git run something, and was put back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<String>,
    /// Why there are none, where they were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_none: Option<String>,
}

impl SandboxReport {
    /// Whether there is more to say than that nobody asked for any.
    pub fn is_notable(&self) -> bool {
        self.backend != SandboxBackend::None || self.why_none.is_some() || !self.put_back.is_empty()
    }

    /// In one line, for people.
    pub fn summary(&self) -> String {
        let put_back = match self.put_back.join(", ").as_str() {
            "" => String::new(),
            files => format!("; put back {files}"),
        };
        let room = if self.room {
            "; checks ran in a verification room"
        } else {
            ""
        };
        self.describe_restrictions() + room + &put_back
    }

    fn describe_restrictions(&self) -> String {
        let names = |holds: &[Restriction]| {
            let names: Vec<_> = holds.iter().map(|hold| hold.label()).collect();
            names.join(", ")
        };
        if self.backend == SandboxBackend::None {
            return match &self.why_none {
                Some(why) => format!("none: {why}"),
                None => "none: asked for".to_owned(),
            };
        }
        let (backend, profile) = (self.backend.name(), self.profile.name());
        let holds = names(&self.holds);
        match names(&self.open).as_str() {
            "" => format!("{backend}, {profile}: holds {holds}"),
            open => format!("{backend}, {profile}: holds {holds}; open: {open}"),
        }
    }
}
