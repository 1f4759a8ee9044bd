//! `selvedge ui`: the dashboard over the local journal, on the loopback address, for whoever has the
//! link that is printed.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use selvedge_core::model::exit_code;
use selvedge_face::web::{Face, Hosts, whole};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::environment;
use super::once::runtime;
use crate::cli::UiArgs;
use crate::error::CliError;
use crate::local::Home;
use crate::output::{Format, json};
use crate::ui::{LocalReading, OneLink};

pub(super) fn run(args: &UiArgs) -> Result<u8, CliError> {
    let environment = environment();
    let home = Home::find(&environment)?;
    runtime()?.block_on(serve(args, home))
}

async fn serve(args: &UiArgs, home: Home) -> Result<u8, CliError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = TcpListener::bind(address).await.map_err(|error| {
        CliError::usage(format!("cannot listen on {address}: {error}"))
            .hint("another --port, or none at all for one that is free")
    })?;
    let port = listener
        .local_addr()
        .map_err(CliError::infrastructure)?
        .port();
    let format = args.format;
    let gate = OneLink::new(port, move |link| say(format, link))?;
    gate.say();
    let face = Face {
        reading: Arc::new(LocalReading::new(home)?),
        gate: Arc::new(gate),
        hosts: Hosts::These(vec![
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
        ]),
        has_fleet: false,
    };
    let mut ended = signal(SignalKind::terminate()).map_err(CliError::infrastructure)?;
    tokio::select! {
        served = axum::serve(listener, whole(face)) => served.map_err(CliError::infrastructure)?,
        _ = tokio::signal::ctrl_c() => {}
        _ = ended.recv() => {}
    }
    Ok(exit_code::VERIFIED)
}

/// Prints a link.
fn say(format: Format, link: &str) {
    match format {
        Format::Human => outln!("open {link}\n(it works once; Ctrl-C ends the page)"),
        Format::Json | Format::Jsonl => json::print(&json!({ "link": link })),
    }
}
