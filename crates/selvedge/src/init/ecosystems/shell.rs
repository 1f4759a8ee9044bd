//! Shell scripts: the tests of bats.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers: |_, _| false,
    fills_gaps: true,
};

const FOLDERS: [&str; 3] = ["test/", "tests/", "spec/"];

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    // bats itself and its libraries may be submodules there.
    let tests_in = |folder: &'static str| {
        at.paths()
            .filter_map(move |path| path.strip_prefix(folder))
            .filter(|path| {
                let extension = path.rsplit_once('.').map(|(_, extension)| extension);
                let mut folders = path.split('/').rev().skip(1);
                extension == Some("bats") && !folders.any(|folder| folder.starts_with("bats"))
            })
    };
    let folders = FOLDERS.into_iter().filter_map(|folder| {
        let first = tests_in(folder).next()?;
        let recursive = if tests_in(folder).any(|path| path.contains('/')) {
            "--recursive "
        } else {
            ""
        };
        let program = at.installed_program("node_modules/.bin", "bats");
        let program = program.unwrap_or_else(|| "bats".to_owned());
        let run = format!("{program} {recursive}{}", folder.trim_end_matches('/'));
        let found_in = format!("{folder}{first}");
        Some(Proposal::new(at, CheckRole::Test, "tests", run, &found_in))
    });
    folders.collect()
}
