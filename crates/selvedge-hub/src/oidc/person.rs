//! Creates a person from the claims of an ID token. The provider and partly its users choose the claims, so their
//! length is limited, and characters that are invisible or control a terminal are removed.

use selvedge_core::sanitize::sanitize_text;
use selvedge_protocol::{DEFAULT_PROJECT, PersonId};
use selvedge_store::hub::Person;
use serde_json::Value;

use super::id_token::Claims;
use super::settings::{OidcSettings, Role};

/// Longest name, in characters: as of a token.
const MAX_NAME_CHARS: usize = 100;
/// Longest subject, in bytes (OpenID Connect Core, section 2).
const MAX_SUBJECT_BYTES: usize = 255;
/// Number of groups that are read.
const MAX_GROUPS: usize = 2_000;
/// Number of groups that the page for people without a role lists.
const MAX_SHOWN_GROUPS: usize = 20;
/// Longest text of the provider on a page, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// Why a person may not use the hub.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PersonError {
    /// The token does not identify the person.
    #[error("The identity provider sent an ID token without a usable `sub`.")]
    Subject,
    /// None of the person's groups has a role.
    #[error("{name}, you have no role on this hub. {}", describe_groups(.groups, .claim))]
    NoRole {
        /// The person's name.
        name: String,
        /// The person's groups.
        groups: Vec<String>,
        /// The claim that they were read from.
        claim: String,
    },
}

fn describe_groups(groups: &[String], claim: &str) -> String {
    const HELP: &str = "An administrator of the hub can give a role to one of your groups.";
    if groups.is_empty() {
        return format!(
            "The identity provider sent no groups (claim `{}`). {HELP}",
            shown_text(claim)
        );
    }
    let shown = groups.iter().take(MAX_SHOWN_GROUPS);
    let shown: Vec<_> = shown.map(|group| shown_text(group)).collect();
    let more = groups.len() - shown.len();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "The identity provider named these groups: {}{more}. {HELP}",
        shown.join(", ")
    )
}

/// A text of the provider, bounded and on one line.
pub(super) fn shown_text(text: &str) -> String {
    bounded(text, MAX_SHOWN_CHARS)
}

fn bounded(text: &str, longest: usize) -> String {
    // Escape sequences are removed first: a cut one could not be recognised.
    let start: String = text.chars().take(longest * 4).collect();
    let clean = sanitize_text(&start);
    let words: Vec<_> = clean.split_whitespace().collect();
    words.join(" ").chars().take(longest).collect()
}

/// The person of valid claims, with the rights of their roles.
pub(super) fn from_claims(settings: &OidcSettings, claims: &Claims) -> Result<Person, PersonError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let subject = text("sub").filter(|it| !it.is_empty() && it.len() <= MAX_SUBJECT_BYTES);
    let subject = subject.ok_or(PersonError::Subject)?;
    let names = ["name", "preferred_username", "email"];
    let names = names.iter().filter_map(|name| text(name)).chain([subject]);
    let mut names = names.map(|name| bounded(name, MAX_NAME_CHARS));
    let name = names.find(|name| !name.is_empty());
    let name = name.ok_or(PersonError::Subject)?;
    let groups = groups(claims, &settings.groups_claim);
    let roles = roles_of(settings, &groups);
    if roles.is_empty() {
        return Err(PersonError::NoRole {
            name,
            groups: groups.into_iter().map(str::to_owned).collect(),
            claim: settings.groups_claim.clone(),
        });
    }
    let mut scopes: Vec<_> = roles.iter().map(|role| role.scope().as_str()).collect();
    scopes.dedup();
    Ok(Person {
        // People of all groups see the same tasks.
        project: DEFAULT_PROJECT.to_owned(),
        id: PersonId {
            issuer: settings.issuer.clone(),
            subject: subject.to_owned(),
        },
        name,
        scopes: scopes.into_iter().map(str::to_owned).collect(),
    })
}

/// The roles of groups, in the order of [`Role::ALL`]; if there are none, the default role.
fn roles_of(settings: &OidcSettings, groups: &[&str]) -> Vec<Role> {
    let has = |role: &Role| {
        let of_role = settings.roles.iter().filter(|(it, _)| it == role);
        let mut named = of_role.flat_map(|(_, named)| named);
        named.any(|named| groups.contains(&named.as_str()))
    };
    let roles: Vec<_> = Role::ALL.into_iter().filter(has).collect();
    if roles.is_empty() {
        settings.default_role.into_iter().collect()
    } else {
        roles
    }
}

/// The groups in a claim: a list of texts, or one text. Without a claim of that name, dots in the name lead into
/// objects: `realm_access.roles`.
fn groups<'a>(claims: &'a Claims, claim: &str) -> Vec<&'a str> {
    let found = claims.get(claim).or_else(|| {
        let mut parts = claim.split('.');
        let first = claims.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    });
    match found {
        Some(Value::String(group)) => vec![group],
        Some(Value::Array(all)) => all
            .iter()
            .filter_map(Value::as_str)
            .take(MAX_GROUPS)
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::super::settings::ClientSecret;
    use super::*;

    fn settings(claim: &str) -> OidcSettings {
        OidcSettings {
            issuer: "https://login.example".to_owned(),
            client_id: "hub".to_owned(),
            client_secret: ClientSecret::new("secret".to_owned()),
            scopes: vec!["openid".to_owned()],
            groups_claim: claim.to_owned(),
            roles: vec![
                (Role::Viewer, vec!["all".to_owned()]),
                (Role::Reviewer, vec!["leads".to_owned()]),
                (Role::Admin, vec!["cn=ops,dc=example".to_owned()]),
            ],
            default_role: None,
            session_lifetime: Duration::from_hours(12),
        }
    }

    fn person(settings: &OidcSettings, claims: &Value) -> Result<Person, PersonError> {
        from_claims(settings, claims.as_object().unwrap())
    }

    #[test]
    fn groups_become_scopes_of_all_their_roles() {
        let of = |claim: &str, claims: Value| {
            let person = person(&settings(claim), &claims);
            person.map(|it| it.scopes).map_err(|it| it.to_string())
        };
        let both = json!({"sub": "1", "groups": ["all", 7, "leads", "unknown"]});
        assert_eq!(of("groups", both).unwrap(), ["read", "submit"]);
        let one = json!({"sub": "1", "groups": "cn=ops,dc=example"});
        assert_eq!(of("groups", one).unwrap(), ["admin"]);
        let nested = json!({"sub": "1", "realm_access": {"roles": ["all"]}});
        assert_eq!(of("realm_access.roles", nested).unwrap(), ["read"]);
        let url = json!({"sub": "1", "https://a.example/groups": ["all"]});
        assert_eq!(of("https://a.example/groups", url).unwrap(), ["read"]);
        let none = of("groups", json!({"sub": "1", "name": "Ada", "groups": {}})).unwrap_err();
        assert!(none.contains("sent no groups (claim `groups`)"), "{none}");
        let with_default = OidcSettings {
            default_role: Some(Role::Viewer),
            ..settings("groups")
        };
        let person = person(&with_default, &json!({"sub": "1"})).unwrap();
        assert_eq!(person.scopes, ["read"]);
    }

    #[test]
    fn hostile_claims_are_bounded_and_visible() {
        let settings = settings("groups");
        let name = format!(" \u{1b}[31mA\u{202e}da\n{}", "x".repeat(1_000));
        let claims = json!({"sub": "1", "name": name, "groups": ["all"]});
        let person_of = person(&settings, &claims).unwrap();
        assert!(person_of.name.starts_with("Ada xxx"), "{}", person_of.name);
        assert_eq!(person_of.name.chars().count(), MAX_NAME_CHARS);
        let unnamed =
            json!({"sub": "1", "name": "\u{200b}", "email": "a@b.example", "groups": "all"});
        assert_eq!(person(&settings, &unnamed).unwrap().name, "a@b.example");
        for sub in [json!(""), json!(7), json!("x".repeat(256)), Value::Null] {
            let refused = person(&settings, &json!({"sub": sub, "groups": ["all"]}));
            assert!(matches!(refused, Err(PersonError::Subject)), "{sub}");
        }
        let many: Vec<String> = (0..5_000)
            .map(|it| format!("\u{7}{it}{}", "y".repeat(300)))
            .collect();
        let refused = person(&settings, &json!({"sub": "1", "groups": many})).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.len() < 6_000 && text.contains("and 1980 more"),
            "{text}"
        );
        assert!(!text.contains('\u{7}'));
    }
}
