//! Well-known formats of keys: a prefix that nothing else bears, and what has to follow it. Each is
//! decided within a bounded number of bytes, so that a stream can be redacted; how long the key then
//! goes on does not matter. A table of our own: lists of regular expressions, as scanners of
//! repositories have them, cannot be told to decide early.

use super::Reach;

/// Bytes within which a format with parts of its own has to show itself.
const WINDOW: usize = 512;
/// Bytes of a user's name, and of a password, in a URL.
const USER: usize = 128;
const PASSWORD: usize = 256;
/// A user's name of at least this length, without a password, is a token.
const TOKEN_AS_USER: usize = 20;
/// Bytes of a private key in text.
const PEM: usize = 16 << 10;

/// Which bytes a key consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters and digits.
    Alnum,
    /// Those, `-` and `_`.
    Word,
    /// Those and `.`.
    Dotted,
    /// Capitals and digits.
    Upper,
    /// What a header's token may hold.
    Token68,
    /// Letters, digits and `/`.
    Path,
}

impl Class {
    const fn holds(self, byte: u8) -> bool {
        byte.is_ascii_digit()
            || match self {
                Self::Upper => byte.is_ascii_uppercase(),
                Self::Alnum => byte.is_ascii_alphabetic(),
                Self::Word => byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'),
                Self::Dotted => byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.'),
                Self::Path => byte.is_ascii_alphabetic() || byte == b'/',
                Self::Token68 => {
                    byte.is_ascii_alphabetic()
                        || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=')
                }
            }
    }
}

/// What has to follow a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// At least so many bytes of a class.
    AtLeast(Class, usize),
    /// Likewise, and no letter or digit before the prefix.
    Apart(Class, usize),
    /// Exactly so many, and no letter or digit before the prefix.
    Exactly(Class, usize),
    /// The prefix stays; likewise, with a digit among them.
    Behind(Class, usize),
    /// The rest of a JSON Web Token's header, and the beginning of its claims.
    Jwt,
    /// The rest of a private key's first line.
    Pem,
    /// A user's name and a password.
    Url,
}

/// A well-known format.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) name: &'static str,
    pub(super) prefix: &'static str,
    rule: Rule,
}

const fn format(name: &'static str, prefix: &'static str, rule: Rule) -> Format {
    Format { name, prefix, rule }
}

use Class::{Alnum, Dotted, Path, Token68, Upper, Word};
use Rule::{Apart, AtLeast, Behind, Exactly};

pub(super) const FORMATS: &[Format] = &[
    format("Selvedge token", "slv_", AtLeast(Word, 32)),
    format("Anthropic key", "sk-ant-", AtLeast(Word, 20)),
    format("OpenAI key", "sk-proj-", AtLeast(Word, 20)),
    format("OpenAI key", "sk-svcacct-", AtLeast(Word, 20)),
    format("OpenAI key", "sk-admin-", AtLeast(Word, 20)),
    format("OpenRouter key", "sk-or-v1-", AtLeast(Word, 20)),
    format("API key", "sk-", Apart(Alnum, 32)),
    format("xAI key", "xai-", Apart(Alnum, 40)),
    format("Groq key", "gsk_", Apart(Alnum, 40)),
    format("Perplexity key", "pplx-", Apart(Alnum, 40)),
    format("Replicate token", "r8_", Apart(Alnum, 36)),
    format("Hugging Face token", "hf_", Apart(Alnum, 30)),
    format("GitHub token", "ghp_", AtLeast(Alnum, 30)),
    format("GitHub token", "gho_", AtLeast(Alnum, 30)),
    format("GitHub token", "ghu_", AtLeast(Alnum, 30)),
    format("GitHub token", "ghs_", AtLeast(Alnum, 30)),
    format("GitHub token", "ghr_", AtLeast(Alnum, 30)),
    format("GitHub token", "github_pat_", AtLeast(Word, 30)),
    format("GitLab token", "glpat-", AtLeast(Dotted, 20)),
    format("GitLab token", "gldt-", AtLeast(Word, 20)),
    format("GitLab token", "glrt-", AtLeast(Dotted, 20)),
    format("GitLab token", "glptt-", AtLeast(Word, 40)),
    format("AWS key", "AKIA", Exactly(Upper, 16)),
    format("AWS key", "ASIA", Exactly(Upper, 16)),
    format("Google key", "AIza", Apart(Word, 35)),
    format("Google token", "ya29.", Apart(Dotted, 30)),
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
        Behind(Path, 20),
    ),
    format("npm token", "npm_", Apart(Alnum, 36)),
    format("PyPI token", "pypi-", Apart(Word, 50)),
    format("Docker token", "dckr_pat_", AtLeast(Word, 20)),
    format("DigitalOcean token", "dop_v1_", AtLeast(Alnum, 40)),
    format("Stripe key", "sk_live_", AtLeast(Alnum, 16)),
    format("Stripe key", "sk_test_", AtLeast(Alnum, 16)),
    format("Stripe key", "rk_live_", AtLeast(Alnum, 16)),
    format("Stripe secret", "whsec_", AtLeast(Alnum, 24)),
    format("SendGrid key", "SG.", Apart(Dotted, 60)),
    format("Vault token", "hvs.", Apart(Word, 24)),
    format("age key", "AGE-SECRET-KEY-1", AtLeast(Upper, 50)),
    format("JSON Web Token", "eyJ", Rule::Jwt),
    format("bearer token", "Bearer ", Behind(Token68, 16)),
    format("bearer token", "bearer ", Behind(Token68, 16)),
    format("bearer token", "BEARER ", Behind(Token68, 16)),
    format("credentials", "uthorization: Basic ", Behind(Token68, 8)),
    format("credentials", "uthorization: basic ", Behind(Token68, 8)),
    format("private key", "-----BEGIN ", Rule::Pem),
    format("password", "://", Rule::Url),
];

impl Format {
    pub(super) fn reach(&self, text: &[u8], before: [u8; 2], over: bool) -> Reach {
        let start = self.prefix.len();
        let rest = text.get(start..).unwrap_or_default();
        match self.rule {
            AtLeast(class, least) => at_least(rest, start, 0, class, least, over),
            Apart(class, least) if stands_apart(before) => {
                at_least(rest, start, 0, class, least, over)
            }
            Exactly(class, count) if stands_apart(before) => {
                exactly(rest, start, class, count, over)
            }
            Apart(..) | Exactly(..) => Reach::No,
            Behind(class, least) => match at_least(rest, start, start, class, least, over) {
                Reach::Yes { .. } if !rest[..least].iter().any(u8::is_ascii_digit) => Reach::No,
                reach => reach,
            },
            Rule::Jwt => jwt(rest, start, over),
            Rule::Pem => pem(rest, start, over),
            Rule::Url => url(rest, start, over),
        }
    }
}

/// No letter or digit stands before: but the end of an escape sequence, of JSON or of a terminal's
/// colour, is none.
fn stands_apart([far, near]: [u8; 2]) -> bool {
    let escape = far == b'\\' && matches!(near, b'n' | b'r' | b't' | b'b' | b'f');
    let colour = near == b'm' && (far.is_ascii_digit() || far == b'[');
    escape || colour || !(near.is_ascii_alphanumeric() || near == b'_')
}

fn unless_over(over: bool) -> Reach {
    if over { Reach::No } else { Reach::Unsure }
}

fn at_least(
    rest: &[u8],
    start: usize,
    from: usize,
    class: Class,
    least: usize,
    over: bool,
) -> Reach {
    let first = &rest[..least.min(rest.len())];
    match first.iter().position(|byte| !class.holds(*byte)) {
        Some(_) => Reach::No,
        None if first.len() < least => unless_over(over),
        None => Reach::Yes {
            from,
            to: start + least,
            on: Some(Run::Class(class)),
        },
    }
}

fn exactly(rest: &[u8], start: usize, class: Class, count: usize, over: bool) -> Reach {
    let seen = &rest[..(count + 1).min(rest.len())];
    let run = seen.iter().take_while(|byte| class.holds(**byte)).count();
    match run {
        run if run == count && (seen.len() > count || over) => Reach::Yes {
            from: 0,
            to: start + count,
            on: None,
        },
        run if run == seen.len() && run <= count => unless_over(over),
        _ => Reach::No,
    }
}

fn jwt(rest: &[u8], start: usize, over: bool) -> Reach {
    const NEXT: &[u8] = b".eyJ";
    let window = &rest[..rest.len().min(WINDOW)];
    let header = window.iter().take_while(|byte| Word.holds(**byte)).count();
    let behind = &rest[header..];
    let next = &behind[..behind.len().min(NEXT.len())];
    if header == WINDOW || !NEXT.starts_with(next) || (header < 8 && !behind.is_empty()) {
        return Reach::No;
    }
    if next.len() < NEXT.len() {
        return unless_over(over);
    }
    Reach::Yes {
        from: 0,
        to: start + header + NEXT.len(),
        on: Some(Run::Class(Dotted)),
    }
}

fn pem(rest: &[u8], start: usize, over: bool) -> Reach {
    const END: &[u8] = b"PRIVATE KEY-----";
    const LABEL: usize = 24;
    for at in 0..LABEL {
        let behind = rest.get(at..).unwrap_or_default();
        let found = &behind[..behind.len().min(END.len())];
        if found.len() == END.len() && found == END {
            return Reach::Yes {
                from: 0,
                to: start + at + END.len(),
                on: Some(Run::Pem {
                    bytes: 0,
                    dashes: 0,
                    in_end: false,
                }),
            };
        }
        if END.starts_with(found) && found.len() < END.len() {
            return unless_over(over);
        }
        let label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
        if !behind.first().is_some_and(|byte| label(*byte)) {
            return Reach::No;
        }
    }
    Reach::No
}

fn url(rest: &[u8], start: usize, over: bool) -> Reach {
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
        .take(USER)
        .take_while(|byte| !ends(**byte) && !matches!(byte, b':' | b'@'))
        .count();
    let password_at = user + 1;
    let secret = match rest.get(user) {
        None => return unless_over(over),
        Some(b'@') if user >= TOKEN_AS_USER => 0..user,
        Some(b':') => {
            let password = rest.iter().skip(password_at).take(PASSWORD);
            let length = password
                .take_while(|byte| !ends(**byte) && **byte != b'@')
                .count();
            match rest.get(password_at + length) {
                None => return unless_over(over),
                Some(b'@') if length > 0 => password_at..password_at + length,
                Some(_) => return Reach::No,
            }
        }
        Some(_) => return Reach::No,
    };
    // A variable, a gap to fill in, or what was redacted already.
    if rest.first() == Some(&b'[') || matches!(rest[secret.start], b'$' | b'{' | b'*' | b'[' | b'%')
    {
        return Reach::No;
    }
    Reach::Yes {
        from: start + secret.start,
        to: start + secret.end,
        on: None,
    }
}

/// What goes on byte by byte, without an end that is known beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// For as long as the bytes are of a class.
    Class(Class),
    /// Up to the end of the last line of a private key.
    Pem {
        bytes: usize,
        dashes: u8,
        in_end: bool,
    },
}

impl Run {
    /// Takes its part of a text: how many bytes that is. Less than all of them: it is over.
    pub(super) fn take(&mut self, text: &[u8]) -> usize {
        match self {
            Self::Class(class) => text.iter().take_while(|byte| class.holds(**byte)).count(),
            Self::Pem {
                bytes,
                dashes,
                in_end,
            } => text
                .iter()
                .take_while(|byte| {
                    // The last line's second row of dashes was its end.
                    let over = *in_end && *dashes >= 10;
                    if over || *bytes >= PEM || !is_of_pem(**byte) {
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
