//! The processes of a round: hubs, workers behind proxies, a scripted provider and a client; and the
//! faults that can be applied to them.

mod client;
mod clock;
mod database;
mod faulty_hub;
mod faulty_store;
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
pub use faulty_hub::run_faulty_hub;
pub use fsync_shim::FsyncShim;
pub use hubs::HubNode;
pub use process::{ManagedProcess, NodeExit};
pub use provider::{ScriptedProvider, run_agent};
pub use proxy::{Proxy, ProxyAction, ProxyRule};
pub use workers::{Cluster, ClusterNode, RoundSettings, WorkerNode};

/// Error while setting up or driving a round.
pub type ChaosError = Box<dyn std::error::Error + Send + Sync>;
