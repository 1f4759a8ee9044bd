//! The dashboard over a hub: who may come in by which token, and the store as the pages ask it. The
//! pages themselves are `selvedge_face`'s.

mod board;
mod gate;
mod reading;
mod rows;

use std::sync::Arc;

use axum::Router;
use selvedge_face::web::{Face, Hosts, router};

use crate::hub::Hub;

/// The dashboard, to be merged with [`app`](crate::app).
pub fn dashboard(hub: &Arc<Hub>) -> Router {
    router(Face {
        reading: Arc::new(reading::HubReading::new(Arc::clone(hub))),
        gate: Arc::new(gate::ByToken(Arc::clone(hub))),
        hosts: Hosts::These(hub.settings().hosts.clone()),
        has_fleet: true,
    })
}
