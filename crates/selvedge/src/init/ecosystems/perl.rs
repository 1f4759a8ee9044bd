//! Perl: the tests below `t`.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers: |_, _| false,
    fills_gaps: false,
};

const MANIFESTS: [&str; 4] = ["cpanfile", "Makefile.PL", "Build.PL", "dist.ini"];

/// `t/*.t` may also be scripts of other languages, so that a manifest or a module must show that it is Perl.
fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let is_in = |path: &str, folder: &str, extension: &str| {
        let end = path.rsplit_once('.').map(|(_, end)| end);
        path.starts_with(folder) && end == Some(extension)
    };
    let is_test = |path: &&str| is_in(path, "t/", "t");
    let module = || at.paths().find(|path| is_in(path, "lib/", "pm"));
    let Some(test) = at.paths().find(is_test) else {
        return Vec::new();
    };
    if at.first(&MANIFESTS).is_none() && module().is_none() {
        return Vec::new();
    }
    vec![Proposal::new(
        at,
        CheckRole::Test,
        "tests",
        "prove -lrv t",
        at.first(&MANIFESTS).unwrap_or(test),
    )]
}
