//! Sandbox by a container engine: every session gets its own container, from a local image. The container has only the
//! plan's paths of this machine, each at its own path.
//!
//! Images are never pulled, and the engine's data of a container is removed with it. The engine is searched only in
//! system folders, as `bwrap` is.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use selvedge_core::model::{self, SandboxBackend};
use serde::{Deserialize, Serialize};

use super::bubblewrap::CAPABILITIES;
use super::find_in_system;
use super::mounts::container_mounts;
use super::plan::{SandboxPlan, paths};
use super::portable::PortableProgram;
use crate::environment::EnvironmentMap;
use crate::process::SystemString;

/// Variables of the user's environment that engines use: locations of their data, and their addresses.
const ENGINE_VARIABLES: &[&str] = &[
    "HOME",
    "LANG",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINERS_REGISTRIES_CONF",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
];

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A container engine, and its command line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ContainerEngine {
    pub(crate) program: SystemString,
    args: Vec<String>,
    pub(crate) env: Vec<(SystemString, SystemString)>,
}

/// Settings of a plan's containers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ContainerPlan {
    pub(crate) engine: ContainerEngine,
    pub(crate) image: String,
    args: Vec<String>,
    /// Folder with the records of existing containers.
    pub(crate) records: SystemString,
}

/// A container to create.
pub(crate) struct ContainerRequest<'a> {
    pub(crate) name: &'a str,
    /// Label that identifies the owner.
    pub(crate) label: OsString,
    /// The session's own folder for temporary files.
    pub(crate) temporary: &'a Path,
    /// Socket on which the supervisor listens for the init process.
    pub(crate) socket: &'a Path,
    /// This program's file.
    pub(crate) init_program: &'a Path,
    /// Becomes an empty writable folder, except for mounts in it.
    pub(crate) home: Option<&'a Path>,
}

/// Why a container cannot be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContainerError {
    #[error("no container image is configured; set `image` in [sandbox]")]
    NoImage,
    #[error("the program {0} was not found")]
    EngineNotFound(&'static str),
    #[error("`container_args` sets a network, but the profile allows none")]
    ForbiddenNetwork,
    #[error("cannot mount {} in a container because of its name", .0.display())]
    UnmountablePath(PathBuf),
    /// This program cannot be run in an image.
    #[error(transparent)]
    Program(#[from] io::Error),
    #[error("no program")]
    NoProgram,
}

/// Below Selvedge's state directory: one file per container.
pub(super) const RECORDS_FOLDER: &str = "containers";

/// Path of the init process's socket in the container.
pub(super) const SOCKET_PATH: &str = "/.selvedge/control";

impl ContainerEngine {
    fn is_podman(&self) -> bool {
        PathBuf::from(&self.program).ends_with(SandboxBackend::Podman.name())
    }

    /// All words before the engine's subcommand.
    pub(crate) fn command_words(&self) -> impl Iterator<Item = &OsStr> {
        self.args.iter().map(OsStr::new)
    }
}

impl ContainerPlan {
    /// Creates the plan from the settings; the error names the missing setting.
    pub(super) fn new(
        backend: SandboxBackend,
        settings: &model::ContainerSpec,
        state: &Path,
        environment: &EnvironmentMap,
    ) -> Result<Self, ContainerError> {
        if settings.image.is_empty() {
            return Err(ContainerError::NoImage);
        }
        let program =
            find_in_system(backend.name()).ok_or(ContainerError::EngineNotFound(backend.name()))?;
        let seen = ENGINE_VARIABLES.iter().filter_map(|name| {
            let value = environment.get(OsStr::new(name))?;
            Some((OsStr::new(name).into(), value.as_os_str().into()))
        });
        let path = (OsStr::new("PATH").into(), OsStr::new(PATH).into());
        Ok(Self {
            engine: ContainerEngine {
                program: program.as_os_str().into(),
                args: settings.engine_args.clone(),
                env: seen.chain([path]).collect(),
            },
            image: settings.image.clone(),
            args: settings.container_args.clone(),
            records: state.join(RECORDS_FOLDER).as_os_str().into(),
        })
    }

    /// A fingerprint of the settings: containers with other settings have other content.
    pub(super) fn fingerprint(&self) -> String {
        format!("{} {:?} {:?}", self.image, self.engine.args, self.args)
    }

    /// The engine's arguments that create one container and run the init process in it.
    pub(crate) fn arguments(
        &self,
        plan: &SandboxPlan,
        wanted: &ContainerRequest<'_>,
    ) -> Result<Vec<OsString>, ContainerError> {
        let portable = PortableProgram::for_this_process(wanted.init_program)?;
        let command = portable.command();
        let (entry, rest) = command.split_first().ok_or(ContainerError::NoProgram)?;
        let mut label = OsString::from("selvedge.session=");
        label.push(&wanted.label);
        let mut words: Vec<OsString> = self.engine.command_words().map(Into::into).collect();
        words.extend(["run", "--name", wanted.name, "--label"].map(Into::into));
        words.push(label);
        words.extend(FIXED_ARGUMENTS.iter().map(Into::into));
        words.extend(["--entrypoint", entry].map(Into::into));
        words.extend(self.network_arguments(plan)?);
        words.extend(self.user_arguments());
        for mount in container_mounts(plan, wanted, &portable) {
            words.push("--mount".into());
            words.push(mount.to_argument(self.engine.is_podman())?);
        }
        words.extend(self.args.iter().map(Into::into));
        words.push(self.image.as_str().into());
        words.extend(rest.iter().map(Into::into));
        words.extend(["__sandbox-init", SOCKET_PATH].map(Into::into));
        Ok(words)
    }

    /// No network, or this machine's own, as in other sandboxes: a server on this machine is then reachable.
    fn network_arguments(&self, plan: &SandboxPlan) -> Result<Vec<OsString>, ContainerError> {
        let is_named = self
            .args
            .iter()
            .any(|arg| arg.starts_with("--net") && !arg.starts_with("--network-alias"));
        match (plan.network, is_named) {
            (true, true) => Ok(Vec::new()),
            (true, false) => Ok(["--network", "host"].map(Into::into).to_vec()),
            (false, false) => Ok(["--network", "none"].map(Into::into).to_vec()),
            (false, true) => Err(ContainerError::ForbiddenNetwork),
        }
    }

    /// The calling user, so that the user still owns files in the workspace; root loses most capabilities.
    fn user_arguments(&self) -> Vec<OsString> {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let ids = format!("{}:{}", user.as_raw(), group.as_raw());
        let mut words: Vec<OsString> = ["--user", &ids, "--cap-drop", "ALL"]
            .map(Into::into)
            .to_vec();
        if user.is_root() {
            let kept = CAPABILITIES.iter();
            words.extend(kept.flat_map(|name| ["--cap-add".into(), (*name).into()]));
        } else if self.engine.is_podman() {
            words.push("--userns=keep-id".into());
        }
        words
    }
}

/// Arguments of every container. Logging is off, because the log would keep a session's output.
const FIXED_ARGUMENTS: &[&str] = &[
    "--pull",
    "never",
    "--log-driver",
    "none",
    "--read-only",
    "--security-opt",
    "no-new-privileges",
    "--security-opt",
    "label=disable",
    "--stop-timeout",
    "0",
    "--workdir",
    "/",
];

/// Environment of a program in an image: the image's own, overridden by the program's variables. A variable with a
/// path that does not exist in the container keeps the image's value. Programs are searched first on this machine's
/// search path as far as the plan shows it, then on the image's.
pub(super) fn merge_environment(
    image: impl IntoIterator<Item = (OsString, OsString)>,
    added: &[(OsString, OsString)],
    plan: &SandboxPlan,
) -> Vec<(OsString, OsString)> {
    let opened: Vec<PathBuf> = paths(&plan.writable)
        .into_iter()
        .chain(paths(&plan.readable))
        .collect();
    let is_open = |path: &PathBuf| opened.iter().any(|open| path.starts_with(open));
    let is_elsewhere = |value: &OsString| {
        let path = Path::new(value);
        path.is_absolute() && !path.exists()
    };
    let mut environment: BTreeMap<OsString, OsString> = image.into_iter().collect();
    let own_path = environment.get(OsStr::new("PATH")).cloned();
    let own_path = own_path.unwrap_or_else(|| PATH.into());
    for (name, value) in added {
        if name == "PATH" {
            let shown = std::env::split_paths(value).filter(is_open);
            let all = shown.chain(std::env::split_paths(&own_path));
            if let Ok(joined) = std::env::join_paths(all) {
                environment.insert(name.clone(), joined);
            }
        } else if !is_elsewhere(value) {
            environment.insert(name.clone(), value.clone());
        }
    }
    environment.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::mounts::tests::{plan, root_folder};
    use super::*;

    #[test]
    fn container_env_keeps_tools_of_image() {
        let root_folder = root_folder();
        let root = root_folder.path();
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let image = [
            pair("PATH", "/image/bin"),
            pair("JAVA_HOME", "/image/java"),
            pair("LANG", "C"),
        ];
        let bin = root.join("work/bin").display().to_string();
        let added = [
            pair("PATH", &format!("/host/bin:{bin}")),
            pair("JAVA_HOME", "/not/there"),
            pair("LANG", "C.UTF-8"),
            pair("CI", "true"),
        ];
        assert_eq!(
            merge_environment(image, &added, &plan(root)),
            [
                pair("CI", "true"),
                pair("JAVA_HOME", "/image/java"),
                pair("LANG", "C.UTF-8"),
                pair("PATH", &format!("{bin}:/image/bin")),
            ]
        );
    }

    #[test]
    fn container_network_cannot_be_enabled_by_options() {
        let contained = |args: &[&str]| ContainerPlan {
            engine: ContainerEngine {
                program: OsStr::new("/usr/bin/podman").into(),
                args: Vec::new(),
                env: Vec::new(),
            },
            image: "image".to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            records: OsStr::new("/").into(),
        };
        let root_folder = root_folder();
        let closed = plan(root_folder.path());
        assert_eq!(
            contained(&[]).network_arguments(&closed).unwrap(),
            ["--network", "none"]
        );
        assert!(
            contained(&["--network=bridge"])
                .network_arguments(&closed)
                .is_err()
        );
        assert!(
            contained(&["--net", "host"])
                .network_arguments(&closed)
                .is_err()
        );
    }
}
