//! The messages of a worker's session, each one text frame of JSON.
//!
//! Large content is transferred separately, as blobs over HTTP. Messages of an unknown type are ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assign::TaskAssign;
use super::capabilities::WorkerCapabilities;
use super::entry::{
    AttemptClosing, AttemptReport, AttemptStart, EntryHeader, EntryKind, StreamEntry,
    TaskCompletion, TaskRelease,
};
use super::lease_token::{HeldLease, LeaseId, LeaseRenewal, LeaseToken};

/// The first message of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// [`SESSION_VERSION`](super::SESSION_VERSION).
    pub v: u32,
    /// The worker's name, which stays the same across restarts.
    pub worker: String,
    /// Different at every start of the worker's program.
    pub boot_id: String,
    /// The program's version.
    #[serde(default)]
    pub version: String,
    /// Its labels, which must include those of a task.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Maximum number of concurrent tasks.
    pub slots: u32,
    /// The sandbox of sessions and checks, as a single word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Its capabilities; absent if it may be offered every task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<WorkerCapabilities>,
    /// Leases that it still holds.
    #[serde(default)]
    pub held: Vec<HeldLease>,
}

/// Messages from a worker to the hub.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum WorkerMessage {
    /// The worker connects. The hub responds with `welcome`.
    Hello(Hello),
    /// Accepts an offer. The hub responds with `ack` and seq 0 once that is durable; nothing begins before.
    TaskAccept {
        /// The lease.
        #[serde(flatten)]
        lease: LeaseToken,
    },
    /// Declines an offer.
    TaskDecline {
        /// The lease.
        #[serde(flatten)]
        lease: LeaseToken,
        /// The reason, as text.
        reason: String,
    },
    /// Renews all leases of the worker. The hub responds with `renewed` and the same id.
    Renew {
        /// Increasing number.
        id: u64,
        /// The leases.
        leases: Vec<LeaseToken>,
        /// The leases among these whose tasks wait for a usage limit and occupy no slot.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waiting: Vec<LeaseId>,
    },
    /// Events and activities.
    TaskProgress(EntryHeader),
    /// An attempt begins; its agent starts only after the acknowledgement.
    BeginRun {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// Its effect.
        #[serde(flatten)]
        effect: AttemptStart,
    },
    /// An attempt has its final report.
    SubmitReport {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// Its effect.
        #[serde(flatten)]
        effect: AttemptReport,
    },
    /// An attempt ended without a report.
    CloseRun {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// Its effect.
        #[serde(flatten)]
        effect: AttemptClosing,
    },
    /// The task ended, or awaits review; the lease ends with the acknowledgement.
    TaskComplete {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// Its effect.
        #[serde(flatten)]
        effect: TaskCompletion,
    },
    /// Releases the task so that another worker can run it; the lease ends with the acknowledgement.
    TaskRelease {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// Its effect.
        #[serde(flatten)]
        effect: TaskRelease,
    },
    /// The worker accepts no further offers.
    Draining,
    /// A message of a later release.
    #[serde(other)]
    Unknown,
}

impl From<StreamEntry> for WorkerMessage {
    fn from(StreamEntry { header, kind }: StreamEntry) -> Self {
        let entry = header;
        match kind {
            EntryKind::Progress => Self::TaskProgress(entry),
            EntryKind::BeginAttempt(effect) => Self::BeginRun { entry, effect },
            EntryKind::SubmitReport(effect) => Self::SubmitReport { entry, effect },
            EntryKind::CloseAttempt(effect) => Self::CloseRun { entry, effect },
            EntryKind::Complete(effect) => Self::TaskComplete { entry, effect },
            EntryKind::Release(effect) => Self::TaskRelease { entry, effect },
        }
    }
}

impl WorkerMessage {
    /// The entry that the message is, if it is one.
    pub fn into_entry(self) -> Option<StreamEntry> {
        let (header, kind) = match self {
            Self::TaskProgress(entry) => (entry, EntryKind::Progress),
            Self::BeginRun { entry, effect } => (entry, EntryKind::BeginAttempt(effect)),
            Self::SubmitReport { entry, effect } => (entry, EntryKind::SubmitReport(effect)),
            Self::CloseRun { entry, effect } => (entry, EntryKind::CloseAttempt(effect)),
            Self::TaskComplete { entry, effect } => (entry, EntryKind::Complete(effect)),
            Self::TaskRelease { entry, effect } => (entry, EntryKind::Release(effect)),
            _ => return None,
        };
        Some(StreamEntry { header, kind })
    }
}

/// Why an entry is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The lease has ended: the task was assigned again, or the lease expired.
    Stale,
    /// Different content was stored before.
    Conflict,
    /// The task has ended.
    Terminal,
    /// It is invalid.
    Invalid,
    /// A previous entry is missing.
    Gap,
    /// A blob that it refers to does not exist.
    MissingBlob,
}

/// Messages from the hub to a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum HubMessage {
    /// The session is established.
    Welcome {
        /// The hub's name.
        hub: String,
        /// Duration of leases, in milliseconds.
        ttl_ms: u64,
        /// A response for each lease that the worker reported.
        #[serde(default)]
        answers: Vec<LeaseRenewal>,
    },
    /// An offer.
    TaskAssign(Box<TaskAssign>),
    /// All entries of this lease up to and including `seq` are durable.
    Ack {
        /// The lease.
        #[serde(flatten)]
        key: LeaseId,
        /// The entry; 0 for the acceptance.
        seq: u64,
    },
    /// An entry, or an acceptance (seq 0), is rejected.
    Refused {
        /// The lease.
        #[serde(flatten)]
        key: LeaseId,
        /// The entry.
        seq: u64,
        /// The reason, as a code.
        code: RefusalCode,
        /// The reason, as text.
        #[serde(default)]
        detail: String,
    },
    /// The response to `renew`.
    Renewed {
        /// The id of the renewal.
        id: u64,
        /// One for each lease.
        answers: Vec<LeaseRenewal>,
    },
    /// The task is to be cancelled.
    Cancel {
        /// The lease.
        #[serde(flatten)]
        key: LeaseId,
        /// The reason, as text.
        reason: String,
    },
    /// The worker must finish its tasks and accept no further ones.
    Drain {
        /// The reason, as text.
        #[serde(default)]
        reason: String,
    },
    /// A message of a later release.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{CostEntry, FileRef, RenewalResult, TaskResult};
    use selvedge_core::model::{Cost, Outcome, Usage};

    fn lease() -> LeaseToken {
        LeaseToken {
            task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
            lease_epoch: 3,
            lease_token: "secret".to_owned(),
        }
    }

    fn entry() -> EntryHeader {
        let mut entry = EntryHeader::new(lease(), 7);
        entry.events =
            vec![serde_json::json!({"v": 1, "type": "moon_phase", "data": {"b": 1, "a": 0.1}})];
        entry.costs = vec![CostEntry {
            attempt_number: 1,
            call_id: "session".to_owned(),
            cost: Cost::UNKNOWN,
            usage: Usage::default(),
            model: None,
        }];
        entry.files = vec![FileRef {
            name: "result.patch".to_owned(),
            hash: "00".repeat(32),
            size: 3,
        }];
        entry
    }

    #[test]
    fn worker_entries_round_trip_as_flat_objects() {
        let result = TaskResult::without_run(Outcome::InfraFailed, "no such repository");
        for message in [
            WorkerMessage::TaskProgress(entry()),
            WorkerMessage::BeginRun {
                entry: entry(),
                effect: AttemptStart {
                    attempt_number: 2,
                    from_tree: Some("5".repeat(64).parse().unwrap()),
                },
            },
            WorkerMessage::SubmitReport {
                entry: entry(),
                effect: AttemptReport {
                    attempt_number: 2,
                    report: serde_json::json!({"z": 1, "a": [0.1, 2]}),
                },
            },
            WorkerMessage::TaskComplete {
                entry: entry(),
                effect: TaskCompletion {
                    completion_id: "once".to_owned(),
                    result: Box::new(result),
                },
            },
            WorkerMessage::TaskAccept { lease: lease() },
        ] {
            let text = serde_json::to_string(&message).unwrap();
            let back: WorkerMessage = serde_json::from_str(&text).unwrap();
            assert_eq!(back, message);
            assert_eq!(serde_json::to_string(&back).unwrap(), text, "byte for byte");
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["lease_epoch"], 3, "{text}");
        }
    }

    #[test]
    fn worker_message_reads_report_and_unknown_type() {
        let text = r#"{"type":"task_complete","task_id":"0190163d-8694-739b-aea5-966c26f8ad91","lease_epoch":1,
            "lease_token":"t","seq":1,"completion_id":"c","status":"completed","outcome":"verified",
            "verification_report":{"status":"pass"},"from_the_future":true}"#;
        let WorkerMessage::TaskComplete { effect, .. } = serde_json::from_str(text).unwrap() else {
            panic!("another message")
        };
        let report = effect.result.verification_report.unwrap();
        assert_eq!(report["status"], "pass");
        let text = r#"{"type":"moonrise","phase":"full"}"#;
        assert_eq!(
            serde_json::from_str::<HubMessage>(text).unwrap(),
            HubMessage::Unknown
        );
    }

    #[test]
    fn lease_renewal_is_a_flat_object() {
        let message = HubMessage::Renewed {
            id: 4,
            answers: vec![LeaseRenewal {
                key: lease().id(),
                verdict: RenewalResult::Keep {
                    expires_in_ms: 30_000,
                    next_seq: 8,
                    cancel: None,
                },
            }],
        };
        let value = serde_json::to_value(&message).unwrap();
        assert_eq!(value["answers"][0]["answer"], "keep");
        assert_eq!(value["answers"][0]["next_seq"], 8);
        assert_eq!(
            serde_json::from_value::<HubMessage>(value).unwrap(),
            message
        );
    }
}
