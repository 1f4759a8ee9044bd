//! Running one program so that it, and all it starts, is certainly gone afterwards.
//!
//! Each session (an agent, a check, a tool's command) has a small supervisor process to itself,
//! which adopts every orphan of the session's process tree. The tree ends when the program ends,
//! when a clock runs out, when the caller cancels, and when the main program dies in any way at
//! all, `kill -9` included: the supervisor notices that its control socket closed. That nothing is
//! left is asked of the kernel before it is said.
//!
//! The usual way through: [`Session::prepare`] (the supervisor runs, holds the lock file, and has
//! started nothing yet: now the intent can be made durable), then [`run`], which starts the
//! program, captures its output, watches the clocks and returns how it [`Ended`].
//!
//! Nothing here knows what an agent or a check is, and nothing here judges an exit code.

mod clocks;
mod command;
mod ended;
mod find;
mod lock;
mod pool;
mod run;
mod session;

mod sweep;
mod wire;

#[cfg(target_os = "linux")]
mod proc;

pub mod capture;
pub mod supervisor;

pub(crate) use supervisor::control::Control;
pub(crate) use supervisor::{Found, clear_containers, clear_temporary, spawn_shielded};
pub(crate) use wire::Bytes;

pub use clocks::Limits;
pub use command::{Command, Stdin, StopSignal, Streams, Supervisor, TAG_VARIABLE};
pub use ended::{
    Ended, Exit, How, ProcessName, SpawnFailure, SpawnFailureKind, TreeReport,
    method_of_this_system,
};
pub(crate) use find::DEFAULT_PATH;
pub use find::find_program;
pub use lock::{Liveness, wait_until_dead};
pub use run::run;
pub use session::{Lost, PrepareError, Prepared, Session, StartError};
pub use sweep::{sweep, sweep_run};
