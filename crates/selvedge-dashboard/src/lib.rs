//! The dashboard: what happened, why, and what it cost, as pages for people. It knows the journal's
//! types and nothing of where runs are kept: whoever keeps them (the local journal behind `selvedge
//! ui`, the store behind the hub) hands in a [`Reading`](backend::DashboardBackend), and mounts
//! [`web::router`].
//!
//! Everything on a page is made here, on the server: the HTML (templates that escape by
//! construction), the charts (SVG), one stylesheet and one small script. Nothing comes from another
//! host. All text of agents, checks and repositories is foreign, and becomes markup in [`text`] only.

pub mod backend;
pub mod charts;
pub mod command;
pub mod diff;
pub mod grid;
mod pages;
pub mod stats;
pub mod text;
pub mod web;
