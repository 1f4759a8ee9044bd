//! Reads settings from files, environment and command line. `selvedge_core::config` validates and merges them.

mod directories;
mod find;
mod render;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use selvedge_core::config::{self, ConfigError, ConfigLayer, FileOwner, Flags, ResolvedConfig};
use selvedge_engine::environment::host_env;

pub(crate) use directories::BaseDirectories;
pub(crate) use find::{REPOSITORY_FILE, find_repository_file, git_root};
pub(crate) use render::{DiagnosticSeverity, diagnostic_error, print_diagnostic};

/// Size limit for a settings file, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The effective settings of a directory.
#[derive(Debug)]
pub(crate) struct LoadedSettings {
    pub(crate) resolved: ResolvedConfig,
    /// The repository's `selvedge.toml`, if it exists.
    pub(crate) repository_file: Option<PathBuf>,
}

impl LoadedSettings {
    /// The directory that contains `selvedge.toml`, which the settings are relative to, or else `dir`.
    pub(crate) fn root<'a>(&'a self, dir: &'a Path) -> &'a Path {
        self.repository_file
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or(dir)
    }
}

/// Why settings cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// The file exists but cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
}

impl SettingsError {
    /// Whether a repository's file causes it, so that it occurs on every machine.
    pub(crate) fn is_of_repository(&self) -> bool {
        match self {
            Self::Invalid(error) => error.diagnostic.span.source.is_repository(),
            Self::Unreadable { path, .. } => path.ends_with(REPOSITORY_FILE),
        }
    }
}

/// The process's environment, without variables that are not Unicode.
pub(crate) fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    host_env().into_iter().filter_map(text).collect()
}

/// Loads all layers for a directory. `dir` is absolute.
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

/// The text of a file; `None` if it does not exist.
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
        Err(error) => Err(SettingsError::Unreadable {
            path: path.to_owned(),
            error,
        }),
    }
}
