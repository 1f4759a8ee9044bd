//! A hub, workers and clients, all of them the real binary: what is submitted is carried out, whoever of
//! them is killed meanwhile.

mod defaults;
pub(crate) mod fixture;
mod folders;
mod losses;
mod plans;
mod replicas;
mod reviews;
mod tls;
mod whole;
