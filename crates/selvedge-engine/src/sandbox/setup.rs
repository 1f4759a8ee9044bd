//! Sets up the requested sandboxes: selects the first backend that works, or the requested one, and probes which
//! restrictions it enforces.

use std::path::PathBuf;
use std::sync::Arc;

use selvedge_core::model::{
    ContainerSpec, SandboxBackend, SandboxProfile, SandboxReport, SandboxSpec,
};

use super::container::{ContainerError, ContainerPlan};
use super::paths::{SandboxPaths, canonical};
use super::probe::ProbeError;
use super::probe_cache::ProbeCache;
use super::{WorkspaceSandbox, WorkspaceSandboxInner, caches, is_socket, probe, remove_abandoned};
use crate::environment::EnvironmentMap;
use crate::process::Supervisor;

/// Paths and environment of the sandboxes.
#[derive(Debug, Clone)]
pub struct SandboxContext {
    /// Is writable.
    pub workspace: PathBuf,
    /// Selvedge's state directory.
    pub state: PathBuf,
    /// Determines the user's folders.
    pub environment: EnvironmentMap,
}

/// Sandboxes of both kinds; `None` without a sandbox.
#[derive(Debug, Clone)]
pub struct SandboxPair {
    /// For agents.
    pub agents: Option<WorkspaceSandbox>,
    /// For checks.
    pub checks: Option<WorkspaceSandbox>,
    /// Warning if a sandbox was requested but is not available.
    pub unavailable_reason: Option<String>,
}

/// A run requires a sandbox that is not available here.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the required sandbox: {0}")]
pub struct SandboxUnavailableError(#[from] SandboxSetupError);

impl SandboxUnavailableError {
    /// Why it is not available.
    pub fn reason(&self) -> String {
        self.0.to_string()
    }
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
enum SandboxSetupError {
    #[error("`backend = \"none\"` disables it")]
    BackendNone,
    #[error("the profile `none` disables it")]
    ProfileNone,
    #[error("{}", join_errors(.0))]
    NoBackendWorks(Vec<BackendError>),
    #[error(transparent)]
    Container(ContainerError),
}

/// Why a backend does not work.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", backend.name())]
struct BackendError {
    backend: SandboxBackend,
    source: ProbeError,
}

fn join_errors(errors: &[BackendError]) -> String {
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    errors.join("; ")
}

/// Sets up the requested sandboxes.
///
/// # Errors
///
/// If they are required, or a backend is requested, and they are not available.
pub async fn set_up_sandboxes(
    spec: &SandboxSpec,
    context: &SandboxContext,
    supervisor: &Supervisor,
) -> Result<SandboxPair, SandboxUnavailableError> {
    let mut raised = SandboxPair {
        agents: None,
        checks: None,
        unavailable_reason: None,
    };
    if spec.backend == SandboxBackend::None {
        return if spec.required {
            Err(SandboxSetupError::BackendNone.into())
        } else {
            Ok(raised)
        };
    }
    let (state, environment) = (context.state.clone(), context.environment.clone());
    // If this fails, the next run tries again.
    let _ = tokio::task::spawn_blocking(move || remove_abandoned(&state, &environment)).await;
    let mut remembered = ProbeCache::load(&context.state);
    for (sessions, profile, slot) in [
        (SessionKind::Agent, spec.agents, &mut raised.agents),
        (SessionKind::Check, spec.checks, &mut raised.checks),
    ] {
        if profile == SandboxProfile::None {
            if spec.required {
                return Err(SandboxSetupError::ProfileNone.into());
            }
            continue;
        }
        let mut errors = Vec::new();
        for backend in candidate_backends(spec) {
            let kind = SandboxVariant {
                backend,
                profile,
                sessions,
                container: &spec.container,
            };
            match verify(kind, context, supervisor, &mut remembered).await {
                Ok(held) => {
                    let sandbox = WorkspaceSandbox::new(kind, spec, context, held);
                    *slot = Some(sandbox.map_err(SandboxSetupError::Container)?);
                    break;
                }
                Err(source) => errors.push(BackendError { backend, source }),
            }
        }
        if slot.is_none() {
            let error = SandboxSetupError::NoBackendWorks(errors);
            // A user who requests a backend does not want to continue without it.
            if spec.required || spec.backend != SandboxBackend::Auto {
                return Err(error.into());
            }
            raised.unavailable_reason = Some(error.to_string());
        }
    }
    remembered.save();
    Ok(raised)
}

/// Backends in the order in which they are tried.
fn candidate_backends(spec: &SandboxSpec) -> Vec<SandboxBackend> {
    let has_image = !spec.container.image.is_empty();
    match spec.backend {
        SandboxBackend::Auto => SandboxBackend::BUILDERS
            .into_iter()
            .filter(|backend| has_image || !backend.is_container())
            .collect(),
        SandboxBackend::None => Vec::new(),
        one => vec![one],
    }
}

/// Kind of confined sessions. Judges are agents that work outside of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKind {
    Agent,
    Check,
}

impl SessionKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Check => "check",
        }
    }
}

/// A sandbox of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct SandboxVariant<'a> {
    pub(super) backend: SandboxBackend,
    pub(super) profile: SandboxProfile,
    pub(super) sessions: SessionKind,
    pub(super) container: &'a ContainerSpec,
}

impl SandboxVariant<'_> {
    fn container_plan(
        self,
        context: &SandboxContext,
    ) -> Result<Option<ContainerPlan>, ContainerError> {
        let of = |backend| {
            ContainerPlan::new(
                backend,
                self.container,
                &context.state,
                &context.environment,
            )
        };
        self.backend
            .is_container()
            .then(|| of(self.backend))
            .transpose()
    }

    /// Key in the cache of probe results.
    fn cache_name(self, contained: Option<&ContainerPlan>) -> String {
        let fingerprint = contained
            .map(ContainerPlan::fingerprint)
            .unwrap_or_default();
        let (backend, profile) = (self.backend.name(), self.profile.name());
        let sessions = self.sessions.name();
        let home = if probe::has_shared_home() {
            " in a shared home"
        } else {
            ""
        };
        format!("{backend} {profile} {sessions}{home} {fingerprint}")
            .trim_end()
            .to_owned()
    }
}

async fn verify(
    kind: SandboxVariant<'_>,
    context: &SandboxContext,
    supervisor: &Supervisor,
    remembered: &mut ProbeCache,
) -> Result<SandboxReport, ProbeError> {
    let contained = kind.container_plan(context)?;
    let name = kind.cache_name(contained.as_ref());
    if let Some(held) = remembered.get(&name) {
        return held;
    }
    let held = probe::run_probe(kind, context, supervisor).await;
    // An image may be created at any time.
    if held.is_ok() || contained.is_none() {
        remembered.put(name, &held);
    }
    held
}

impl WorkspaceSandbox {
    fn new(
        kind: SandboxVariant<'_>,
        spec: &SandboxSpec,
        context: &SandboxContext,
        held: SandboxReport,
    ) -> Result<Self, ContainerError> {
        let contained = kind.container_plan(context)?;
        let places = SandboxPaths::new(context.environment.clone());
        let home = places.home.clone();
        let expand = |path: &String| match (path.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        };
        let writable = spec.writable.iter().map(expand).filter_map(canonical);
        let writable: Vec<PathBuf> = writable.filter(|path| path.is_absolute()).collect();
        let grants = spec.grants.iter().map(|(check, files)| {
            let files = files.iter().map(expand).filter(|path| path.is_absolute());
            (check.clone(), files.collect())
        });
        let or_itself = |path: &PathBuf| canonical(path.clone()).unwrap_or_else(|| path.clone());
        let (workspace, state) = (or_itself(&context.workspace), or_itself(&context.state));
        Ok(Self {
            inner: Arc::new(WorkspaceSandboxInner {
                backend: kind.backend,
                profile: kind.profile,
                sessions: kind.sessions,
                agent_caches: caches::agent_caches_folder(&state, &workspace),
                workspace,
                state,
                opens_socket: writable.iter().any(|path| is_socket(path)),
                writable,
                grants: grants.collect(),
                masked: Vec::new(),
                paths: places,
                container: contained,
                verified: held,
                verification_room: None,
                git_mounts: Vec::new(),
            }),
        })
    }

    /// A sandbox for a probe, with one more masked path.
    pub(super) fn for_probe(
        kind: SandboxVariant<'_>,
        context: &SandboxContext,
        masked: PathBuf,
    ) -> Result<Self, ContainerError> {
        let held = SandboxReport::default();
        let sandbox = Self::new(kind, &SandboxSpec::default(), context, held)?;
        let own = WorkspaceSandboxInner {
            agent_caches: masked.with_file_name("caches"),
            masked: vec![masked],
            ..Arc::unwrap_or_clone(sandbox.inner)
        };
        Ok(Self {
            inner: Arc::new(own),
        })
    }
}
