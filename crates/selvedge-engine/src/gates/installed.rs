//! Modules that exist outside the project: if an attempt adds a file with the name of one of them, that file would be
//! loaded instead.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use selvedge_core::crossing::BaseFiles;

/// Top-level modules of Python's standard library that tests, runners and their dependencies load.
const PYTHON_LIBRARY: &str = "abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cmath cmd code \
codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg csv ctypes \
curses dataclasses datetime dbm decimal difflib dis doctest email encodings ensurepip enum errno faulthandler fcntl \
filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip \
hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools json keyword linecache locale logging \
lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing netrc ntpath numbers opcode operator optparse os \
pathlib pdb pickle pickletools pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd \
py_compile pyclbr pydoc queue quopri random re readline reprlib resource runpy sched secrets select selectors shelve \
shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct subprocess \
symtable sys sysconfig syslog tabnanny tarfile tempfile termios test textwrap this threading time timeit token \
tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata unittest urllib uuid venv warnings \
wave weakref webbrowser wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo";
/// Modules of common test tools, wherever they are installed.
const PYTHON_TOOLS: &str = "pytest _pytest py iniconfig pluggy packaging exceptiongroup tomli colorama attr attrs coverage hypothesis \
mypy ruff xdist execnet pytest_cov pytest_mock pytest_asyncio nose nose2 tox nox sortedcontainers typing_extensions";
/// Features of Ruby's standard library and of common test tools.
const RUBY_FEATURES: &str = "minitest rspec test/unit json set time date yaml psych stringio tempfile fileutils pathname logger optparse \
ostruct erb csv digest securerandom open3 timeout benchmark bundler rake simplecov diff-lcs mutex_m power_assert";
/// Folders where C compilers find headers.
const C_HEADERS: [&str; 3] = [
    "/usr/include",
    "/usr/local/include",
    "/usr/include/x86_64-linux-gnu",
];
/// Headers of the standard library, which a compiler may keep elsewhere.
const C_LIBRARY: &str = "assert.h ctype.h errno.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h stdarg.h stdbool.h \
stddef.h stdint.h stdio.h stdlib.h string.h time.h unistd.h";

/// Modules that are installed around a project.
#[derive(Debug)]
pub(super) struct InstalledModules<'a> {
    base: &'a BaseFiles,
    /// Folders of installed Python modules.
    python: Vec<PathBuf>,
}

impl<'a> InstalledModules<'a> {
    /// Scans the surroundings of the project in `dir`, whose files were `base` before the attempt.
    pub(super) fn scan(dir: &Path, base: &'a BaseFiles) -> Self {
        let mut python = Vec::new();
        let environments = [".venv", "venv", "env", ".env", ".tox", ".nox"];
        let mut prefixes: Vec<PathBuf> = environments.iter().map(|name| dir.join(name)).collect();
        prefixes.extend(std::env::var_os("VIRTUAL_ENV").map(PathBuf::from));
        prefixes.extend(["/usr", "/usr/local"].map(PathBuf::from));
        for prefix in prefixes {
            let versions = fs::read_dir(prefix.join("lib"))
                .into_iter()
                .flatten()
                .flatten();
            let versions =
                versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
            for version in versions {
                python.extend(
                    ["site-packages", "dist-packages"].map(|name| version.path().join(name)),
                );
            }
        }
        Self { base, python }
    }

    /// Whether the module that a new file defines has the name of an existing one.
    pub(super) fn has_module_of(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("py" | "pyi" | "so") => self
                .python_module(path)
                .is_some_and(|name| self.has_python_module(&name)),
            Some("rb") => is_feature(path),
            Some("h" | "hpp") => {
                contains_word(C_LIBRARY, name)
                    || C_HEADERS
                        .iter()
                        .any(|folder| Path::new(folder).join(name).is_file())
            }
            None => is_program(name),
            _ => false,
        }
    }

    /// The top-level module that a file is, or whose first file it is.
    fn python_module(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        let is_package = |folder: &str| self.base.contains_key(&format!("{folder}/__init__.py"));
        if !folder.is_empty() && is_package(folder) {
            return None;
        }
        let module = if stem == "__init__" {
            folder.rsplit('/').next().unwrap_or(folder)
        } else {
            stem
        };
        Some(module.to_owned()).filter(|module| !module.is_empty())
    }

    fn has_python_module(&self, module: &str) -> bool {
        let is_there = |folder: &PathBuf| {
            folder.join(module).is_dir() || folder.join(format!("{module}.py")).is_file()
        };
        contains_word(PYTHON_LIBRARY, module)
            || contains_word(PYTHON_TOOLS, module)
            || self.python.iter().any(is_there)
    }
}

/// Whether the name is that of a program: a search path that lists the folder of the new file first would find the
/// file instead.
pub(super) fn is_program(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(name).is_file())
}

/// Whether a Ruby file would be found under the name of a feature, or of a part of one.
fn is_feature(path: &str) -> bool {
    let path = path.trim_end_matches(".rb");
    let features: BTreeSet<&str> = RUBY_FEATURES.split_whitespace().collect();
    let roots = ["", "lib/", "test/", "spec/"];
    let mut below = roots.iter().filter_map(|root| path.strip_prefix(root));
    below.any(|name| {
        let first = name.split('/').next().unwrap_or(name);
        features.contains(name) || (name != first && matches!(first, "minitest" | "rspec"))
    })
}

fn contains_word(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}
