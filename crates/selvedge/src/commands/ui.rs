//! `selvedge ui`: serves the dashboard of the local journal on the loopback address. The printed link logs in.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use selvedge_core::model::exit_code;
use selvedge_dashboard::web::{AllowedHosts, Dashboard, standalone_router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::environment;
use super::run_checks::build_runtime;
use crate::cli::UiArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::{OutputFormat, json};
use crate::ui::{LocalBackend, OneTimeLoginLink};

pub(super) fn run(args: &UiArgs) -> Result<u8, CliError> {
    let environment = environment();
    let home = StateDir::from_environment(&environment)?;
    build_runtime()?.block_on(serve(args, home))
}

async fn serve(args: &UiArgs, home: StateDir) -> Result<u8, CliError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = TcpListener::bind(address).await.map_err(|error| {
        CliError::usage(format!("cannot listen on {address}: {error}"))
            .hint("use another --port, or omit it to use a free port")
    })?;
    let port = listener
        .local_addr()
        .map_err(CliError::infrastructure)?
        .port();
    let format = args.format;
    let gate = OneTimeLoginLink::new(port, move |link| print_link(format, link))?;
    gate.show();
    let dashboard = Dashboard {
        backend: Arc::new(LocalBackend::new(home)?),
        authenticator: Arc::new(gate),
        allowed_hosts: AllowedHosts::Listed(vec![
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
        ]),
        has_fleet: false,
    };
    let mut ended = signal(SignalKind::terminate()).map_err(CliError::infrastructure)?;
    tokio::select! {
        served = axum::serve(listener, standalone_router(dashboard)) => served.map_err(CliError::infrastructure)?,
        _ = tokio::signal::ctrl_c() => {}
        _ = ended.recv() => {}
    }
    Ok(exit_code::VERIFIED)
}

fn print_link(format: OutputFormat, link: &str) {
    match format {
        OutputFormat::Human => outln!("open {link}\n(the link works once; press Ctrl-C to stop)"),
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(&json!({ "link": link })),
    }
}
