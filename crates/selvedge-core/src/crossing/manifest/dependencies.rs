//! The dependencies in a manifest, without its other parts: scripts, build settings, commands.

use serde_json::{Map, Value};

use super::ManifestFormat;

/// The manifest from before the attempt with the attempt's dependencies. A new manifest consists of these, and of the
/// name of its package. `None` if it cannot be read.
pub(crate) fn with_dependencies(
    path: &str,
    before: Option<&[u8]>,
    after: &[u8],
) -> Option<Vec<u8>> {
    let format = ManifestFormat::of(path).filter(|it| *it != ManifestFormat::TsConfig)?;
    let is_new = before.is_none();
    let before = before.map_or(Some(format.empty()), |bytes| format.read(bytes))?;
    let parsed = format.read(after)?;
    let merged = match format {
        // The merged file has no directives of the attempt.
        ManifestFormat::GoMod => return Some(after.to_vec()),
        _ => format.take_dependencies("", &before, &parsed, is_new),
    };
    // Setups may read the text.
    if merged == parsed {
        return Some(after.to_vec());
    }
    format.write(&merged)
}

/// A merged manifest with the versions of the language that the attempt's supports: lock files repeat them. `None` if
/// they are the same, or one cannot be read.
pub fn with_supported_versions(path: &str, merged: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    const KEY: &str = "requires-python";
    let format = ManifestFormat::of(path).filter(|it| *it == ManifestFormat::Pyproject)?;
    let (mut manifest, after) = (format.read(merged)?, format.read(after)?);
    let wanted = after["project"].get(KEY)?;
    let project = manifest.get_mut("project")?.as_object_mut()?;
    if project.get(KEY) == Some(wanted) {
        return None;
    }
    project.insert(KEY.to_owned(), wanted.clone());
    format.write(&manifest)
}

/// Whether a file has the name of a manifest.
pub(crate) fn is_manifest(path: &str) -> bool {
    ManifestFormat::of(path).is_some()
}

/// The name of the package that a manifest describes.
pub(crate) fn package_name(path: &str, manifest: &[u8]) -> Option<String> {
    let format = ManifestFormat::of(path)?;
    let manifest = format.read(manifest)?;
    let tables = ["", "project", "package"].into_iter();
    let mut names = tables.map(|table| match table {
        "" => &manifest["name"],
        table => &manifest[table]["name"],
    });
    names.find_map(Value::as_str).map(ToOwned::to_owned)
}

enum KeyPart {
    /// Dependencies, or what a lock file repeats of the manifest.
    Dependencies,
    /// Contains both.
    Mixed,
    Other,
}

impl ManifestFormat {
    fn take_dependencies(self, at: &str, before: &Value, after: &Value, is_new: bool) -> Value {
        let (empty, none) = (Map::new(), Value::Null);
        let before = before.as_object().unwrap_or(&empty);
        let after = after.as_object().unwrap_or(&empty);
        let mut taken = Map::new();
        let dropped = before.keys().filter(|key| !after.contains_key(*key));
        for key in after.keys().chain(dropped) {
            let path = match at {
                "" => key.clone(),
                at => format!("{at}.{key}"),
            };
            let (old, new) = (before.get(key), after.get(key));
            let value = match self.part(&path, is_new) {
                KeyPart::Dependencies => new.cloned(),
                KeyPart::Mixed => {
                    let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
                    let table = match self {
                        Self::SetupCfg => take_requirements(old, new),
                        _ => self.take_dependencies(&path, old, new, is_new),
                    };
                    let is_empty = table.as_object().is_some_and(Map::is_empty);
                    (!is_empty || !old.is_null()).then_some(table)
                }
                KeyPart::Other => old.cloned(),
            };
            if let Some(value) = value {
                taken.insert(key.clone(), value);
            }
        }
        Value::Object(taken)
    }

    fn part(self, path: &str, is_new: bool) -> KeyPart {
        let last = path.rsplit('.').next().unwrap_or(path);
        let is_of_package = || last == "version" || is_new && last == "name";
        let (dependencies, mixed) = match self {
            Self::PackageJson => (
                ["workspaces", "overrides", "resolutions", "pnpm.overrides"].contains(&path)
                    || is_of_package()
                    || path.to_lowercase().ends_with("dependencies")
                    || path.ends_with("DependenciesMeta"),
                path == "pnpm",
            ),
            Self::ComposerJson => (
                is_of_package() || ["require", "require-dev", "autoload"].contains(&path),
                false,
            ),
            Self::Pyproject => match path.strip_prefix("tool.") {
                Some(tool) => (
                    [
                        "uv.workspace",
                        "uv.dev-dependencies",
                        "poetry.version",
                        "poetry.dependencies",
                        "poetry.dev-dependencies",
                        "poetry.group",
                        "poetry.extras",
                        "pdm.dev-dependencies",
                    ]
                    .contains(&tool),
                    ["uv", "poetry", "pdm"].contains(&tool),
                ),
                None => (
                    path == "dependency-groups"
                        || path.starts_with("project.")
                            && (is_of_package()
                                || last == "dynamic"
                                || last == "requires-python"
                                || last.ends_with("dependencies")),
                    ["project", "tool"].contains(&path),
                ),
            },
            Self::Cargo => (
                last.ends_with("dependencies")
                    || last == "features"
                    || path == "workspace.members"
                    || is_of_package(),
                ["package", "workspace"].contains(&path) || path.starts_with("target"),
            ),
            Self::SetupCfg => (path == "options.extras_require", path == "options"),
            Self::GoMod | Self::TsConfig => (false, false),
        };
        if dependencies {
            KeyPart::Dependencies
        } else if mixed {
            KeyPart::Mixed
        } else {
            KeyPart::Other
        }
    }
}

/// The text of `[options]` in `setup.cfg`, with the packages that the attempt's requires.
fn take_requirements(before: &Value, after: &Value) -> Value {
    const KEY: &str = "install_requires";
    let lines = |text: &Value, wanted: bool| {
        let mut is_list = false;
        let mut selected = String::new();
        for line in text.as_str().unwrap_or_default().lines() {
            if !line.starts_with([' ', '\t', '#']) {
                let name = line.split(['=', ':']).next().unwrap_or(line);
                is_list = name.trim() == KEY;
            }
            if is_list == wanted {
                selected.push_str(line);
                selected.push('\n');
            }
        }
        selected
    };
    if lines(before, false) == lines(after, false) {
        return after.clone();
    }
    Value::String(lines(before, false) + &lines(after, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(path: &str, before: &str, after: &str) -> String {
        let before = (!before.is_empty()).then_some(before.as_bytes());
        String::from_utf8(with_dependencies(path, before, after.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn with_dependencies_takes_nothing_that_a_setup_executes() {
        let cases = [
            (
                "package.json",
                r#"{"scripts": {"install": "a"}, "devDependencies": {"mocha": "10"}}"#,
                r#"{"scripts": {"install": "b"}, "devDependencies": {"mocha": "11"}, "bin": "b.js", "version": "2"}"#,
                r#"{"scripts":{"install":"a"},"devDependencies":{"mocha":"11"},"version":"2"}"#,
            ),
            (
                "packages/new/package.json",
                "",
                r#"{"name": "new", "scripts": {"postinstall": "b"}, "dependencies": {"ms": "2"}}"#,
                r#"{"name":"new","dependencies":{"ms":"2"}}"#,
            ),
            (
                "pyproject.toml",
                "[build-system]\nbuild-backend = \"a\"\n[project]\nname = \"own\"\ndependencies = []\n",
                "[build-system]\nbuild-backend = \"b\"\nbackend-path = [\".\"]\n[project]\nname = \"x\"\n\
                 dependencies = [\"c\"]\nscripts = {pytest = \"own:main\"}\n[dependency-groups]\ndev = [\"d\"]\n\
                 [tool.hatch.build.hooks.custom]\n",
                "[build-system] build-backend = \"a\" [dependency-groups] dev = [\"d\"] \
                 [project] dependencies = [\"c\"] name = \"own\"",
            ),
            (
                "setup.cfg",
                "[options]\ncmdclass =\n  a\ninstall_requires =\n  a\n",
                "[options]\ninstall_requires =\n  a\n  b\ncmdclass =\n  b\n[options.extras_require]\ntest = c\n",
                "[options] cmdclass = a install_requires = a b [options.extras_require] test = c",
            ),
        ];
        for (path, before, after, expected) in cases {
            let taken = taken(path, before, after);
            let taken = if expected.starts_with('{') {
                let json: Value = serde_json::from_str(&taken).unwrap();
                json.to_string()
            } else {
                taken.split_whitespace().collect::<Vec<_>>().join(" ")
            };
            assert_eq!(taken, expected, "{path}");
        }
        let versions = |version: &str| format!("[project]\nrequires-python = \"{version}\"\n");
        let (old, new) = (versions(">=3.9"), versions(">=3.10"));
        let changed = with_supported_versions("pyproject.toml", old.as_bytes(), new.as_bytes());
        assert_eq!(changed.as_deref(), Some(new.as_bytes()));
        let same = "{ \"dependencies\": {} }";
        assert_eq!(taken("package.json", "{}", same), same);
    }
}
