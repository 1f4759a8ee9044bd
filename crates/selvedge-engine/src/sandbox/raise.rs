//! From the walls that are wished for to those that stand here: the first backend that works, or the
//! one that was named, and what it was seen to hold.

use std::path::PathBuf;
use std::sync::Arc;

use selvedge_core::model::{Backend, Profile, Sandbox, SandboxSpec};

use super::places::{Places, real};
use super::remembered::Remembered;
use super::{Own, Walls, probe};
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
    let mut remembered = Remembered::read(&scene.state);
    for (profile, walls) in [
        (spec.agents, &mut raised.agents),
        (spec.checks, &mut raised.checks),
    ] {
        if profile == Profile::None {
            if spec.required {
                return Err(Refused("the profile `none` asks for none".to_owned()));
            }
            continue;
        }
        let mut whys = Vec::new();
        for backend in candidates(spec.backend) {
            match holds(*backend, profile, scene, supervisor, &mut remembered).await {
                Ok(held) => {
                    *walls = Some(Walls::new(*backend, profile, spec, scene, held));
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

fn candidates(wish: Backend) -> &'static [Backend] {
    match wish {
        Backend::Auto => &[Backend::Bubblewrap, Backend::Landlock],
        Backend::Bubblewrap => &[Backend::Bubblewrap],
        Backend::Landlock => &[Backend::Landlock],
        Backend::None => &[],
    }
}

async fn holds(
    backend: Backend,
    profile: Profile,
    scene: &Scene,
    supervisor: &Supervisor,
    remembered: &mut Remembered,
) -> Result<Sandbox, String> {
    if let Some(held) = remembered.get(backend, profile) {
        return held;
    }
    let held = probe::look(backend, profile, scene, supervisor).await;
    remembered.put(backend, profile, held.clone());
    held
}

impl Walls {
    fn new(
        backend: Backend,
        profile: Profile,
        spec: &SandboxSpec,
        scene: &Scene,
        held: Sandbox,
    ) -> Self {
        let places = Places::new(scene.environment.clone());
        let home = places.home.clone();
        let writable = spec.writable.iter().filter_map(|path| {
            let path = match (path.strip_prefix("~/"), &home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(path),
            };
            real(path).filter(|path| path.is_absolute())
        });
        Self {
            own: Arc::new(Own {
                backend,
                profile,
                workspace: real(scene.workspace.clone()).unwrap_or_else(|| scene.workspace.clone()),
                state: real(scene.state.clone()).unwrap_or_else(|| scene.state.clone()),
                writable: writable.collect(),
                masked: Vec::new(),
                places,
                held,
            }),
        }
    }

    /// Walls for trying out: with one more place that is masked.
    pub(super) fn trial(
        backend: Backend,
        profile: Profile,
        scene: &Scene,
        masked: PathBuf,
    ) -> Self {
        let walls = Self::new(
            backend,
            profile,
            &SandboxSpec::default(),
            scene,
            Sandbox::default(),
        );
        let own = Own {
            masked: vec![masked],
            places: walls.own.places.clone(),
            workspace: walls.own.workspace.clone(),
            state: walls.own.state.clone(),
            writable: Vec::new(),
            held: Sandbox::default(),
            backend,
            profile,
        };
        Self { own: Arc::new(own) }
    }
}
