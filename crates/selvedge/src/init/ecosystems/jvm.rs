//! Maven and Gradle; their wrappers are preferred, since they bring the right version.

use crate::init::files::Directory;
use crate::init::proposal::{Ecosystem, Proposal, Role};

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

fn detect(at: &Directory<'_>) -> Vec<Proposal> {
    let test = |command, found_in| vec![Proposal::new(at, Role::Test, "tests", command, found_in)];
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

fn covers(above: &Directory<'_>, below: &Directory<'_>) -> bool {
    let maven = || above.text_or_empty("pom.xml").contains("<modules>");
    let gradle = || above.first(&GRADLE_ROOT).is_some();
    if below.has("pom.xml") {
        maven()
    } else {
        gradle()
    }
}
