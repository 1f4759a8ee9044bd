//! Tests of the configuration: its defaults, its layers, its messages.

mod defaults;
mod layers;
mod messages;

use super::{ConfigError, ConfigLayer, FileOwner, ResolvedConfig, resolve};

fn person(text: &str) -> ConfigLayer {
    ConfigLayer::file(
        FileOwner::Person,
        "~/.config/selvedge/config.toml",
        text.to_owned(),
    )
    .unwrap()
}

fn repository(text: &str) -> ConfigLayer {
    ConfigLayer::file(FileOwner::Repository, "selvedge.toml", text.to_owned()).unwrap()
}

fn of_repository(text: &str) -> Result<ResolvedConfig, ConfigError> {
    ConfigLayer::file(FileOwner::Repository, "selvedge.toml", text.to_owned())
        .and_then(|layer| resolve([layer]))
}
