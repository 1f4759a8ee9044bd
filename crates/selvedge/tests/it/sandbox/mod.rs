//! The walls, through the real binary and on both backends. Every escape is a real attempt: what must
//! not happen is looked for outside, and is not asked of whoever attempted it. A backend that is not
//! there fails these tests and says what to install; nothing is skipped.

mod asked;
mod blame;
mod endings;
mod escapes;
mod kernel;
mod scene;
mod secrets;
mod steering;
mod strict;

/// One test for each function and backend: `sandbox::…::bubblewrap::name`.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod bubblewrap {
            $(#[test]
            fn $name() {
                super::$name(&crate::sandbox::scene::Scene::behind("bubblewrap"));
            })+
        }
        mod landlock {
            $(#[test]
            fn $name() {
                super::$name(&crate::sandbox::scene::Scene::behind("landlock"));
            })+
        }
    };
}
pub(crate) use on_both;
