//! Responses about access: sessions of the dashboard, and the audit log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use selvedge_core::model::Timestamp;

/// A person, as an identity provider identifies them: names may be equal, this pair is not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PersonId {
    /// The URL of the identity provider.
    pub issuer: String,
    /// The person's identifier at this provider.
    pub subject: String,
}

/// A person who signed in at an identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPerson {
    /// The name to show.
    pub name: String,
    /// Who it is.
    #[serde(flatten)]
    pub id: PersonId,
}

/// A session of the dashboard, of a token or of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRow {
    /// Its id, which is needed to end it; not secret.
    pub id: String,
    /// The name of the token that the user signed in with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The id of that token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The person who signed in at the identity provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<SessionPerson>,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Timestamp,
    /// When it ends: earlier if it is not used until then.
    pub expires_at: Timestamp,
}

/// All sessions that have not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPage {
    /// The sessions, newest first.
    pub sessions: Vec<SessionRow>,
}

/// An entry of the audit log: who did what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRow {
    /// Its number: increases, but may have gaps.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The name of the user's token, or of the person.
    pub actor: String,
    /// The id of that token; absent for a person and for a program on the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The person, if they signed in at the identity provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonId>,
    /// How the user reached the hub: `api`, `dashboard`, `schedule`, or `database` for a program on the database.
    pub channel: String,
    /// The action: `task.submit`, `task.retry`, `task.cancel`, `review.accept`, `review.reject`, `review.retry`,
    /// `review.undo`, `review.apply`, `token.create`, `token.revoke`, `session.start`, `session.end`, `webhook.create`,
    /// `webhook.delete`, `schedule.create`, `schedule.pause`, `schedule.resume` or `schedule.delete`.
    pub action: String,
    /// The id of the task, token, session, webhook or schedule.
    pub subject: String,
    /// The reason that the user gave, the name of the token, or similar.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// A page of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// The entries: the newest first, or, with `after`, the oldest first.
    pub entries: Vec<AuditRow>,
}
