//! Files of a home whose names say that they hold secrets, for programs that no list knows. Searched are the home itself
//! and its hidden folders, some levels deep; projects are not.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How many levels below the home are searched, and below the folders with the files of all programs.
const LEVELS: usize = 3;
const LEVELS_OF_PROGRAMS: usize = 4;
const FOLDERS_OF_PROGRAMS: [&str; 3] = [".config", ".local", ".var"];

/// How many entries of a home are examined, and how many of one folder.
const MAX_ENTRIES: usize = 20_000;
const MAX_ENTRIES_OF_FOLDER: usize = 1_000;

/// How much of a file is searched for a private key.
const MAX_KEY_BYTES: u64 = 64 << 10;

/// Words of names of secret files and folders.
const WORDS: &[&str] = &[
    "apikey",
    "apikeys",
    "cookie",
    "cookies",
    "cred",
    "creds",
    "credential",
    "credentials",
    "htpasswd",
    "keyring",
    "keyrings",
    "keytab",
    "kubeconfig",
    "netrc",
    "oauth",
    "oauth2",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "secret",
    "secrets",
    "token",
    "tokens",
    "vault",
    "wallet",
    "wallets",
];

/// The same inside of words.
const PARTS: &[&str] = &[
    "credential",
    "password",
    "passwd",
    "accesstoken",
    "authtoken",
    "kubeconfig",
];

/// Pairs of words.
const PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("api", "keys"),
    ("private", "key"),
    ("secret", "key"),
];

/// Names without their extension.
const STEMS: &[&str] = &["auth", "history", "keys", "login", "logins", "zhistory"];

/// Extensions of stores of keys and passwords, and of histories and variables.
const EXTENSIONS: &[&str] = &[
    "age", "env", "gpg", "history", "jks", "kdb", "kdbx", "keychain", "keyring", "keystore",
    "ovpn", "p12", "pfx", "ppk", "psafe3", "pwsafe",
];

/// Extensions of files that hold certificates, public keys or private ones.
const KEY_EXTENSIONS: &[&str] = &["asc", "crt", "der", "key", "p8", "pem", "pk8"];

/// Extensions of code and texts, which are about secrets rather than secret.
const HARMLESS_EXTENSIONS: &[&str] = &[
    "c", "cc", "cpp", "css", "d", "el", "go", "h", "html", "java", "js", "lua", "map", "md", "mjs",
    "nix", "pub", "py", "pyc", "pyi", "rb", "rs", "rst", "scm", "scss", "so", "svg", "theme", "ts",
    "tsx", "vim", "png",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Secret,
    /// Its content decides.
    Key,
    Other,
}

/// The canonical paths of secret files and folders of a home, outside of the skipped folders.
pub(super) fn find_secret_files(home: &Path, skipped: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(home.to_owned(), LEVELS)];
    let mut examined = 0;
    while let Some((folder, levels)) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries.take(MAX_ENTRIES_OF_FOLDER) {
            examined += 1;
            if examined > MAX_ENTRIES {
                return found;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = name.to_string_lossy();
            let is_hidden = folder != home || name.starts_with('.');
            if skipped.contains(&path) || (kind.is_dir() && !is_hidden) {
                continue;
            }
            let is_secret = match kind_of(&name, kind.is_dir()) {
                NameKind::Secret => kind.is_dir() || kind.is_file(),
                NameKind::Key => kind.is_file() && holds_private_key(&path),
                NameKind::Other => false,
            };
            if is_secret {
                found.push(path);
            } else if kind.is_dir() && levels > 1 {
                let is_of_programs = FOLDERS_OF_PROGRAMS.contains(&&*name);
                let levels = if is_of_programs && folder == home {
                    LEVELS_OF_PROGRAMS
                } else {
                    levels
                };
                folders.push((path, levels - 1));
            }
        }
    }
    found
}

fn kind_of(name: &str, is_folder: bool) -> NameKind {
    let name = name.to_lowercase();
    let bare = name.trim_start_matches('.');
    let (stem, extension) = match bare.rsplit_once('.') {
        Some((stem, extension)) if !is_folder => (stem, extension),
        _ => (bare, ""),
    };
    if HARMLESS_EXTENSIONS.contains(&extension) {
        return NameKind::Other;
    }
    if KEY_EXTENSIONS.contains(&extension) {
        return NameKind::Key;
    }
    let words: Vec<&str> = bare.split(|c: char| !c.is_alphanumeric()).collect();
    let mut pairs = words.windows(2);
    let is_named = words.iter().any(|word| WORDS.contains(word))
        || PARTS.iter().any(|part| bare.contains(part))
        || pairs.any(|pair| PAIRS.iter().any(|(one, other)| pair == [*one, *other]));
    let is_file = EXTENSIONS.contains(&extension)
        || STEMS.contains(&stem)
        || bare.starts_with("id_")
        || bare == "env"
        || bare.starts_with("env.")
        || stem.ends_with("_history")
        || stem.contains("_history-")
        || stem.ends_with("netrc")
        || stem.ends_with("tokens");
    if is_named || (!is_folder && is_file) {
        NameKind::Secret
    } else {
        NameKind::Other
    }
}

/// Whether a file contains a private key, or anything but text.
fn holds_private_key(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(MAX_KEY_BYTES).read_to_end(&mut bytes));
    let is_text = !bytes.contains(&0) && bytes.is_ascii();
    read.is_ok()
        && !bytes.is_empty()
        && (!is_text || memchr::memmem::find(&bytes, b"PRIVATE KEY").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_files_are_found_by_their_names() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let secret = [
            ".new-cloud/credentials.json",
            ".config/tool/access_tokens.db",
            ".config/a/b/token",
            ".tool/auth.json",
            "backup.kdbx",
            ".id_work",
            "id_rsa.old",
            ".mynetrc",
            "prod.kubeconfig",
            ".config/x/api-key.txt",
            ".env.production",
            ".other_history",
            ".zhistory",
            ".jline.history",
            ".local/state/bash/history",
            ".bash_history-01234.tmp",
            ".tool/secrets/deep",
        ];
        let harmless = [
            ".config/nvim/token.lua",
            ".config/tool/settings.json",
            ".tool/tokenizer.json",
            "id_rsa.pub",
            ".keyboard",
            "projects/app/.env",
            ".skipped/token",
            ".environment",
            ".authors",
        ];
        for path in secret.iter().chain(&harmless) {
            write(path, "text");
        }
        write("own.pem", "-----BEGIN RSA PRIVATE KEY-----\n");
        write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
        let found = find_secret_files(&home, &BTreeSet::from([home.join(".skipped")]));
        let mut found: Vec<String> = found
            .iter()
            .map(|path| path.strip_prefix(&home).unwrap().display().to_string())
            .collect();
        found.sort();
        let mut expected = secret
            .map(|path| path.trim_end_matches("/deep").to_owned())
            .to_vec();
        expected.push("own.pem".to_owned());
        expected.sort();
        assert_eq!(found, expected);
    }
}
