//! The stage of a round: hubs, workers behind proxies, a scripted provider, clients; and what can be
//! done to them.

mod client;
mod clock;
mod database;
mod fleet;
mod ground;
mod hubs;
mod process;
mod provider;
mod proxy;
mod shim;

pub use client::{Client, Wanted};
pub use clock::now_us;
pub use database::Database;
pub use fleet::{Fleet, Settings, Whose, Worker};
pub use hubs::Hub;
pub use process::{Ended, Process};
pub use provider::{Provider, agent};
pub use proxy::{Proxy, Rule, What};
pub use shim::Shim;

/// Why something cannot be staged.
pub type Trouble = Box<dyn std::error::Error + Send + Sync>;
