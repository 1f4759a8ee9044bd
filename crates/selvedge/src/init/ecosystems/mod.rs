//! One file for each family of tools: which manifests and settings of a directory mean which
//! checks. All of it is guesswork that is tried out and then read by a person; where there is
//! doubt, nothing is proposed.

mod cmake;
mod deno;
mod dotnet;
mod elixir;
mod go;
mod javascript;
mod jvm;
mod php;
mod python;
mod ruby;
mod rust;
mod tasks;

use super::proposal::Ecosystem;

/// Every family; task runners last, since they only fill what the others leave open.
pub(super) const ALL: [Ecosystem; 12] = [
    rust::ECOSYSTEM,
    javascript::ECOSYSTEM,
    deno::ECOSYSTEM,
    python::ECOSYSTEM,
    go::ECOSYSTEM,
    jvm::ECOSYSTEM,
    elixir::ECOSYSTEM,
    ruby::ECOSYSTEM,
    php::ECOSYSTEM,
    dotnet::ECOSYSTEM,
    cmake::ECOSYSTEM,
    tasks::ECOSYSTEM,
];
