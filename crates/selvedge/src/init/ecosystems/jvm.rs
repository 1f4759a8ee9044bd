//! Maven and Gradle. Their wrappers are preferred, because they select the right version.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const GRADLE_ROOT: [&str; 2] = ["settings.gradle.kts", "settings.gradle"];
const GRADLE: [&str; 4] = [
    "build.gradle.kts",
    "build.gradle",
    "settings.gradle.kts",
    "settings.gradle",
];

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let test = |command, found_in| {
        vec![Proposal::new(
            at,
            CheckRole::Test,
            "tests",
            command,
            found_in,
        )]
    };
    if at.has("pom.xml") {
        let maven = if at.has("mvnw") { "./mvnw" } else { "mvn" };
        test(format!("{maven} --batch-mode test"), "pom.xml")
    } else if let Some(build) = at.first(&GRADLE) {
        let gradle = if at.has("gradlew") {
            "./gradlew"
        } else {
            "gradle"
        };
        test(format!("{gradle} test"), build)
    } else {
        Vec::new()
    }
}

fn covers(above: &RepositoryDirectory<'_>, below: &RepositoryDirectory<'_>) -> bool {
    let maven = || above.text_or_empty("pom.xml").contains("<modules>");
    let gradle = || above.first(&GRADLE_ROOT).is_some();
    if below.has("pom.xml") {
        maven()
    } else {
        gradle()
    }
}
