//! Which variables hold secrets, by their names, and which values are worth redacting.

use super::MIN_SECRET_BYTES;

/// Parts of a name, between underscores, that mark its value as secret.
const SECRET_NAME_PARTS: [&str; 22] = [
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "AUTH",
    "AUTHTOKEN",
    "PAT",
    "COOKIE",
    "JWT",
    "DSN",
    "PGPASSWORD",
    "SIGNATURE",
];

/// Texts that mark a value as secret anywhere in its name, as in `npm_config_//registry/:_authToken`.
const SECRET_NAME_SUBSTRINGS: [&str; 4] = ["PASSWORD", "SECRET", "AUTHTOKEN", "APIKEY"];

/// Exceptions: names that only look secret.
const HARMLESS_NAMES: [&str; 4] = ["PWD", "OLDPWD", "PASS", "KEY"];

/// Values shorter than this must not be plain words or numbers, in bytes.
const MAX_PLAIN_WORD_BYTES: usize = 16;

/// Whether a variable with this name is likely to contain a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if HARMLESS_NAMES.contains(&name.as_str()) || name.contains("PUBLIC_KEY") {
        return false;
    }
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| SECRET_NAME_PARTS.contains(&part))
        || SECRET_NAME_SUBSTRINGS.iter().any(|it| name.contains(it))
}

/// Whether a value can be redacted without damage to other text: paths, plain words and numbers occur in too many other
/// places.
pub fn is_worth_redacting(value: &[u8]) -> bool {
    if value.len() < MIN_SECRET_BYTES || is_path(value) {
        return false;
    }
    let classes: [fn(u8) -> bool; 4] = [
        |byte| byte.is_ascii_lowercase(),
        |byte| byte.is_ascii_uppercase(),
        |byte| byte.is_ascii_digit(),
        |byte| !byte.is_ascii_alphanumeric(),
    ];
    let met = classes
        .iter()
        .filter(|of| value.iter().any(|byte| of(*byte)))
        .count();
    let varied = value.iter().any(|byte| Some(byte) != value.first());
    varied && (met > 1 || value.len() >= MAX_PLAIN_WORD_BYTES)
}

fn is_path(value: &[u8]) -> bool {
    let begins = [b"/".as_slice(), b"./", b"../", b"~/", b"file:/"];
    begins.iter().any(|it| value.starts_with(it))
        && !value.contains(&b'=')
        && !value.contains(&b'+')
}
