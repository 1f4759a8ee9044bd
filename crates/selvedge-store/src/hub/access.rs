//! Who has access, and who did what: sessions of the dashboard, and the audit log.

use selvedge_protocol::PersonId;
use uuid::Uuid;

use super::error::HubStoreError;
use super::rows::ApiToken;
use super::sqlite::columns::damaged;

/// How a user reached the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditChannel {
    /// The REST API.
    Api,
    /// The dashboard.
    Dashboard,
    /// A schedule that the user has created.
    Schedule,
    /// A program on the database, without a running hub: the first start, or the recovery of access.
    Database,
}

impl AuditChannel {
    /// The stored word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Dashboard => "dashboard",
            Self::Schedule => "schedule",
            Self::Database => "database",
        }
    }

    /// Parses a stored word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Api, Self::Dashboard, Self::Schedule, Self::Database]
            .into_iter()
            .find(|channel| channel.as_str() == word)
    }
}

/// The user of an operation, as the audit log records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditActor {
    /// The name of the user's token, or of the person.
    pub name: String,
    /// The token; `None` for a person and for a program on the database.
    pub token_id: Option<Uuid>,
    /// The person, if they signed in at the identity provider.
    pub person: Option<PersonId>,
    /// How the user reached the hub.
    pub channel: AuditChannel,
}

impl AuditActor {
    /// A program on the database.
    pub fn on_database(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            token_id: None,
            person: None,
            channel: AuditChannel::Database,
        }
    }

    /// The stored form of the person.
    pub(crate) fn person_column(&self) -> Option<String> {
        // It contains only text, which always has a JSON form.
        self.person.as_ref().and_then(|it| person_column(it).ok())
    }
}

/// An action of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditAction {
    /// Submitted a task.
    SubmitTask,
    /// Submitted an ended task again.
    RetryTask,
    /// Cancelled a task.
    CancelTask,
    /// Accepted work.
    AcceptWork,
    /// Rejected work.
    RejectWork,
    /// Rejected work and requested another attempt.
    RequestAttempt,
    /// Undid a review decision before it took effect.
    UndoReview,
    /// Let a review decision take effect before its time.
    ApplyReview,
    /// Created a token.
    CreateToken,
    /// Revoked a token.
    RevokeToken,
    /// Signed in to the dashboard.
    StartSession,
    /// Ended a session of the dashboard.
    EndSession,
    /// Created a webhook.
    CreateWebhook,
    /// Removed a webhook.
    DeleteWebhook,
    /// Created a schedule.
    CreateSchedule,
    /// Paused a schedule.
    PauseSchedule,
    /// Resumed a schedule.
    ResumeSchedule,
    /// Removed a schedule.
    DeleteSchedule,
    /// Created a project.
    CreateProject,
    /// Changed the settings of a project.
    UpdateProject,
    /// Deleted a project.
    DeleteProject,
}

impl AuditAction {
    /// All actions.
    pub const ALL: [Self; 21] = [
        Self::SubmitTask,
        Self::RetryTask,
        Self::CancelTask,
        Self::AcceptWork,
        Self::RejectWork,
        Self::RequestAttempt,
        Self::UndoReview,
        Self::ApplyReview,
        Self::CreateToken,
        Self::RevokeToken,
        Self::StartSession,
        Self::EndSession,
        Self::CreateWebhook,
        Self::DeleteWebhook,
        Self::CreateSchedule,
        Self::PauseSchedule,
        Self::ResumeSchedule,
        Self::DeleteSchedule,
        Self::CreateProject,
        Self::UpdateProject,
        Self::DeleteProject,
    ];

    /// The stored word: the kind of the subject and what was done.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SubmitTask => "task.submit",
            Self::RetryTask => "task.retry",
            Self::CancelTask => "task.cancel",
            Self::AcceptWork => "review.accept",
            Self::RejectWork => "review.reject",
            Self::RequestAttempt => "review.retry",
            Self::UndoReview => "review.undo",
            Self::ApplyReview => "review.apply",
            Self::CreateToken => "token.create",
            Self::RevokeToken => "token.revoke",
            Self::StartSession => "session.start",
            Self::EndSession => "session.end",
            Self::CreateWebhook => "webhook.create",
            Self::DeleteWebhook => "webhook.delete",
            Self::CreateSchedule => "schedule.create",
            Self::PauseSchedule => "schedule.pause",
            Self::ResumeSchedule => "schedule.resume",
            Self::DeleteSchedule => "schedule.delete",
            Self::CreateProject => "project.create",
            Self::UpdateProject => "project.update",
            Self::DeleteProject => "project.delete",
        }
    }

    /// Parses a stored word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }
}

/// An entry of the audit log about a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskAudit {
    /// The user.
    pub actor: AuditActor,
    /// The action on the task.
    pub action: AuditAction,
    /// The reason that the user gave, or similar.
    pub detail: String,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number: increases, but may have gaps.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The project of the subject; `default` for projects.
    pub project: String,
    /// The user.
    pub actor: AuditActor,
    /// The action.
    pub action: AuditAction,
    /// The id of the task, token, session, webhook or schedule, or the name of the project.
    pub subject: String,
    /// The reason that the user gave, or similar.
    pub detail: String,
}

/// Which entries of the audit log to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    /// The project.
    pub project: String,
    /// Entries of this user only.
    pub actor: Option<String>,
    /// Entries with this action only.
    pub action: Option<AuditAction>,
    /// Entries about this task, token, session, webhook or schedule only.
    pub subject: Option<String>,
    /// The order, and where to begin.
    pub order: AuditOrder,
    /// Maximum number of entries.
    pub limit: usize,
}

/// The order of entries of the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOrder {
    /// The newest first; only those before the given number.
    NewestFirst {
        /// The last number of the previous page.
        before: Option<u64>,
    },
    /// The oldest first, after the given number. No entry is ever added before one that was returned.
    OldestFirst {
        /// The last number of the previous page; 0 at the beginning.
        after: u64,
    },
}

/// The result of a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokeOutcome {
    /// The token is revoked, now or before.
    Revoked,
    /// There is no such token.
    NotFound,
    /// It is the last valid token of an administrator of its project.
    LastAdministrator,
}

/// A person who signed in at the identity provider, with the rights of their roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Who it is.
    pub id: PersonId,
    /// The name to show.
    pub name: String,
    /// The project whose tasks the person sees.
    pub project: String,
    /// The names of their scopes.
    pub scopes: Vec<String>,
}

/// The stored form of a person's identity.
pub(crate) fn person_column(person: &PersonId) -> Result<String, HubStoreError> {
    serde_json::to_string(person).map_err(damaged)
}

/// Reads the stored form of a person's identity.
pub(crate) fn read_person_column(text: &str) -> Result<PersonId, HubStoreError> {
    serde_json::from_str(text).map_err(damaged)
}

/// Whose session it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewSessionOwner {
    /// The token that the user signed in with.
    Token(Uuid),
    /// A person.
    Person(Person),
}

impl NewSessionOwner {
    /// The token, if it is one.
    pub(crate) fn token_id(&self) -> Option<Uuid> {
        match self {
            Self::Token(token_id) => Some(*token_id),
            Self::Person(_) => None,
        }
    }

    /// The person, if it is one.
    pub(crate) fn person(&self) -> Option<&Person> {
        match self {
            Self::Token(_) => None,
            Self::Person(person) => Some(person),
        }
    }
}

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionOwner {
    /// The token that the user signed in with. The session ends with it.
    Token(ApiToken),
    /// A person.
    Person(Person),
}

impl SessionOwner {
    /// The name of the token or the person.
    pub fn name(&self) -> &str {
        match self {
            Self::Token(token) => &token.name,
            Self::Person(person) => &person.name,
        }
    }

    /// The project whose tasks the user sees.
    pub fn project(&self) -> &str {
        match self {
            Self::Token(token) => &token.project,
            Self::Person(person) => &person.project,
        }
    }

    /// The names of the scopes.
    pub fn scopes(&self) -> &[String] {
        match self {
            Self::Token(token) => &token.scopes,
            Self::Person(person) => &person.scopes,
        }
    }

    /// The token, if the user signed in with one.
    pub fn token_id(&self) -> Option<Uuid> {
        match self {
            Self::Token(token) => Some(token.token_id),
            Self::Person(_) => None,
        }
    }

    /// The person, if they signed in at the identity provider.
    pub fn person(&self) -> Option<&Person> {
        match self {
            Self::Token(_) => None,
            Self::Person(person) => Some(person),
        }
    }
}

/// A session to store: contains only the hash of the cookie's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLoginSession {
    /// Its public id.
    pub session_id: Uuid,
    /// Whose session it will be.
    pub owner: NewSessionOwner,
    /// SHA-256 of the cookie's value.
    pub hash: [u8; 32],
    /// How long it lasts without use, in milliseconds.
    pub idle_ms: i64,
    /// How long it lasts at most, in milliseconds.
    pub lasts_ms: i64,
    /// The user who signs in.
    pub actor: AuditActor,
}

/// A session of the dashboard that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginSession {
    /// Its public id.
    pub session_id: Uuid,
    /// Whose session it is.
    pub owner: SessionOwner,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// When it was last used, to the minute: milliseconds since 1970.
    pub last_used_at: i64,
    /// When it ends at the latest: milliseconds since 1970.
    pub expires_at: i64,
    /// How long it lasts without use, in milliseconds.
    pub idle_ms: i64,
}
