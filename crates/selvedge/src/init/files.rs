//! The input of detection: file names and the texts of manifests, as a value, so that detection can be tested without a
//! disk.

use std::collections::{BTreeMap, BTreeSet};

/// The directories of the programs of virtual environments.
const VIRTUAL_ENVIRONMENTS: [&str; 2] = [".venv/bin", "venv/bin"];

/// Files by their path relative to the root, with `/` as the separator. Manifests have their text.
#[derive(Debug, Clone, Default)]
pub(crate) struct RepositoryFiles(BTreeMap<String, Option<String>>);

impl RepositoryFiles {
    pub(super) fn insert(&mut self, path: String, text: Option<String>) {
        self.0.insert(path, text);
    }

    /// Directories that contain files, parents before children; always includes the root.
    pub(super) fn directories<'a>(&'a self) -> BTreeSet<&'a str> {
        let parent = |path: &'a String| path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.0.keys().map(parent).chain([""]).collect()
    }

    pub(super) fn directory<'a>(&'a self, path: &'a str) -> RepositoryDirectory<'a> {
        RepositoryDirectory { files: self, path }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RepositoryDirectory<'a> {
    files: &'a RepositoryFiles,
    /// Relative to the root; empty for the root.
    pub(super) path: &'a str,
}

impl<'a> RepositoryDirectory<'a> {
    /// Whether this file exists; `name` may be a relative path.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.0.contains_key(&self.join(name))
    }

    /// The first of these files that exists.
    pub(super) fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.files.0.get(&self.join(name))?.as_deref()
    }

    /// The text of a manifest; empty if it does not exist.
    pub(super) fn text_or_empty(&self, name: &str) -> &'a str {
        self.text(name).unwrap_or_default()
    }

    /// Paths of all files in this directory and below, relative to it.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'a str> {
        let path = self.path;
        self.files.0.keys().filter_map(move |file| match path {
            "" => Some(file.as_str()),
            _ => file.strip_prefix(path)?.strip_prefix('/'),
        })
    }

    /// Names of the files directly in this directory.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.paths().filter(|path| !path.contains('/'))
    }

    /// The parent directories, nearest first.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = Self> {
        let files = self.files;
        let parent = |path: &'a str| match path.rfind('/') {
            Some(slash) => Some(&path[..slash]),
            None => (!path.is_empty()).then_some(""),
        };
        std::iter::successors(parent(self.path), move |path| parent(path))
            .map(move |path| Self { files, path })
    }

    /// The path of a program in `directory` of this directory or the nearest parent that has it, relative to this one.
    pub(super) fn installed_program(&self, directory: &str, program: &str) -> Option<String> {
        let path = format!("{directory}/{program}");
        std::iter::once(*self)
            .chain(self.ancestors())
            .position(|at| at.has(&path))
            .map(|levels| format!("{}{path}", "../".repeat(levels)))
    }

    /// A command with the program of the project's virtual environment, if that has it: of `python -m unittest`,
    /// `.venv/bin/python -m unittest`.
    pub(super) fn with_virtual_environment(&self, command: &str) -> String {
        let mut rest = command;
        while let Some((word, others)) = rest.split_once(' ')
            && word.contains('=')
        {
            rest = others;
        }
        let variables = &command[..command.len() - rest.len()];
        let program = rest.split(' ').next().unwrap_or_default();
        let arguments = &rest[program.len()..];
        let installed = VIRTUAL_ENVIRONMENTS
            .into_iter()
            .filter(|_| !program.contains('/'))
            .find_map(|programs| self.installed_program(programs, program));
        match installed {
            Some(program) => format!("{variables}{program}{arguments}"),
            None => command.to_owned(),
        }
    }

    /// The directories below this one that contain a file of this name.
    pub(super) fn descendants_with(&self, name: &str) -> impl Iterator<Item = Self> {
        let Self { files, path } = *self;
        let holder = move |file: &'a String| {
            let (directory, file) = file.rsplit_once('/')?;
            (file == name).then_some(Self {
                files,
                path: directory,
            })
        };
        let is_below = move |directory: &Self| {
            let rest = directory.path.strip_prefix(path);
            path.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        files.0.keys().filter_map(holder).filter(is_below)
    }

    /// This directory's path relative to a parent directory.
    pub(super) fn path_from(&self, above: &Self) -> &'a str {
        let below = self.path.strip_prefix(above.path).unwrap_or(self.path);
        below.strip_prefix('/').unwrap_or(below)
    }

    fn join(&self, name: &str) -> String {
        match self.path {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        }
    }
}
