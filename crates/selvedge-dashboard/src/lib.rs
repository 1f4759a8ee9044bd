//! The dashboard: pages that show what happened, why, and what it cost. It depends on the journal's types,
//! but not on where runs are stored: the owner of the runs (the local journal for `selvedge ui`, the store
//! for the hub) provides a [`DashboardBackend`](backend::DashboardBackend) and mounts [`web::router`].
//!
//! Everything on a page is rendered on the server: HTML (templates that escape by construction), charts
//! (SVG), one stylesheet and one small script. Nothing is loaded from another host. All text of agents,
//! checks and repositories is untrusted, and becomes markup only in [`text`].

mod assets;
pub mod backend;
pub mod charts;
pub mod command;
pub mod diff;
pub mod grid;
mod pages;
pub mod stats;
pub mod story;
pub mod text;
pub mod trace;
pub mod web;
