//! One file per family of tools: which checks the manifests and settings of a directory suggest. Detection guesses;
//! each proposal is tried and then reviewed by a person. In doubt, nothing is proposed.

mod cmake;
mod deno;
mod dotnet;
mod elixir;
mod go;
mod javascript;
mod jvm;
mod perl;
mod php;
mod python;
mod ruby;
mod rust;
mod shell;
mod tasks;

use super::proposal::Ecosystem;

/// All families. Task runners are last, because they only fill gaps.
pub(super) const ALL: [Ecosystem; 14] = [
    rust::ECOSYSTEM,
    javascript::ECOSYSTEM,
    deno::ECOSYSTEM,
    python::ECOSYSTEM,
    go::ECOSYSTEM,
    jvm::ECOSYSTEM,
    elixir::ECOSYSTEM,
    ruby::ECOSYSTEM,
    perl::ECOSYSTEM,
    php::ECOSYSTEM,
    dotnet::ECOSYSTEM,
    cmake::ECOSYSTEM,
    shell::ECOSYSTEM,
    tasks::ECOSYSTEM,
];
