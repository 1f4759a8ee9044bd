//! The sandbox through the real binary, on every backend. Every escape is a real attempt, and its effects are
//! checked from outside. If bubblewrap, Landlock or Podman is missing, its tests report that they are skipped,
//! and fail in CI; Docker is tested only if `DOCKER_HOST` names a service.

mod asked;
mod blame;
mod caches;
mod containers;
mod endings;
mod escapes;
mod fixture;
mod forging;
mod git_dirs;
mod kernel;
mod masks;
mod private_home;
mod room;
mod secrets;
mod settings;
mod sockets;
mod steering;
mod strict;
mod temporary;

/// Defines a test for each function on one backend: `sandbox::…::bubblewrap::name`.
macro_rules! behind {
    ($module:ident, $backend:ident, $($name:ident),+ $(,)?) => {
        crate::sandbox::behind!($module, with_backend, $backend, [$($name),+]);
    };
    ($module:ident, $create:ident, $backend:ident, [$($name:ident),+]) => {
        mod $module {
            $(#[test]
            fn $name() {
                let backend = stringify!($backend);
                if let Some(fixture) = crate::sandbox::fixture::SandboxFixture::$create(backend) {
                    super::$name(&fixture);
                }
            })+
        }
    };
}
pub(crate) use behind;

/// Defines tests on every backend except containers.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        crate::sandbox::behind!(bubblewrap, bubblewrap, $($name),+);
        crate::sandbox::behind!(landlock, landlock, $($name),+);
    };
}
pub(crate) use on_both;

/// Defines tests in containers of one engine: `sandbox::…::podman::name`.
macro_rules! in_containers {
    ($module:ident, $engine:ident, $($name:ident),+ $(,)?) => {
        mod $module {
            $(#[test]
            fn $name() {
                let engine = crate::sandbox::containers::Engine::$engine;
                if let Some(fixture) = crate::sandbox::fixture::SandboxFixture::in_container(engine) {
                    super::$name(&fixture);
                }
            })+
        }
    };
}
pub(crate) use in_containers;

/// Defines tests on every backend, and with the profile `strict` on those without containers.
macro_rules! on_all_profiles {
    ($($name:ident),+ $(,)?) => {
        $crate::sandbox::on_all!($($name),+);
        $crate::sandbox::behind!(bubblewrap_strict, strict, bubblewrap, [$($name),+]);
        $crate::sandbox::behind!(landlock_strict, strict, landlock, [$($name),+]);
    };
}
pub(crate) use on_all_profiles;

/// Defines tests on every backend.
macro_rules! on_all {
    ($($name:ident),+ $(,)?) => {
        $crate::sandbox::on_both!($($name),+);
        $crate::sandbox::in_containers!(podman, Podman, $($name),+);
        $crate::sandbox::in_containers!(docker, Docker, $($name),+);
    };
}
pub(crate) use on_all;
