//! The user's directories, by the XDG base directory specification.

use std::path::{Path, PathBuf};

const APP_DIR: &str = "selvedge";

/// The base directories, from environment variables.
#[derive(Debug, Clone)]
pub(crate) struct BaseDirectories {
    home: Option<PathBuf>,
    config_home: Option<PathBuf>,
    state_home: Option<PathBuf>,
}

/// Neither the XDG variable nor `HOME` is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no home directory: set HOME or {0}")]
pub(crate) struct NoHomeError(&'static str);

impl BaseDirectories {
    /// Reads environment variables. Relative paths are ignored, as the specification requires.
    pub(crate) fn new(environment: &[(String, String)]) -> Self {
        let path = |variable: &str| {
            let (_, value) = environment.iter().find(|(name, _)| name == variable)?;
            Some(PathBuf::from(value)).filter(|path| path.is_absolute())
        };
        Self {
            home: path("HOME"),
            config_home: path("XDG_CONFIG_HOME"),
            state_home: path("XDG_STATE_HOME"),
        }
    }

    /// `$XDG_CONFIG_HOME/selvedge`, by default `~/.config/selvedge`: the user's settings.
    pub(crate) fn config_dir(&self) -> Result<PathBuf, NoHomeError> {
        self.app_dir_in(self.config_home.as_ref(), ".config")
            .ok_or(NoHomeError("XDG_CONFIG_HOME"))
    }

    /// `$XDG_STATE_HOME/selvedge`, by default `~/.local/state/selvedge`: journals and outputs.
    pub(crate) fn state_dir(&self) -> Result<PathBuf, NoHomeError> {
        self.app_dir_in(self.state_home.as_ref(), ".local/state")
            .ok_or(NoHomeError("XDG_STATE_HOME"))
    }

    /// A path for messages: relative to `dir` if it is in it, else with `~` if possible.
    pub(crate) fn display_path(&self, path: &Path, dir: &Path) -> PathBuf {
        // Everything is below the root.
        if dir.parent().is_some()
            && let Ok(relative) = path.strip_prefix(dir)
        {
            return relative.to_owned();
        }
        match self
            .home
            .as_ref()
            .and_then(|home| path.strip_prefix(home).ok())
        {
            Some(below_home) => Path::new("~").join(below_home),
            None => path.to_owned(),
        }
    }

    fn app_dir_in(&self, base: Option<&PathBuf>, default: &str) -> Option<PathBuf> {
        let base = base
            .cloned()
            .or_else(|| self.home.as_ref().map(|home| home.join(default)));
        base.map(|base| base.join(APP_DIR))
    }
}
