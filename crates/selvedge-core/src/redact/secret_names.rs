//! Which variables hold secrets, by their names, and which values are worth redacting.

use percent_encoding::percent_decode_str;

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
        || is_header_list(&name)
}

/// Whether a variable contains headers for the requests to a collector of OpenTelemetry, such as a key.
fn is_header_list(name: &str) -> bool {
    name.starts_with("OTEL_EXPORTER_OTLP_") && name.ends_with("HEADERS")
}

/// Names and values of a list of headers as OpenTelemetry writes it: `NAME=VALUE,NAME=VALUE`, with percent-encoded values.
pub fn parse_header_list(list: &str) -> impl Iterator<Item = (&str, String)> {
    list.split(',').filter_map(|header| {
        let (name, value) = header.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim(), value.into_owned())).filter(|(name, _)| !name.is_empty())
    })
}

/// The secrets in the value of a variable with a secret name: the value itself; for a list of headers also each of its
/// values, and what follows the scheme in them (`Bearer …`).
pub fn secrets_in_value(name: &str, value: &[u8]) -> Vec<Vec<u8>> {
    let mut secrets = vec![value.to_vec()];
    if is_header_list(&name.to_ascii_uppercase()) {
        let list = String::from_utf8_lossy(value);
        for (_, header) in parse_header_list(&list) {
            let credential = header.split_once(' ').map(|(_, rest)| rest.trim());
            secrets.extend(credential.map(|it| it.as_bytes().to_vec()));
            secrets.push(header.into_bytes());
        }
    }
    secrets.retain(|secret| is_worth_redacting(secret));
    secrets
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
