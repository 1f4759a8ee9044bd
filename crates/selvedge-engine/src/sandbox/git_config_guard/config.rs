//! Decides which settings of a git configuration may change unreported. Git itself parses the file, because its
//! grammar is complex: sections may share a line, and quotes may contain brackets. Nothing in it is executed.

use std::path::Path;

use crate::workspace::git::{self, GitProgram};

/// Settings that name no program, no file, and nothing that leads to one. A `*` matches any name.
const HARMLESS_SETTINGS: &[&str] = &[
    "advice.*",
    "branch.description",
    "branch.merge",
    "branch.pushremote",
    "branch.rebase",
    "branch.remote",
    "color.*",
    "commit.gpgsign",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.commitgraph",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.precomposeunicode",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.untrackedcache",
    "diff.algorithm",
    "diff.renames",
    "extensions.objectformat",
    "extensions.refstorage",
    "fetch.prune",
    "gc.auto",
    "http.postbuffer",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "log.date",
    "maintenance.auto",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "remote.fetch",
    "remote.prune",
    "remote.push",
    "remote.pushurl",
    "remote.tagopt",
    "remote.url",
    "rerere.enabled",
    "status.showuntrackedfiles",
    "submodule.active",
    "submodule.branch",
    "submodule.url",
    "tag.gpgsign",
    "user.email",
    "user.name",
];

/// Replaces a configuration that did not exist before the session.
pub(super) const EMPTY_CONFIG: &[u8] = b"[core]\n\trepositoryformatversion = 0\n";

/// The settings of a configuration in this folder that may change git's behavior; `None` if git cannot read it.
pub(super) fn dangerous_settings(bytes: &[u8], folder: &Path) -> Option<Vec<String>> {
    let mut command = GitProgram::find(folder).ok()?.command(folder, folder);
    command.args(["config", "--no-includes", "--null", "--list", "--file", "-"]);
    let output =
        git::output_with_input(command, bytes.to_vec(), "read a configuration", folder).ok()?;
    let text = String::from_utf8_lossy(&output).into_owned();
    let settings = text.split('\0').filter(|setting| !setting.is_empty());
    let steering = settings.filter(|setting| {
        let key = setting.split_once('\n').map_or(*setting, |(name, _)| name);
        !is_harmless(key)
    });
    Some(steering.map(str::to_owned).collect())
}

/// Whether a setting (`section.variable` or `section.any.thing.variable`) is harmless.
fn is_harmless(key: &str) -> bool {
    let Some((section, rest)) = key.split_once('.') else {
        return false;
    };
    let variable = rest.rsplit_once('.').map_or(rest, |(_, last)| last);
    HARMLESS_SETTINGS.iter().any(|harmless| {
        harmless
            .split_once('.')
            .is_some_and(|(of, name)| of == section && (name == "*" || name == variable))
    })
}
