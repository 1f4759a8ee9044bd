//! Which settings files are read, and how problems are reported.

use std::fs;
use std::path::Path;

use selvedge_core::config::Flags;
use tempfile::TempDir;

use super::render::render;
use super::{BaseDirectories, DiagnosticSeverity, SettingsError, find_repository_file, load};

/// A home directory and a repository with a directory in it.
struct SettingsFixture {
    root: TempDir,
}

impl SettingsFixture {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in [
            "home/.config/selvedge",
            "repository/.git",
            "repository/crates/one",
        ] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        Self { root }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.root.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(path), text).unwrap();
    }

    fn environment(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let home = self.path("home").display().to_string();
        let home = [("HOME".to_owned(), home)];
        let more = more
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        home.into_iter().chain(more).collect()
    }

    fn load(&self, dir: &str) -> Result<super::LoadedSettings, SettingsError> {
        load(&self.path(dir), &Flags::default(), &self.environment(&[]))
    }
}

#[test]
fn settings_layers_are_found_from_subdirectory() {
    let world = SettingsFixture::new();
    world.write(
        "home/.config/selvedge/config.toml",
        "agent = \"ollama\"\nlimits.idle_timeout = \"1m\"",
    );
    world.write(
        "repository/selvedge.toml",
        "limits.idle_timeout = \"2m\"\nlimits.timeout = \"3m\"",
    );
    let environment = world.environment(&[("SELVEDGE_LIMITS_TIMEOUT", "4m")]);
    let flags = Flags {
        retries: Some(1),
        ..Flags::default()
    };
    let settings = load(&world.path("repository/crates/one"), &flags, &environment).unwrap();
    let resolved = settings.resolved;
    assert_eq!(
        settings.repository_file,
        Some(world.path("repository/selvedge.toml"))
    );
    assert_eq!(resolved.agent, "ollama");
    assert_eq!(resolved.limits.idle_timeout_ms, 120_000);
    assert_eq!(resolved.limits.wall_ms, 240_000);
    assert_eq!(resolved.max_verification_retries, 1);
    let origin = resolved.origin("agent").unwrap().to_string();
    assert_eq!(origin, "~/.config/selvedge/config.toml:1");
}

#[test]
fn settings_above_repository_are_ignored() {
    let world = SettingsFixture::new();
    world.write("selvedge.toml", "agent = \"nobody's\"");
    assert_eq!(
        find_repository_file(&world.path("repository/crates/one")),
        None
    );
    assert_eq!(
        find_repository_file(&world.path("home")),
        None,
        "nor without a repository"
    );
    assert_eq!(
        find_repository_file(world.root.path()),
        Some(world.path("selvedge.toml"))
    );
}

#[test]
fn base_directories_follow_xdg() {
    let variables = |pairs: &[(&str, &str)]| {
        let owned = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        BaseDirectories::new(&owned.collect::<Vec<_>>())
    };
    let home = variables(&[("HOME", "/home/me")]);
    assert_eq!(
        home.state_dir().unwrap(),
        Path::new("/home/me/.local/state/selvedge")
    );
    assert_eq!(
        home.config_dir().unwrap(),
        Path::new("/home/me/.config/selvedge")
    );
    let xdg = variables(&[
        ("XDG_STATE_HOME", "/state"),
        ("XDG_CONFIG_HOME", "not/absolute"),
    ]);
    assert_eq!(xdg.state_dir().unwrap(), Path::new("/state/selvedge"));
    assert_eq!(
        xdg.config_dir().unwrap_err().to_string(),
        "no home directory: set HOME or XDG_CONFIG_HOME"
    );
}

#[test]
fn settings_unreadable_file_is_an_error() {
    let world = SettingsFixture::new();
    assert!(world.load("repository").is_ok());
    world.write("repository/selvedge.toml", b"agent = \"\xff\"");
    let error = world.load("repository").unwrap_err();
    assert!(matches!(error, SettingsError::Unreadable { .. }), "{error}");
    fs::remove_file(world.path("repository/selvedge.toml")).unwrap();
    fs::create_dir(world.path("repository/selvedge.toml")).unwrap();
    assert!(matches!(
        world.load("repository").unwrap_err(),
        SettingsError::Unreadable { .. }
    ));
}

#[test]
fn settings_errors_show_the_line() {
    let world = SettingsFixture::new();
    world.write(
        "repository/selvedge.toml",
        "[verification]\ntimout = \"5s\" # too short?\nmax_retries = 2\n\n[[checks]]\nname = \"tests\"\nruns = \"\"\"\nmany\nlines\"\"\"\nrun = \"true\"\n",
    );
    let warnings = world.load("repository").unwrap().resolved.warnings;
    let shown: Vec<_> = warnings
        .iter()
        .map(|warning| render(warning, DiagnosticSeverity::Warning, false))
        .collect();
    insta::assert_snapshot!(shown.join("\n\n"));

    world.write(
        "repository/selvedge.toml",
        "# mine\n[verification]\nmax_retries = 9\n",
    );
    let SettingsError::Invalid(error) = world.load("repository").unwrap_err() else {
        panic!("an invalid file")
    };
    insta::assert_snapshot!(render(&error.diagnostic, DiagnosticSeverity::Error, false));
    assert!(render(&error.diagnostic, DiagnosticSeverity::Error, true).contains("\u{1b}["));

    world.write("repository/selvedge.toml", "");
    let flags = Flags {
        timeout: Some("soon".to_owned()),
        ..Flags::default()
    };
    let error = load(&world.path("repository"), &flags, &world.environment(&[])).unwrap_err();
    let SettingsError::Invalid(error) = error else {
        panic!("an invalid flag")
    };
    insta::assert_snapshot!(render(&error.diagnostic, DiagnosticSeverity::Error, false));
}
