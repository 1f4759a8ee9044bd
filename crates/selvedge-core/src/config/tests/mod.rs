//! What the configuration promises: its defaults, its layers, its messages.

mod defaults;
mod layers;
mod messages;

use super::{ConfigError, FileOwner, Layer, Resolved, resolve};

fn person(text: &str) -> Layer {
    Layer::file(
        FileOwner::Person,
        "~/.config/selvedge/config.toml",
        text.to_owned(),
    )
    .unwrap()
}

fn repository(text: &str) -> Layer {
    Layer::file(FileOwner::Repository, "selvedge.toml", text.to_owned()).unwrap()
}

fn of_repository(text: &str) -> Result<Resolved, ConfigError> {
    Layer::file(FileOwner::Repository, "selvedge.toml", text.to_owned())
        .and_then(|layer| resolve([layer]))
}
