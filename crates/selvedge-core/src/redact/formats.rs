//! Well-known formats of keys: a unique prefix, and a rule for what follows. Each is decided within a bounded number of
//! bytes, so that a stream can be redacted; the length of the rest of the key does not matter. This is our own table,
//! because lists of regular expressions, as repository scanners use them, cannot be decided early.

use super::MatchExtent;

/// Number of bytes within which a format with several parts must be recognizable.
const MAX_FORMAT_BYTES: usize = 512;
/// Maximum length of a user name, and of a password, in a URL.
const MAX_USER_BYTES: usize = 128;
const MAX_PASSWORD_BYTES: usize = 256;
/// A user name of at least this length, without a password, is a token.
const MIN_TOKEN_USER_BYTES: usize = 20;
/// Maximum length of the separators between a name and its value.
const MAX_ASSIGNMENT_BYTES: usize = 8;
/// Maximum length of a private key as text, in bytes.
const MAX_PEM_BYTES: usize = 16 << 10;

/// The bytes that a key consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteClass {
    /// Letters and digits.
    Alphanumeric,
    /// Alphanumeric, `-` and `_`.
    Word,
    /// Word and `.`.
    Dotted,
    /// Capitals and digits.
    Upper,
    /// The characters of a header's token.
    Token68,
    /// Letters, digits and `/`.
    Path,
    /// Dotted and `~`.
    Tilde,
    /// Letters, digits, `+` and `/`.
    Base64,
    /// Base64 and its padding.
    PaddedBase64,
    /// Letters, digits and `%`.
    Percent,
}

impl ByteClass {
    const fn contains(self, byte: u8) -> bool {
        byte.is_ascii_digit()
            || match self {
                Self::Upper => byte.is_ascii_uppercase(),
                Self::Alphanumeric => byte.is_ascii_alphabetic(),
                Self::Word => byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'),
                Self::Dotted => byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.'),
                Self::Path => byte.is_ascii_alphabetic() || byte == b'/',
                Self::Tilde => {
                    byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.' | b'~')
                }
                Self::Base64 => byte.is_ascii_alphabetic() || matches!(byte, b'+' | b'/'),
                Self::PaddedBase64 => {
                    byte.is_ascii_alphabetic() || matches!(byte, b'+' | b'/' | b'=')
                }
                Self::Percent => byte.is_ascii_alphabetic() || byte == b'%',
                Self::Token68 => {
                    byte.is_ascii_alphabetic()
                        || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=')
                }
            }
    }
}

/// The rule for the bytes after a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SuffixRule {
    /// At least this many bytes of a class.
    AtLeast(ByteClass, usize),
    /// The same, with no letter or digit before the prefix.
    AtLeastSeparated(ByteClass, usize),
    /// Exactly this many, with no letter or digit before the prefix.
    Exactly(ByteClass, usize),
    /// The same, including a digit, a capital and a small letter.
    ExactlyMixed(ByteClass, usize),
    /// At least this many, including a digit; the prefix itself is not redacted.
    AfterPrefix(ByteClass, usize),
    /// The prefix is a name. After it, between separators as in an assignment, are exactly this many, including a digit,
    /// a capital and a small letter; only they are redacted.
    AssignedExactly(ByteClass, usize),
    /// The same with at least this many.
    AssignedAtLeast(ByteClass, usize),
    /// The rest of a JSON Web Token's header, and the beginning of its claims.
    Jwt,
    /// The rest of a private key's first line.
    Pem,
    /// A user name and a password.
    Url,
}

/// A well-known format.
#[derive(Debug)]
pub(super) struct KeyFormat {
    pub(super) name: &'static str,
    pub(super) prefix: &'static str,
    rule: SuffixRule,
}

const fn format(name: &'static str, prefix: &'static str, rule: SuffixRule) -> KeyFormat {
    KeyFormat { name, prefix, rule }
}

use ByteClass::{
    Alphanumeric, Base64, Dotted, PaddedBase64, Path, Percent, Tilde, Token68, Upper, Word,
};
use SuffixRule::{
    AfterPrefix, AssignedAtLeast, AssignedExactly, AtLeast, AtLeastSeparated, Exactly, ExactlyMixed,
};

pub(super) const FORMATS: &[KeyFormat] = &[
    format("Selvedge token", "slv_", AtLeast(Word, 32)),
    format("Anthropic key", "sk-ant-", AtLeast(Word, 20)),
    format("OpenAI key", "sk-proj-", AtLeast(Word, 20)),
    format("OpenAI key", "sk-svcacct-", AtLeast(Word, 20)),
    format("OpenAI key", "sk-admin-", AtLeast(Word, 20)),
    format("OpenRouter key", "sk-or-v1-", AtLeast(Word, 20)),
    format("API key", "sk-", AtLeastSeparated(Alphanumeric, 32)),
    format("xAI key", "xai-", AtLeastSeparated(Alphanumeric, 40)),
    format("Groq key", "gsk_", AtLeastSeparated(Alphanumeric, 40)),
    format(
        "Perplexity key",
        "pplx-",
        AtLeastSeparated(Alphanumeric, 40),
    ),
    format("Replicate token", "r8_", AtLeastSeparated(Alphanumeric, 36)),
    format(
        "Hugging Face token",
        "hf_",
        AtLeastSeparated(Alphanumeric, 30),
    ),
    format("GitHub token", "ghp_", AtLeast(Alphanumeric, 30)),
    format("GitHub token", "gho_", AtLeast(Alphanumeric, 30)),
    format("GitHub token", "ghu_", AtLeast(Alphanumeric, 30)),
    format("GitHub token", "ghs_", AtLeast(Alphanumeric, 30)),
    format("GitHub token", "ghr_", AtLeast(Alphanumeric, 30)),
    format("GitHub token", "github_pat_", AtLeast(Word, 30)),
    format("GitLab token", "glpat-", AtLeast(Dotted, 20)),
    format("GitLab token", "gldt-", AtLeast(Word, 20)),
    format("GitLab token", "glrt-", AtLeast(Dotted, 20)),
    format("GitLab token", "glptt-", AtLeast(Word, 40)),
    format("AWS key", "AKIA", Exactly(Upper, 16)),
    format("AWS key", "ASIA", Exactly(Upper, 16)),
    format(
        "AWS secret key",
        "ecret_access_key",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "ECRET_ACCESS_KEY",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "ecretAccessKey",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "ecret-access-key",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "ecret Access Key",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "ecret access key",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "aws_secret_key",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "AWS_SECRET_KEY",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "awsSecretKey",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS secret key",
        "AWSSecretKey",
        AssignedExactly(Base64, 40),
    ),
    format(
        "AWS session token",
        "ession_token",
        AssignedAtLeast(PaddedBase64, 100),
    ),
    format(
        "AWS session token",
        "ESSION_TOKEN",
        AssignedAtLeast(PaddedBase64, 100),
    ),
    format(
        "AWS session token",
        "essionToken",
        AssignedAtLeast(PaddedBase64, 100),
    ),
    format("Azure key", "AccountKey", AssignedAtLeast(PaddedBase64, 80)),
    format(
        "Azure key",
        "account_key",
        AssignedAtLeast(PaddedBase64, 80),
    ),
    format(
        "Azure key",
        "ACCOUNT_KEY",
        AssignedAtLeast(PaddedBase64, 80),
    ),
    format(
        "Azure key",
        "SharedAccessKey",
        AssignedAtLeast(PaddedBase64, 40),
    ),
    format("Azure secret", "7Q~", AtLeast(Tilde, 31)),
    format("Azure secret", "8Q~", AtLeast(Tilde, 31)),
    format("Azure signature", "?sig=", AfterPrefix(Percent, 43)),
    format("Azure signature", "&sig=", AfterPrefix(Percent, 43)),
    format("Azure signature", "u0026sig=", AfterPrefix(Percent, 43)),
    format("Azure signature", "&amp;sig=", AfterPrefix(Percent, 43)),
    format("Google key", "AIza", AtLeastSeparated(Word, 35)),
    format("Google token", "ya29.", AtLeastSeparated(Dotted, 30)),
    format("Google secret", "GOCSPX-", AtLeast(Word, 20)),
    format("Slack token", "xoxa-", AtLeast(Word, 20)),
    format("Slack token", "xoxb-", AtLeast(Word, 20)),
    format("Slack token", "xoxe-", AtLeast(Word, 20)),
    format("Slack token", "xoxp-", AtLeast(Word, 20)),
    format("Slack token", "xoxr-", AtLeast(Word, 20)),
    format("Slack token", "xoxs-", AtLeast(Word, 20)),
    format("Slack token", "xapp-", AtLeast(Word, 20)),
    format(
        "Slack webhook",
        "hooks.slack.com/services/",
        AfterPrefix(Path, 20),
    ),
    format("npm token", "npm_", AtLeastSeparated(Alphanumeric, 36)),
    format("PyPI token", "pypi-", AtLeastSeparated(Word, 50)),
    format("Docker token", "dckr_pat_", AtLeast(Word, 20)),
    format("DigitalOcean token", "dop_v1_", AtLeast(Alphanumeric, 40)),
    format("Stripe key", "sk_live_", AtLeast(Alphanumeric, 16)),
    format("Stripe key", "sk_test_", AtLeast(Alphanumeric, 16)),
    format("Stripe key", "rk_live_", AtLeast(Alphanumeric, 16)),
    format("Stripe secret", "whsec_", AtLeast(Alphanumeric, 24)),
    format("Tailscale key", "tskey-auth-", AfterPrefix(Word, 16)),
    format("Tailscale key", "tskey-api-", AfterPrefix(Word, 16)),
    format("Tailscale key", "tskey-client-", AfterPrefix(Word, 16)),
    format("Tailscale key", "tskey-scim-", AfterPrefix(Word, 16)),
    format("Tailscale key", "tskey-webhook-", AfterPrefix(Word, 16)),
    format("Supabase token", "sbp_", AtLeastSeparated(Alphanumeric, 40)),
    format(
        "Supabase token",
        "sbp_v0_",
        AtLeastSeparated(Alphanumeric, 40),
    ),
    format(
        "Supabase token",
        "sbp_oauth_",
        AtLeastSeparated(Alphanumeric, 40),
    ),
    format("Supabase key", "sb_secret_", AfterPrefix(Word, 20)),
    format("Linear key", "lin_api_", AtLeastSeparated(Alphanumeric, 32)),
    format(
        "Linear key",
        "lin_oauth_",
        AtLeastSeparated(Alphanumeric, 32),
    ),
    format("Linear key", "lin_wh_", AtLeastSeparated(Alphanumeric, 32)),
    format(
        "Shopify token",
        "shpat_",
        AtLeastSeparated(Alphanumeric, 32),
    ),
    format(
        "Shopify token",
        "shpca_",
        AtLeastSeparated(Alphanumeric, 32),
    ),
    format(
        "Shopify token",
        "shppa_",
        AtLeastSeparated(Alphanumeric, 32),
    ),
    format(
        "Shopify token",
        "shpss_",
        AtLeastSeparated(Alphanumeric, 32),
    ),
    format(
        "Shopify token",
        "shpua_",
        AtLeastSeparated(Alphanumeric, 32),
    ),
    format("Square token", "sq0atp-", AtLeastSeparated(Word, 22)),
    format("Square secret", "sq0csp-", AtLeastSeparated(Word, 40)),
    format("Square token", "EAAA", ExactlyMixed(Word, 60)),
    format("Square token", "EAAl", ExactlyMixed(Word, 60)),
    format("SendGrid key", "SG.", AtLeastSeparated(Dotted, 60)),
    format("Vault token", "hvs.", AtLeastSeparated(Word, 24)),
    format("age key", "AGE-SECRET-KEY-1", AtLeast(Upper, 50)),
    format("JSON Web Token", "eyJ", SuffixRule::Jwt),
    format("bearer token", "Bearer ", AfterPrefix(Token68, 16)),
    format("bearer token", "bearer ", AfterPrefix(Token68, 16)),
    format("bearer token", "BEARER ", AfterPrefix(Token68, 16)),
    format(
        "credentials",
        "uthorization: Basic ",
        AfterPrefix(Token68, 8),
    ),
    format(
        "credentials",
        "uthorization: basic ",
        AfterPrefix(Token68, 8),
    ),
    format("private key", "-----BEGIN ", SuffixRule::Pem),
    format("password", "://", SuffixRule::Url),
];

impl KeyFormat {
    pub(super) fn reach(&self, text: &[u8], before: [u8; 2], over: bool) -> MatchExtent {
        let start = self.prefix.len();
        let rest = text.get(start..).unwrap_or_default();
        match self.rule {
            AtLeast(class, least) => at_least(rest, start, 0, class, least, over),
            AtLeastSeparated(class, least) if is_separated(before) => {
                at_least(rest, start, 0, class, least, over)
            }
            Exactly(class, count) if is_separated(before) => {
                exactly(rest, start, class, count, over)
            }
            ExactlyMixed(class, count) if is_separated(before) => {
                match exactly(rest, start, class, count, over) {
                    MatchExtent::Match { .. } if !is_mixed(&rest[..count]) => MatchExtent::NoMatch,
                    reach => reach,
                }
            }
            AtLeastSeparated(..) | Exactly(..) | ExactlyMixed(..) => MatchExtent::NoMatch,
            AssignedExactly(class, count) => assigned(rest, start, class, count, true, over),
            AssignedAtLeast(class, least) => assigned(rest, start, class, least, false, over),
            AfterPrefix(class, least) => match at_least(rest, start, start, class, least, over) {
                MatchExtent::Match { .. } if !rest[..least].iter().any(u8::is_ascii_digit) => {
                    MatchExtent::NoMatch
                }
                reach => reach,
            },
            SuffixRule::Jwt => jwt(rest, start, over),
            SuffixRule::Pem => pem(rest, start, over),
            SuffixRule::Url => url(rest, start, over),
        }
    }
}

/// Whether there is no letter or digit before. The end of an escape sequence, of JSON or of a terminal's colour, does
/// not count as one.
fn is_separated([far, near]: [u8; 2]) -> bool {
    let escape = far == b'\\' && matches!(near, b'n' | b'r' | b't' | b'b' | b'f');
    let colour = near == b'm' && (far.is_ascii_digit() || far == b'[');
    escape || colour || !(near.is_ascii_alphanumeric() || near == b'_')
}

fn undecided_unless_final(over: bool) -> MatchExtent {
    if over {
        MatchExtent::NoMatch
    } else {
        MatchExtent::Undecided
    }
}

fn at_least(
    rest: &[u8],
    start: usize,
    from: usize,
    class: ByteClass,
    least: usize,
    over: bool,
) -> MatchExtent {
    let first = &rest[..least.min(rest.len())];
    match first.iter().position(|byte| !class.contains(*byte)) {
        Some(_) => MatchExtent::NoMatch,
        None if first.len() < least => undecided_unless_final(over),
        None => MatchExtent::Match {
            from,
            to: start + least,
            continuation: Some(OpenMatch::Class(class)),
        },
    }
}

fn exactly(rest: &[u8], start: usize, class: ByteClass, count: usize, over: bool) -> MatchExtent {
    let seen = &rest[..(count + 1).min(rest.len())];
    let run = seen
        .iter()
        .take_while(|byte| class.contains(**byte))
        .count();
    match run {
        run if run == count && (seen.len() > count || over) => MatchExtent::Match {
            from: 0,
            to: start + count,
            continuation: None,
        },
        run if run == seen.len() && run <= count => undecided_unless_final(over),
        _ => MatchExtent::NoMatch,
    }
}

/// A value after a name, as in `name = "value"`, `"name": "value"` and `name>value`.
fn assigned(
    rest: &[u8],
    start: usize,
    class: ByteClass,
    count: usize,
    is_exact: bool,
    over: bool,
) -> MatchExtent {
    let is_separator = |byte: &&u8| b" \t=:>\"'`\\".contains(*byte);
    let between = rest.iter().take(MAX_ASSIGNMENT_BYTES + 1);
    let between = between.take_while(is_separator).count();
    if between > MAX_ASSIGNMENT_BYTES {
        return MatchExtent::NoMatch;
    }
    let (value, from) = (&rest[between..], start + between);
    match value.first() {
        None => return undecided_unless_final(over),
        Some(_) if between == 0 => return MatchExtent::NoMatch,
        Some(_) => {}
    }
    let reach = if is_exact {
        exactly(value, from, class, count, over)
    } else {
        at_least(value, from, from, class, count, over)
    };
    match reach {
        MatchExtent::Match { .. } if !is_mixed(&value[..count]) => MatchExtent::NoMatch,
        MatchExtent::Match {
            to, continuation, ..
        } => MatchExtent::Match {
            from,
            to,
            continuation,
        },
        reach => reach,
    }
}

/// Whether there is a digit, a capital and a small letter, as in nearly every random text of this length.
fn is_mixed(bytes: &[u8]) -> bool {
    let classes = [
        u8::is_ascii_digit,
        u8::is_ascii_uppercase,
        u8::is_ascii_lowercase,
    ];
    classes.iter().all(|is_in| bytes.iter().any(is_in))
}

fn jwt(rest: &[u8], start: usize, over: bool) -> MatchExtent {
    const NEXT: &[u8] = b".eyJ";
    let window = &rest[..rest.len().min(MAX_FORMAT_BYTES)];
    let header = window
        .iter()
        .take_while(|byte| Word.contains(**byte))
        .count();
    let behind = &rest[header..];
    let next = &behind[..behind.len().min(NEXT.len())];
    if header == MAX_FORMAT_BYTES || !NEXT.starts_with(next) || (header < 8 && !behind.is_empty()) {
        return MatchExtent::NoMatch;
    }
    if next.len() < NEXT.len() {
        return undecided_unless_final(over);
    }
    MatchExtent::Match {
        from: 0,
        to: start + header + NEXT.len(),
        continuation: Some(OpenMatch::Class(Dotted)),
    }
}

fn pem(rest: &[u8], start: usize, over: bool) -> MatchExtent {
    const END: &[u8] = b"PRIVATE KEY-----";
    const LABEL: usize = 24;
    for at in 0..LABEL {
        let behind = rest.get(at..).unwrap_or_default();
        let found = &behind[..behind.len().min(END.len())];
        if found.len() == END.len() && found == END {
            return MatchExtent::Match {
                from: 0,
                to: start + at + END.len(),
                continuation: Some(OpenMatch::Pem {
                    bytes: 0,
                    dashes: 0,
                    in_end: false,
                }),
            };
        }
        if END.starts_with(found) && found.len() < END.len() {
            return undecided_unless_final(over);
        }
        let label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
        if !behind.first().is_some_and(|byte| label(*byte)) {
            return MatchExtent::NoMatch;
        }
    }
    MatchExtent::NoMatch
}

fn url(rest: &[u8], start: usize, over: bool) -> MatchExtent {
    let ends = |byte: u8| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || matches!(
                byte,
                b'/' | b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`' | b'?' | b'#' | b'|'
            )
    };
    let user = rest
        .iter()
        .take(MAX_USER_BYTES)
        .take_while(|byte| !ends(**byte) && !matches!(byte, b':' | b'@'))
        .count();
    let password_at = user + 1;
    let secret = match rest.get(user) {
        None => return undecided_unless_final(over),
        Some(b'@') if user >= MIN_TOKEN_USER_BYTES => 0..user,
        Some(b':') => {
            let password = rest.iter().skip(password_at).take(MAX_PASSWORD_BYTES);
            let length = password
                .take_while(|byte| !ends(**byte) && **byte != b'@')
                .count();
            match rest.get(password_at + length) {
                None => return undecided_unless_final(over),
                Some(b'@') if length > 0 => password_at..password_at + length,
                Some(_) => return MatchExtent::NoMatch,
            }
        }
        Some(_) => return MatchExtent::NoMatch,
    };
    // A variable, a placeholder, or text that was redacted already.
    if rest.first() == Some(&b'[') || matches!(rest[secret.start], b'$' | b'{' | b'*' | b'[' | b'%')
    {
        return MatchExtent::NoMatch;
    }
    MatchExtent::Match {
        from: start + secret.start,
        to: start + secret.end,
        continuation: None,
    }
}

/// A match that continues byte by byte, without an end that is known in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMatch {
    /// As long as the bytes belong to a class.
    Class(ByteClass),
    /// Up to the end of the last line of a private key.
    Pem {
        bytes: usize,
        dashes: u8,
        in_end: bool,
    },
}

impl OpenMatch {
    /// Consumes its part of a text and returns its length; if that is shorter than the text, the match has ended.
    pub(super) fn consume(&mut self, text: &[u8]) -> usize {
        match self {
            Self::Class(class) => text
                .iter()
                .take_while(|byte| class.contains(**byte))
                .count(),
            Self::Pem {
                bytes,
                dashes,
                in_end,
            } => text
                .iter()
                .take_while(|byte| {
                    // The second row of dashes in the last line was its end.
                    let over = *in_end && *dashes >= 10;
                    if over || *bytes >= MAX_PEM_BYTES || !is_of_pem(**byte) {
                        return false;
                    }
                    *bytes += 1;
                    match (**byte == b'-', *in_end) {
                        (true, _) => *dashes += 1,
                        (false, false) => *dashes = 0,
                        (false, true) => *dashes = 5,
                    }
                    *in_end = *in_end || *dashes >= 5;
                    true
                })
                .count(),
        }
    }
}

fn is_of_pem(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte.is_ascii_whitespace()
        || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'\\' | b':' | b',')
}
