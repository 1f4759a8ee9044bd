//! Test support for Selvedge's own tests; none of it ships. [`TestEnv`] runs the real binary in a hermetic
//! environment (home, state, configuration, git identity). [`ModelServer`] is a scripted model for real
//! agents, over real HTTP on loopback. [`Browser`] drives a real browser, [`IdentityProvider`] is a provider of OpenID Connect, and [`Postgres`] is a database
//! server for tests. This crate must not depend on Selvedge's other crates: the harness must stay
//! independent of the code that it tests.
//!
//! ```no_run
//! use selvedge_testkit::{ModelScript, ModelServer, ScriptedTurn, TestEnv};
//! use serde_json::json;
//!
//! let server = ModelServer::start(
//!     ModelScript::new()
//!         .session([ScriptedTurn::text("I think it is done.")])
//!         .session([
//!             ScriptedTurn::tool("Write", json!({"file_path": "/w/answer", "content": "42"})),
//!             ScriptedTurn::text("Fixed.").usage(1_000, 50),
//!         ]),
//! );
//! // In a test of the binary: TestEnv::new(env!("CARGO_BIN_EXE_selvedge")).
//! let env = TestEnv::new("target/debug/selvedge");
//! env.create_repo();
//! let output = env
//!     .selvedge(["run", "write the answer", "--check", "test -s answer"])
//!     .env("ANTHROPIC_BASE_URL", server.url())
//!     .run();
//! output.assert_success();
//! assert!(server.prompts()[1].contains("VERIFICATION RETRY 1/2"));
//! ```
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness that cannot do its part fails the test that called it, at that line"
)]

mod browser;
mod certificates;
mod http_receiver;
mod identity_provider;
mod model_server;
mod optional_programs;
mod polling;
mod postgres;
mod process_attacks;
mod scripted_acp;
mod test_env;
mod watched_value;

pub use browser::{Browser, BrowserKey, BrowserTab};
pub use certificates::TestCa;
pub use http_receiver::{HttpReceiver, ReceivedRequest};
pub use identity_provider::IdentityProvider;
pub use model_server::{
    ModelScript, ModelServer, RecordedRequest, ReplySource, ScriptedToolCall, ScriptedTurn,
    TurnFault, TurnUsage,
};
pub use optional_programs::is_available;
pub use polling::{Polling, wait_until};
pub use postgres::Postgres;
pub use process_attacks::attack_process;
pub use scripted_acp::ScriptedAcpAgent;
pub use test_env::{
    CommandOutput, Invocation, RunningProcess, SpawnedProgram, TestEnv, assert_contains,
};
pub use watched_value::WAIT_TIMEOUT;
