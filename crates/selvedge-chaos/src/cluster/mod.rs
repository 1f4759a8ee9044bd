//! The stage of a round: hubs, workers behind proxies, a scripted provider, clients; and what can be
//! done to them.

mod client;
mod clock;
mod database;
mod fixtures;
mod fsync_shim;
mod hubs;
mod process;
mod provider;
mod proxy;
mod workers;

pub use client::{RecordingClient, TaskTemplate};
pub use clock::now_us;
pub use database::Database;
pub use fsync_shim::FsyncShim;
pub use hubs::HubNode;
pub use process::{ManagedProcess, NodeExit};
pub use provider::{ScriptedProvider, run_agent};
pub use proxy::{Proxy, ProxyAction, ProxyRule};
pub use workers::{Cluster, ClusterNode, RoundSettings, WorkerNode};

/// Why something cannot be staged.
pub type ChaosError = Box<dyn std::error::Error + Send + Sync>;
