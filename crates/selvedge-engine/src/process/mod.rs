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
//! program, captures its output, watches the clocks and returns how it [`SessionExit`].
//!
//! Nothing here knows what an agent or a check is, and nothing here judges an exit code.

mod command;
mod lock;
mod pool;
mod program_lookup;
mod run;
mod session;
mod session_exit;
mod timeouts;

mod process_cleanup;
mod wire;

#[cfg(target_os = "linux")]
mod proc;

pub mod capture;
pub mod supervisor;

pub(crate) use supervisor::control::ControlSocket;
pub(crate) use supervisor::{
    ResolvedProgram, clear_containers, clear_temporary, spawn_with_blocked_signals,
};
pub(crate) use wire::SystemString;

pub use command::{SessionCommand, StderrMode, StdinSource, StopSignal, Supervisor, TAG_VARIABLE};
pub use lock::{Liveness, wait_until_dead};
pub use process_cleanup::{kill_run_processes, kill_session_processes};
pub(crate) use program_lookup::DEFAULT_PATH;
pub use program_lookup::find_program;
pub use run::run;
pub use session::{PrepareError, PreparedSession, Session, StartError, SupervisorLostError};
pub use session_exit::{
    EndReason, ProcessExit, ProcessName, SessionExit, SpawnError, SpawnErrorKind, TreeReport,
    supported_tree_method,
};
pub use timeouts::SessionTimeouts;
