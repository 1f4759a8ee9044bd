//! The sandbox, through the real binary and on every backend. Every escape is a real attempt: what must
//! not happen is looked for outside, and is not asked of whoever attempted it. Where bubblewrap, Landlock
//! or Podman is missing, its tests report that they are skipped, and fail in CI; Docker is tried only
//! where `DOCKER_HOST` names a service.

mod asked;
mod blame;
mod caches;
mod containers;
mod endings;
mod escapes;
mod fixture;
mod forging;
mod kernel;
mod masks;
mod room;
mod secrets;
mod steering;
mod strict;

/// One test for each function on one backend: `sandbox::…::bubblewrap::name`.
macro_rules! behind {
    ($module:ident, $backend:ident, $($name:ident),+ $(,)?) => {
        mod $module {
            $(#[test]
            fn $name() {
                let backend = stringify!($backend);
                if let Some(scene) = crate::sandbox::fixture::SandboxFixture::with_backend(backend) {
                    super::$name(&scene);
                }
            })+
        }
    };
}
pub(crate) use behind;

/// The same on every backend without containers.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        crate::sandbox::behind!(bubblewrap, bubblewrap, $($name),+);
        crate::sandbox::behind!(landlock, landlock, $($name),+);
    };
}
pub(crate) use on_both;

/// The same in containers of one engine: `sandbox::…::podman::name`.
macro_rules! in_containers {
    ($module:ident, $engine:ident, $($name:ident),+ $(,)?) => {
        mod $module {
            $(#[test]
            fn $name() {
                let engine = crate::sandbox::containers::Engine::$engine;
                if let Some(scene) = crate::sandbox::fixture::SandboxFixture::in_container(engine) {
                    super::$name(&scene);
                }
            })+
        }
    };
}
pub(crate) use in_containers;

/// The same where a verification room can be mounted.
macro_rules! in_rooms {
    ($($name:ident),+ $(,)?) => {
        crate::sandbox::behind!(bubblewrap, bubblewrap, $($name),+);
        crate::sandbox::in_containers!(podman, Podman, $($name),+);
    };
}
pub(crate) use in_rooms;

/// The same on every backend.
macro_rules! on_all {
    ($($name:ident),+ $(,)?) => {
        $crate::sandbox::on_both!($($name),+);
        $crate::sandbox::in_containers!(podman, Podman, $($name),+);
        $crate::sandbox::in_containers!(docker, Docker, $($name),+);
    };
}
pub(crate) use on_all;
