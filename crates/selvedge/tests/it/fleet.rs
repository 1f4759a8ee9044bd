//! A hub, workers and clients, all of them the real binary: submitted tasks are carried out, whichever process
//! is killed meanwhile.

mod access;
mod configuration;
mod defaults;
pub(crate) mod fixture;
mod folders;
mod losses;
mod machines;
mod monitoring;
mod once;
mod plans;
mod projects;
mod replicas;
mod reviews;
mod schedules;
mod submitting;
mod tls;
mod webhooks;
mod whole;
