//! Text that must not be in the repository.

use super::RepositoryFile;

/// Paths of one machine and hosts of registries. Split into pieces, so that this file does not contain
/// them.
const FORBIDDEN_TEXT: [(&[&str], &str); 9] = [
    (&["/wo", "rk/"], "a machine-specific path"),
    (&["/ro", "ot/"], "a machine-specific path"),
    (&["index.", "crates.io"], "a registry host"),
    (&["static.", "crates.io"], "a registry host"),
    (&["registry.", "npmjs.org"], "a registry host"),
    (&["pypi.", "org"], "a registry host"),
    (&["files.", "pythonhosted.org"], "a registry host"),
    (&["deb.", "debian.org"], "a registry host"),
    (&["proxy.", "golang.org"], "a registry host"),
];

pub(super) fn check(source: &RepositoryFile) -> Vec<String> {
    let lines = source.text.lines().zip(1..);
    let found = lines.flat_map(|(line, number)| {
        let violation_of = |(pieces, what): &(&[&str], &str)| {
            starts_within(line, &pieces.concat())
                .then(|| format!("{}:{number}: {what}: `{}`", source.path, pieces.concat()))
        };
        FORBIDDEN_TEXT
            .iter()
            .filter_map(violation_of)
            .collect::<Vec<_>>()
    });
    found.collect()
}

/// Whether a line contains the text at the start of a path or a host, not within one.
fn starts_within(line: &str, what: &str) -> bool {
    line.match_indices(what).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "._-".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str) -> String {
        super::check(&RepositoryFile {
            path: path.to_owned(),
            text: text.to_owned(),
        })
        .join("\n")
    }

    #[test]
    fn text_rejects_machine_and_registry_names() {
        let home = ["/ro", "ot/.cache"].concat();
        assert!(
            check("a.md", &format!("one\nsee {home}")).contains("a.md:2: a machine-specific path")
        );
        assert_eq!(check("a.md", &format!("/src{home} and src{home}")), "");
        let host = ["https://registry.", "npmjs.org/x"].concat();
        assert!(check("a.json", &host).contains("a registry host"));
    }
}
