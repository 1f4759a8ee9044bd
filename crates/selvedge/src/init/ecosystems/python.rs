//! Python projects: pytest, tox, nox, Django, unittest; configured type checkers and linters. Commands run through the
//! project's package manager (uv, Poetry, PDM, Pipenv) if it has one.

use toml::{Table, Value};

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const MANIFESTS: [&str; 10] = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "pytest.ini",
    "Pipfile",
    "requirements.txt",
    "requirements-dev.txt",
    "noxfile.py",
    "manage.py",
];

const REQUIREMENTS: [&str; 8] = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
];

/// Names that projects give to the optional dependencies of their tests.
const TEST_EXTRAS: [&str; 5] = ["test", "tests", "testing", "dev", "develop"];

/// A linter or type checker: its name (also of its table in `pyproject.toml`), settings files, section in shared ini
/// files, and command.
struct PythonTool {
    name: &'static str,
    role: CheckRole,
    files: &'static [&'static str],
    section: &'static str,
    command: &'static str,
}

const TOOLS: [PythonTool; 7] = [
    PythonTool {
        name: "mypy",
        role: CheckRole::Types,
        files: &["mypy.ini", ".mypy.ini"],
        section: "[mypy]",
        command: "mypy .",
    },
    PythonTool {
        name: "pyright",
        role: CheckRole::Types,
        files: &["pyrightconfig.json"],
        section: "",
        command: "pyright",
    },
    PythonTool {
        name: "basedpyright",
        role: CheckRole::Types,
        files: &[],
        section: "",
        command: "basedpyright",
    },
    PythonTool {
        name: "ty",
        role: CheckRole::Types,
        files: &["ty.toml"],
        section: "",
        command: "ty check",
    },
    PythonTool {
        name: "ruff",
        role: CheckRole::Lint,
        files: &["ruff.toml", ".ruff.toml"],
        section: "",
        command: "ruff check .",
    },
    PythonTool {
        name: "flake8",
        role: CheckRole::Lint,
        files: &[".flake8"],
        section: "[flake8]",
        command: "flake8",
    },
    PythonTool {
        name: "black",
        role: CheckRole::Format,
        files: &[],
        section: "",
        command: "black --check .",
    },
];

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let is_script_collection = || at.path.is_empty() && at.paths().any(is_test_file);
    if at.first(&MANIFESTS).is_none() && !is_script_collection() {
        return Vec::new();
    }
    let project = PythonProject {
        at,
        pyproject: pyproject(at),
    };
    let mut proposals: Vec<_> = project.test_proposal().into_iter().collect();
    proposals.extend(TOOLS.iter().filter_map(|tool| project.tool_proposal(tool)));
    if project
        .tool_table("ruff")
        .is_some_and(|ruff| ruff.get("format").is_some())
    {
        proposals.push(project.propose(
            CheckRole::Format,
            "format",
            "ruff format --check .",
            "pyproject.toml",
        ));
    }
    proposals
}

/// Whether a file has the name of test files for both unittest and pytest.
fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.starts_with("test_") && name.rsplit_once('.').is_some_and(|(_, end)| end == "py")
}

/// A uv workspace has one environment; its tests run from its root.
fn covers(above: &RepositoryDirectory<'_>, _: &RepositoryDirectory<'_>) -> bool {
    let uv = pyproject(above)
        .get("tool")
        .and_then(|tool| tool.get("uv")?.get("workspace").cloned());
    uv.is_some()
}

fn pyproject(at: &RepositoryDirectory<'_>) -> Table {
    at.text_or_empty("pyproject.toml")
        .parse()
        .unwrap_or_default()
}

struct PythonProject<'a> {
    at: &'a RepositoryDirectory<'a>,
    pyproject: Table,
}

impl PythonProject<'_> {
    /// The ways to run the tests that the files suggest, the most likely first.
    fn test_proposal(&self) -> Option<Proposal> {
        let pytest = self.pytest_marker().map(|found_in| ("pytest", found_in));
        let of_file = |command, file| self.at.has(file).then_some((command, file));
        let tox = self.at.text_or_empty("tox.ini").contains("[testenv");
        let candidates = [
            pytest,
            of_file("python manage.py test", "manage.py"),
            tox.then_some(("tox", "tox.ini")),
            of_file("nox", "noxfile.py"),
        ];
        let candidates = candidates.into_iter().flatten();
        let mut proposals: Vec<Proposal> = candidates
            .map(|(command, found_in)| self.propose_tests(command, found_in))
            .collect();
        // pytest runs the tests of unittest, too.
        let test_file = self.at.paths().find(|path| is_test_file(path));
        if let (None, Some(file)) = (pytest, test_file) {
            let commands = self.commands_without_settings(file);
            let commands = commands.iter();
            proposals.extend(commands.map(|command| self.propose_tests(command, file)));
        }
        Proposal::first_usable(proposals)
    }

    fn propose_tests(&self, command: &str, found_in: &str) -> Proposal {
        let proposal = self.propose(CheckRole::Test, "tests", command, found_in);
        match &proposal.install {
            None if command == "pytest" => proposal.with_install(Some(self.install_pytest())),
            _ => proposal,
        }
    }

    /// Commands for test files without settings that describe how they are run: those of unittest, then pytest.
    fn commands_without_settings(&self, test_file: &str) -> Vec<String> {
        let folder = test_file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_package = folder.is_empty() || self.at.has(&format!("{folder}/__init__.py"));
        // The folder becomes a word of a shell line.
        let is_plain = |folder: &str| {
            folder
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_'))
        };
        let discover = if is_package || !is_plain(folder) {
            "-m unittest discover".to_owned()
        } else {
            // Only packages are searched for tests.
            format!("-m unittest discover -s {folder}")
        };
        vec![
            format!("python {discover}"),
            format!("python3 {discover}"),
            "pytest".to_owned(),
        ]
    }

    /// The file that shows that the project uses pytest.
    fn pytest_marker(&self) -> Option<&'static str> {
        let has = |file, text: &str| self.at.text_or_empty(file).contains(text).then_some(file);
        self.tool_table("pytest")
            .map(|_| "pyproject.toml")
            .or_else(|| {
                self.at.first(&[
                    "pytest.ini",
                    ".pytest.ini",
                    "conftest.py",
                    "tests/conftest.py",
                ])
            })
            .or_else(|| has("setup.cfg", "[tool:pytest]"))
            .or_else(|| has("tox.ini", "[pytest]"))
            .or_else(|| {
                REQUIREMENTS
                    .into_iter()
                    .find_map(|file| has(file, "pytest"))
            })
            .or_else(|| has("Pipfile", "pytest"))
    }

    fn tool_proposal(&self, tool: &PythonTool) -> Option<Proposal> {
        let in_ini = |file: &&str| {
            !tool.section.is_empty() && self.at.text_or_empty(file).contains(tool.section)
        };
        let settings = self
            .tool_table(tool.name)
            .map(|_| "pyproject.toml")
            .or_else(|| self.at.first(tool.files))
            .or_else(|| ["setup.cfg", "tox.ini"].into_iter().find(in_ini))?;
        Some(self.propose(tool.role, tool.name, self.tool_command(tool), settings))
    }

    /// The command of a tool, which must neither pass files other than those that its settings list, nor change any.
    fn tool_command(&self, tool: &PythonTool) -> &'static str {
        let mypy = self.tool_table("mypy");
        let has_files = mypy.is_some_and(|mypy| {
            ["files", "packages", "modules"]
                .iter()
                .any(|key| mypy.get(key).is_some())
        });
        // With this setting, ruff would repair the copy that is checked, and pass.
        let fixes = || {
            let fix = self.tool_table("ruff").and_then(|ruff| ruff.get("fix"));
            fix == Some(&Value::Boolean(true))
        };
        if tool.name == "mypy" && has_files {
            "mypy"
        } else if tool.name == "ruff" && fixes() {
            "ruff check --no-fix ."
        } else {
            tool.command
        }
    }

    fn tool_table(&self, name: &str) -> Option<&Value> {
        self.pyproject.get("tool")?.get(name)
    }

    fn propose(&self, role: CheckRole, name: &str, command: &str, found_in: &str) -> Proposal {
        let prefix = self.run_prefix();
        let installed = self.at.with_virtual_environment(command);
        let install = match prefix {
            "uv run " => Some("uv sync".to_owned()),
            "poetry run " => Some("poetry install".to_owned()),
            "pdm run " => Some("pdm install".to_owned()),
            "pipenv run " => Some("pipenv install --dev".to_owned()),
            _ => self.pip_install(),
        };
        let install = install.filter(|_| self.may_be_installed(command));
        let propose = |command| Proposal::new(self.at, role, name, command, found_in);
        let installed_alternative = propose(installed.clone());
        if prefix.is_empty() {
            return installed_alternative.with_install(install);
        }
        let mut proposal = propose(format!("{prefix}{command}")).with_install(install);
        // The package manager may be missing where its environment was installed in another way.
        if installed != command {
            proposal.add_alternative(installed_alternative);
        }
        proposal
    }

    /// Whether an installation of the locked dependencies may contain the program of a command. All of these files
    /// have the names of packages in double quotes.
    fn may_be_installed(&self, command: &str) -> bool {
        const LOCK_FILES: [&str; 4] = ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"];
        let program = command.split(' ').next().unwrap_or_default();
        let lock_file = self.at.first(&LOCK_FILES);
        let lock = lock_file.map(|file| self.at.text_or_empty(file));
        program.starts_with("python")
            || lock.is_none_or(|lock| lock.contains(&format!("\"{program}\"")))
    }

    fn pip_install(&self) -> Option<String> {
        let requirements = self.at.first(&[
            "requirements-dev.txt",
            "requirements_dev.txt",
            "dev-requirements.txt",
            "requirements.txt",
        ])?;
        // Tests of a package import it.
        let package = if self.is_package() { " -e ." } else { "" };
        Some(format!(
            "python3 -m venv .venv && .venv/bin/pip install -r {requirements}{package}"
        ))
    }

    /// Installs pytest where no file of requirements names the dependencies, and the package that the tests import, with
    /// its optional dependencies for tests.
    fn install_pytest(&self) -> String {
        let extras = self.pyproject.get("project");
        let extras = extras.and_then(|project| project.get("optional-dependencies"));
        let extra = TEST_EXTRAS
            .into_iter()
            .find(|name| extras.is_some_and(|extras| extras.get(name).is_some()));
        let package = match extra {
            _ if !self.is_package() => String::new(),
            Some(extra) => format!("-e '.[{extra}]' "),
            None => "-e . ".to_owned(),
        };
        format!("python3 -m venv .venv && .venv/bin/pip install {package}pytest")
    }

    fn is_package(&self) -> bool {
        let has = |file: &&str| self.at.has(file);
        self.pyproject.get("project").is_some()
            || self.pyproject.get("build-system").is_some()
            || ["setup.py", "setup.cfg"].iter().any(has)
    }

    /// The prefix that runs a program in the project's environment.
    fn run_prefix(&self) -> &'static str {
        let has = |file: &str, tool: &str| self.at.has(file) || self.tool_table(tool).is_some();
        let uv_above = || self.at.ancestors().any(|above| above.has("uv.lock"));
        if has("uv.lock", "uv") || uv_above() {
            "uv run "
        } else if has("poetry.lock", "poetry") {
            "poetry run "
        } else if has("pdm.lock", "pdm") {
            "pdm run "
        } else if self.at.has("Pipfile") {
            "pipenv run "
        } else {
            ""
        }
    }
}
