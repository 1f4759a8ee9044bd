//! From the walls that are wished for to those that stand here: the first backend that works, or the
//! one that was named, and what it was seen to hold.

use std::path::PathBuf;
use std::sync::Arc;

use selvedge_core::model::{Backend, Container, Profile, Sandbox, SandboxSpec};

use super::container::Contained;
use super::places::{Places, real};
use super::remembered::Remembered;
use super::{Own, Walls, caches, clear_abandoned, is_socket, probe};
use crate::agents::env::Environment;
use crate::process::Supervisor;

/// Where walls are to be raised.
#[derive(Debug, Clone)]
pub struct Scene {
    /// What may be written.
    pub workspace: PathBuf,
    /// Selvedge's own state.
    pub state: PathBuf,
    /// Says where a person's places are.
    pub environment: Environment,
}

/// Walls of both kinds; none where there are none.
#[derive(Debug, Clone)]
pub struct Raised {
    /// Around agents.
    pub agents: Option<Walls>,
    /// Around checks.
    pub checks: Option<Walls>,
    /// What to say of it where walls were wished for and do not stand.
    pub why_none: Option<String>,
}

/// A run asks for walls that cannot be built here.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox that is required cannot be built: {0}")]
pub struct Refused(pub String);

/// Raises the walls that are asked for.
///
/// # Errors
///
/// When they are required, or named, and do not stand.
pub async fn raise(
    spec: &SandboxSpec,
    scene: &Scene,
    supervisor: &Supervisor,
) -> Result<Raised, Refused> {
    let mut raised = Raised {
        agents: None,
        checks: None,
        why_none: None,
    };
    if spec.backend == Backend::None {
        return if spec.required {
            Err(Refused("`backend = \"none\"` asks for none".to_owned()))
        } else {
            Ok(raised)
        };
    }
    let state = scene.state.clone();
    // What cannot be cleared away now may be next time.
    let _ = tokio::task::spawn_blocking(move || clear_abandoned(&state)).await;
    let mut remembered = Remembered::read(&scene.state);
    for (sessions, profile, walls) in [
        (SessionKind::Agent, spec.agents, &mut raised.agents),
        (SessionKind::Check, spec.checks, &mut raised.checks),
    ] {
        if profile == Profile::None {
            if spec.required {
                return Err(Refused("the profile `none` asks for none".to_owned()));
            }
            continue;
        }
        let mut whys = Vec::new();
        for backend in candidates(spec) {
            let kind = Kind {
                backend,
                profile,
                sessions,
                container: &spec.container,
            };
            match holds(kind, scene, supervisor, &mut remembered).await {
                Ok(held) => {
                    *walls = Some(Walls::new(kind, spec, scene, held)?);
                    break;
                }
                Err(why) => whys.push(format!("{}: {why}", backend.name())),
            }
        }
        if walls.is_none() {
            let why = whys.join("; ");
            // Whoever names one does not want to go on without it.
            if spec.required || spec.backend != Backend::Auto {
                return Err(Refused(why));
            }
            raised.why_none = Some(why);
        }
    }
    remembered.write();
    Ok(raised)
}

/// Who is tried, first come first served.
fn candidates(spec: &SandboxSpec) -> Vec<Backend> {
    let has_image = !spec.container.image.is_empty();
    match spec.backend {
        Backend::Auto => Backend::BUILDERS
            .into_iter()
            .filter(|backend| has_image || !backend.is_container())
            .collect(),
        Backend::None => Vec::new(),
        one => vec![one],
    }
}

/// Whose sessions are confined. Judges are agents that work elsewhere than in the workspace.
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

/// Walls of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind<'a> {
    pub(super) backend: Backend,
    pub(super) profile: Profile,
    pub(super) sessions: SessionKind,
    pub(super) container: &'a Container,
}

impl Kind<'_> {
    fn contained(self, scene: &Scene) -> Result<Option<Contained>, String> {
        let of =
            |backend| Contained::new(backend, self.container, &scene.state, &scene.environment);
        self.backend
            .is_container()
            .then(|| of(self.backend))
            .transpose()
    }

    /// As it is remembered.
    fn name(self, contained: Option<&Contained>) -> String {
        let essence = contained.map(Contained::essence).unwrap_or_default();
        let (backend, profile) = (self.backend.name(), self.profile.name());
        let sessions = self.sessions.name();
        format!("{backend} {profile} {sessions} {essence}")
            .trim_end()
            .to_owned()
    }
}

async fn holds(
    kind: Kind<'_>,
    scene: &Scene,
    supervisor: &Supervisor,
    remembered: &mut Remembered,
) -> Result<Sandbox, String> {
    let contained = kind.contained(scene)?;
    let name = kind.name(contained.as_ref());
    if let Some(held) = remembered.get(&name) {
        return held;
    }
    let held = probe::look(kind, scene, supervisor).await;
    // An image may be made at any time.
    if held.is_ok() || contained.is_none() {
        remembered.put(name, held.clone());
    }
    held
}

impl Walls {
    fn new(
        kind: Kind<'_>,
        spec: &SandboxSpec,
        scene: &Scene,
        held: Sandbox,
    ) -> Result<Self, Refused> {
        let contained = kind.contained(scene).map_err(Refused)?;
        let places = Places::new(scene.environment.clone());
        let home = places.home.clone();
        let writable = spec.writable.iter().filter_map(|path| {
            let path = match (path.strip_prefix("~/"), &home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(path),
            };
            real(path).filter(|path| path.is_absolute())
        });
        let writable: Vec<PathBuf> = writable.collect();
        let or_itself = |path: &PathBuf| real(path.clone()).unwrap_or_else(|| path.clone());
        let (workspace, state) = (or_itself(&scene.workspace), or_itself(&scene.state));
        Ok(Self {
            own: Arc::new(Own {
                backend: kind.backend,
                profile: kind.profile,
                sessions: kind.sessions,
                agent_caches: caches::folder_of(&state, &workspace),
                workspace,
                state,
                opens_socket: writable.iter().any(|path| is_socket(path)),
                writable,
                masked: Vec::new(),
                places,
                contained,
                held,
                room: None,
            }),
        })
    }

    /// Walls for trying out: with one more place that is masked.
    pub(super) fn trial(kind: Kind<'_>, scene: &Scene, masked: PathBuf) -> Result<Self, String> {
        let held = Sandbox::default();
        let walls = Self::new(kind, &SandboxSpec::default(), scene, held);
        let walls = walls.map_err(|refused| refused.0)?;
        let own = Own {
            agent_caches: masked.with_file_name("caches"),
            masked: vec![masked],
            ..Arc::unwrap_or_clone(walls.own)
        };
        Ok(Self { own: Arc::new(own) })
    }
}
