//! Settings files of tools that may contain credentials. Builds need them, so only those with a credential are hidden.

use std::fs;
use std::path::Path;

use selvedge_core::redact::{Redactor, is_secret_name};

/// Larger files are hidden unread.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Settings that have names of secrets but contain none.
const HARMLESS_KEYS: &[&str] = &[
    "always-auth",
    "auth-type",
    "credential-provider",
    "global-credential-providers",
    "signingkey",
    "signing_key",
    "password-stdin",
];

/// Whether a settings file must be hidden: it contains a credential, or is not a file of settings.
pub(super) fn has_credentials(path: &Path) -> bool {
    let is_large = fs::metadata(path).is_ok_and(|found| found.len() > MAX_FILE_BYTES);
    if is_large {
        return true;
    }
    // A file that cannot be read here cannot be read in the sandbox.
    let Ok(bytes) = fs::read(path) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| {
        let is_comment =
            line.starts_with(['#', ';', '!']) || line.starts_with("//") && !line.contains('=');
        !line.is_empty() && !is_comment
    });
    let Some(first) = lines.clone().next() else {
        return false;
    };
    !is_setting(first)
        || lines.any(has_credential)
        || Redactor::default().redact_text(&text) != text
}

/// Whether a shell script must be hidden: it sets a secret, or contains one.
pub(super) fn sets_secrets(path: &Path) -> bool {
    let Ok(bytes) = fs::read(path) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.starts_with('#') && !line.starts_with("alias "));
    let assigns = |line: &str| {
        let words = line.split(|c: char| c.is_whitespace() || c == ';');
        let mut words = words.filter(|word| !word.is_empty()).peekable();
        if words.peek() == Some(&"set") {
            // In fish: `set -gx NAME value`.
            let mut rest = words.skip(1).skip_while(|word| word.starts_with('-'));
            return is_secret(
                rest.next().unwrap_or_default(),
                rest.next().unwrap_or_default(),
            );
        }
        words.any(|word| {
            let pair = word.split_once('=');
            pair.is_some_and(|(name, value)| is_secret(name, value) && !value.starts_with('`'))
        })
    };
    lines.any(assigns) || Redactor::default().redact_text(&text) != text
}

fn is_setting(line: &str) -> bool {
    line.starts_with(['[', '<', '{', '-']) || line.contains(['=', ':'])
}

/// Whether a line sets a secret, or contains a URL with a user.
fn has_credential(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    lower.contains("authorization:")
        || has_url_with_user(&lower)
        || sets_secret(line)
        || elements(line).any(|(name, value)| is_secret(name, value))
}

/// `name = value`, `name: value` and `key="name" value="…"`.
fn sets_secret(line: &str) -> bool {
    let attribute = line
        .split_once("key=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    if let Some((name, rest)) = attribute {
        let value = rest.split_once("value=\"").map_or("", |(_, value)| value);
        return is_secret(name, value);
    }
    if line.starts_with(['[', '<']) {
        return false;
    }
    let pair = line.split_once('=').or_else(|| line.split_once(':'));
    pair.is_some_and(|(name, value)| is_secret(name, value))
}

/// XML elements that begin in a line, with the text after them.
fn elements(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split('<').filter_map(|part| {
        let (name, value) = part.split_once('>')?;
        (line.starts_with('<') && !name.starts_with(['/', '!', '?'])).then_some((name, value))
    })
}

fn is_secret(name: &str, value: &str) -> bool {
    let is_quote = |c: char| c.is_whitespace() || "\"',".contains(c);
    let (name, value) = (name.trim_matches(is_quote), value.trim_matches(is_quote));
    let is_harmless = HARMLESS_KEYS.contains(&name.to_ascii_lowercase().as_str());
    let is_reference = value.starts_with(['$', '%']);
    let is_plain = ["", "true", "false", "yes", "no"].contains(&value);
    !is_harmless && !is_reference && !is_plain && is_secret_name(&split_words(name))
}

/// Separates the words of a name in camel case: `npmAuthToken` becomes `npm_Auth_Token`.
fn split_words(name: &str) -> String {
    let mut split = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for c in name.chars() {
        if was_lower && c.is_ascii_uppercase() {
            split.push('_');
        }
        was_lower = c.is_ascii_lowercase();
        split.push(c);
    }
    split
}

fn has_url_with_user(line: &str) -> bool {
    line.match_indices("://").any(|(at, _)| {
        let is_ssh = line[..at].ends_with("ssh");
        let rest = &line[at + 3..];
        let end = rest.find(|c: char| c.is_whitespace() || "/\"'<>".contains(c));
        let authority = &rest[..end.unwrap_or(rest.len())];
        authority.rsplit_once('@').is_some_and(|(user, _)| {
            !user.is_empty() && !user.starts_with('$') && (!is_ssh || user.contains(':'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_found_in_settings_of_tools() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings");
        let is_hidden = |text: &str| {
            fs::write(&path, text).unwrap();
            has_credentials(&path)
        };
        for text in [
            "registry=https://npm.example.org/\n//npm.example.org/:_authToken=abc\n",
            "npmRegistryServer: https://npm.example.org\nnpmAuthToken: abc\n",
            "[global]\nindex-url = https://user:word@pypi.example.org/simple\n",
            "<settings>\n<server><id>a</id><password>word</password></server>\n</settings>\n",
            "<configuration>\n<add key=\"ClearTextPassword\" value=\"word\" />\n",
            "org.gradle.jvmargs=-Xmx2g\nossrhPassword=word\n",
            "[registries.own]\ntoken = \"abc\"\n",
            "[url \"https://token@git.example.org/\"]\n\tinsteadOf = https://git.example.org/\n",
            "[http]\n\textraHeader = Authorization: Basic abc\n",
            "only-a-password\n",
        ] {
            assert!(is_hidden(text), "{text}");
        }
        for text in [
            "",
            "# comment\nregistry=https://npm.example.org/\nalways-auth=true\nfund=false\n",
            "//npm.example.org/:_authToken=${NPM_TOKEN}\n",
            "[global]\nindex-url = https://pypi.example.org/simple\n",
            "<settings>\n<mirrors><mirror><url>https://repo.example.org</url></mirror></mirrors>\n",
            "org.gradle.caching=true\n",
            "[source.own]\nregistry = \"sparse+https://crates.example.org/index/\"\n",
            "[user]\n\tname = Person\n\tsigningKey = ABCD\n[url \"ssh://git@example.org/\"]\n",
        ] {
            assert!(!is_hidden(text), "{text}");
        }
    }

    #[test]
    fn scripts_that_set_secrets_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".profile");
        let is_hidden = |text: &str| {
            fs::write(&path, text).unwrap();
            sets_secrets(&path)
        };
        for text in [
            "export NPM_TOKEN=abcdef\n",
            "umask 022; export A=b DB_PASSWORD='word'\n",
            "if true; then\n\tAPI_KEY=abcdef make\nfi\n",
            "set -gx GITHUB_TOKEN abcdef\n",
        ] {
            assert!(is_hidden(text), "{text}");
        }
        for text in [
            "",
            "# export NPM_TOKEN=abcdef\n",
            "export PATH=$HOME/bin:$PATH\nset -o vi\nset fish_greeting hello\n",
            "export NPM_TOKEN=$(pass npm)\nexport OTHER_TOKEN=`pass other`\n",
            "alias token='pass show token'\n",
        ] {
            assert!(!is_hidden(text), "{text}");
        }
    }
}
