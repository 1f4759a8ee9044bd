//! A hub, workers and clients, all of them the real binary: what is submitted is carried out, whoever of
//! them is killed meanwhile.

mod losses;
mod plans;
mod replicas;
pub(crate) mod stage;
mod whole;
