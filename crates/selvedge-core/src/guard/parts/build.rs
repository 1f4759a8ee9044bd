//! Build files that say how tests run among much else: Maven's `pom.xml` by its elements, the
//! others (programs in Groovy, Kotlin, Elixir, Scala, CMake) by the lines that speak of tests.

use super::super::pattern::Pattern;
use super::code;
use super::judge::Switch;
use super::settings::{self, Settings, Weight};

static SPEAKS_OF_TESTS: Pattern = Pattern::new(concat!(
    r"ignoreFailures|useJUnit|useTestNG|failOnNoDiscoveredTests|onlyIf|excludeTestsMatching",
    r"|includeTestsMatching|\btest\s*\{|\btasks\.(?:test|named\(.test)|enabled\s*=?\s*false|exclude\s*[('\x22]",
    r"|maxWarnings|dependsOn|\baliases\b|\btest:\s|warnings_as_errors|test_(?:paths|pattern|coverage)",
    r"|add_test\s*\(|enable_testing|set_tests_properties|WILL_FAIL|DISABLED|testOptions|Test\s*/",
    r"|skipTests|maven\.test|finalizedBy|should_fail|-Wno-error|\b-w\b",
));

pub(super) fn compare(path: &str, before: &str, after: &str) -> Vec<Switch> {
    if !path.ends_with("pom.xml") {
        return code::changed_lines(path, before, after, &SPEAKS_OF_TESTS);
    }
    match (pom(before), pom(after)) {
        (old, Some(new)) => settings::compare(&old.unwrap_or_default(), &new, weight),
        (_, None) => vec![Switch::offence("the build file does not parse any more")],
    }
}

fn weight(key: &str, value: &str) -> Weight {
    let key = key.to_lowercase();
    let looks_away = ["skip", "ignore", "exclude", "groups", "failifno"]
        .iter()
        .any(|word| key.contains(word));
    match value {
        _ if key.ends_with(".version") => Weight::Free,
        "false" if key.contains("skip") || key.contains("ignore") => Weight::Free,
        _ if looks_away => Weight::Switch,
        _ => Weight::Watched,
    }
}

/// Plugins that check, and the properties that steer them.
fn pom(text: &str) -> Option<Settings> {
    const CHECKING: [&str; 9] = [
        "surefire",
        "failsafe",
        "jacoco",
        "checkstyle",
        "spotbugs",
        "pmd",
        "enforcer",
        "spotless",
        "pitest",
    ];
    const MOST_OPEN: usize = 200_000;
    let mut settings = Settings::new();
    if text.trim().is_empty() {
        return Some(settings);
    }
    if text.matches('<').count() > MOST_OPEN {
        return None;
    }
    let document = roxmltree::Document::parse(text).ok()?;
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let Some(value) = node.text().map(str::trim).filter(|text| !text.is_empty()) else {
            continue;
        };
        let name = node.tag_name().name();
        let parent = node
            .parent_element()
            .map_or("", |parent| parent.tag_name().name());
        let plugin = node
            .ancestors()
            .find(|up| up.has_tag_name("plugin"))
            .or_else(|| node.ancestors().find(|up| up.tag_name().name() == "plugin"));
        let artifact = plugin.and_then(|plugin| {
            plugin
                .children()
                .find(|child| child.tag_name().name() == "artifactId")?
                .text()
        });
        let checks = artifact.filter(|of| CHECKING.iter().any(|checking| of.contains(checking)));
        let steers = parent == "properties" && (name.contains("skip") || name.contains("test"));
        let key = match checks {
            Some(artifact) => format!("{artifact}.{parent}.{name}"),
            None if steers => format!("properties.{name}"),
            None => continue,
        };
        let known = settings.entry(key).or_default();
        known.push_str(value);
        known.push(' ');
    }
    for value in settings.values_mut() {
        value.truncate(value.trim_end().len());
    }
    Some(settings)
}
