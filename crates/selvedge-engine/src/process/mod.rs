//! Runs one program so that it and all processes that it starts are certainly gone afterwards.
//!
//! Each session (an agent, a check, a tool's command) has its own small supervisor process, which
//! adopts every orphan of the session's process tree. The tree ends when the program ends, when a
//! time limit is reached, when the caller cancels, and when the main program dies in any way, `kill
//! -9` included: the supervisor notices that its control socket closed. A tree is reported as gone
//! only after the kernel has confirmed it.
//!
//! Usual sequence: [`Session::prepare`] (the supervisor runs, holds the lock file, and has not
//! started anything: the intent can now be made durable), then [`run()`], which starts the program,
//! captures its output, enforces the time limits and returns its [`SessionExit`].
//!
//! This module does not know what an agent or a check is and does not interpret exit codes.

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
    ResolvedProgram, remove_abandoned_containers, remove_abandoned_folders,
    spawn_with_blocked_signals,
};
pub(crate) use wire::SystemString;

pub use command::{SessionCommand, StderrMode, StdinSource, StopSignal, Supervisor, TAG_VARIABLE};
pub use lock::{Liveness, wait_until_dead};
pub use process_cleanup::{kill_run_processes, kill_session_processes};
pub use program_lookup::find_program;
pub(crate) use program_lookup::{DEFAULT_PATH, is_executable};
pub use run::run;
pub use session::{PrepareError, PreparedSession, Session, StartError, SupervisorLostError};
pub use session_exit::{
    EndReason, ProcessExit, ProcessName, SessionExit, SpawnError, SpawnErrorKind, TreeReport,
    supported_tree_method,
};
pub use timeouts::SessionTimeouts;
