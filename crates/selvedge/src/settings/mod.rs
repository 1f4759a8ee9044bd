//! Where settings are read from the world: files, environment, command line. What they may say and
//! how they are laid over each other is `selvedge_core::config`'s; here are only the places.

mod directories;
mod find;
mod render;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use selvedge_core::config::{self, ConfigError, ConfigLayer, FileOwner, Flags, ResolvedConfig};

pub(crate) use directories::BaseDirectories;
pub(crate) use find::{REPOSITORY_FILE, find_repository_file, git_root};
pub(crate) use render::{DiagnosticSeverity, render_diagnostic};

/// A settings file larger than this is not one.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The settings in force for a directory.
#[derive(Debug)]
pub(crate) struct LoadedSettings {
    /// Their values.
    pub(crate) resolved: ResolvedConfig,
    /// The repository's `selvedge.toml`, if there is one.
    pub(crate) repository_file: Option<PathBuf>,
}

impl LoadedSettings {
    /// The directory that the settings are about: the one that holds `selvedge.toml`, whose checks
    /// are written down from there, or else `dir` itself.
    pub(crate) fn root<'a>(&'a self, dir: &'a Path) -> &'a Path {
        self.repository_file
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or(dir)
    }
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// A layer says something that cannot be.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// A file is there but cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The process's environment, for [`load`] and [`BaseDirectories`]; what is not Unicode sets nothing.
pub(crate) fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Reads all layers for a directory, given as an absolute path.
pub(crate) fn load(
    dir: &Path,
    flags: &Flags,
    environment: &[(String, String)],
) -> Result<LoadedSettings, SettingsError> {
    let directories = BaseDirectories::new(environment);
    let person_file = directories
        .config_dir()
        .map(|config| config.join("config.toml"));
    let repository_file = find_repository_file(dir);
    let mut layers = Vec::new();
    for (owner, file) in [
        (FileOwner::Person, &person_file.ok()),
        (FileOwner::Repository, &repository_file),
    ] {
        if let Some(path) = file
            && let Some(text) = read_optional(path)?
        {
            layers.push(ConfigLayer::file(
                owner,
                directories.display_path(path, dir),
                text,
            )?);
        }
    }
    layers.push(ConfigLayer::environment(environment.iter().cloned()));
    layers.push(ConfigLayer::flags(flags));
    Ok(LoadedSettings {
        resolved: config::resolve(layers)?,
        repository_file,
    })
}

/// The text of a file, nothing if it does not exist.
fn read_optional(path: &Path) -> Result<Option<String>, SettingsError> {
    let text = || -> io::Result<String> {
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if metadata.len() > MAX_SETTINGS_BYTES {
            return Err(io::Error::other("it is larger than 1 MiB"));
        }
        std::fs::read_to_string(path)
    };
    match text() {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SettingsError::Unreadable {
            path: path.to_owned(),
            source,
        }),
    }
}
