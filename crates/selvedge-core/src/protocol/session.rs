//! The messages of a worker's session, each one text frame of JSON.
//!
//! What is bulk goes beside it, as blobs over HTTP. A message of a type that the reader does not know is
//! passed over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::assign::TaskAssign;
use super::entry::{EntryHeader, TaskResult};
use super::lease::{HeldLease, LeaseId, LeaseRenewal, LeaseToken};
use crate::model::{AttemptEnd, Report, TreeId};

/// The first message of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// [`SESSION_VERSION`](super::SESSION_VERSION).
    pub v: u32,
    /// The worker's name, which stays the same over restarts.
    pub worker: String,
    /// New at every start of the worker's program.
    pub boot_id: String,
    /// The program's version.
    #[serde(default)]
    pub version: String,
    /// What it can do; a task's labels must be among these.
    #[serde(default)]
    pub labels: Vec<String>,
    /// How many tasks it carries out at a time.
    pub slots: u32,
    /// How sessions and checks are kept apart from the machine, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// What it holds from before.
    #[serde(default)]
    pub held: Vec<HeldLease>,
}

/// From a worker to the hub.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum WorkerMessage {
    /// Who connects. The hub answers `welcome`.
    Hello(Hello),
    /// The offer is taken. The hub answers `ack` with seq 0 once that is durable; nothing begins before.
    TaskAccept {
        /// Which.
        #[serde(flatten)]
        lease: LeaseToken,
    },
    /// The offer is not taken.
    TaskDecline {
        /// Which.
        #[serde(flatten)]
        lease: LeaseToken,
        /// Why, in words.
        reason: String,
    },
    /// All leases of the worker, to be renewed. The hub answers `renewed` with the same id.
    Renew {
        /// Counts up.
        id: u64,
        /// All of them.
        leases: Vec<LeaseToken>,
    },
    /// Events and activities.
    TaskProgress(EntryHeader),
    /// An attempt begins; its agent starts only after the acknowledgement.
    BeginRun {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// The attempt.
        run_number: u32,
        /// The tree that it begins from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_tree: Option<TreeId>,
    },
    /// An attempt's report is final.
    SubmitReport {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// The attempt.
        run_number: u32,
        /// All that was found, the higher tiers included.
        /// Kept as it came.
        #[schemars(with = "Report")]
        report: Value,
    },
    /// An attempt is over without a report.
    CloseRun {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// The attempt.
        run_number: u32,
        /// How.
        closing: AttemptEnd,
    },
    /// The task is over, or waits for a person; the lease ends with the acknowledgement.
    TaskComplete {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// The same whenever this completion is sent again.
        completion_id: String,
        /// How.
        #[serde(flatten)]
        result: Box<TaskResult>,
    },
    /// The task is given back, to be taken by another; the lease ends with the acknowledgement.
    TaskRelease {
        /// The entry.
        #[serde(flatten)]
        entry: EntryHeader,
        /// Why, in words.
        reason: String,
        /// Whether that is a loss that the task's infrastructure budget is charged for.
        #[serde(default)]
        charged: bool,
    },
    /// No more offers, please.
    Draining,
    /// Something of a later release.
    #[serde(other)]
    Unknown,
}

/// Why an entry is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The grant is over: a later one was given out, or its time ran out.
    Stale,
    /// Something else stands there already.
    Conflict,
    /// The task is over.
    Terminal,
    /// It cannot be understood.
    Invalid,
    /// An entry before it is missing.
    Gap,
    /// A blob that it names is not there.
    MissingBlob,
}

/// From the hub to a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum HubMessage {
    /// The session stands.
    Welcome {
        /// The hub's name for itself.
        hub: String,
        /// How long leases last, in milliseconds.
        ttl_ms: u64,
        /// An answer for each lease that the worker said it holds.
        #[serde(default)]
        answers: Vec<LeaseRenewal>,
    },
    /// An offer.
    TaskAssign(Box<TaskAssign>),
    /// Everything of this grant up to and including `seq` is durable.
    Ack {
        /// Which grant.
        #[serde(flatten)]
        key: LeaseId,
        /// The entry; 0 for the acceptance.
        seq: u64,
    },
    /// An entry, or an acceptance (seq 0), is refused.
    Refused {
        /// Which grant.
        #[serde(flatten)]
        key: LeaseId,
        /// The entry.
        seq: u64,
        /// Why, for programs.
        code: RefusalCode,
        /// Why, in words.
        #[serde(default)]
        detail: String,
    },
    /// The answer to `renew`.
    Renewed {
        /// The renewal's.
        id: u64,
        /// One for each lease.
        answers: Vec<LeaseRenewal>,
    },
    /// The task is to be stopped for good.
    Cancel {
        /// Which grant.
        #[serde(flatten)]
        key: LeaseId,
        /// Why, in words.
        reason: String,
    },
    /// The worker is to finish what it has, and take nothing more.
    Drain {
        /// Why, in words.
        #[serde(default)]
        reason: String,
    },
    /// Something of a later release.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cost, Outcome, Usage};
    use crate::protocol::{CostEntry, FileRef, RenewalResult};

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
            run_number: 1,
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
    fn entries_survive_the_way_there_and_back_and_stand_flat() {
        let result = TaskResult::without_run(Outcome::InfraFailed, "no such repository");
        for message in [
            WorkerMessage::TaskProgress(entry()),
            WorkerMessage::BeginRun {
                entry: entry(),
                run_number: 2,
                from_tree: Some(TreeId::new("ab")),
            },
            WorkerMessage::SubmitReport {
                entry: entry(),
                run_number: 2,
                report: serde_json::json!({"z": 1, "a": [0.1, 2]}),
            },
            WorkerMessage::TaskComplete {
                entry: entry(),
                completion_id: "once".to_owned(),
                result: Box::new(result),
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
    fn a_lone_report_and_an_unknown_message_are_read() {
        let text = r#"{"type":"task_complete","task_id":"0190163d-8694-739b-aea5-966c26f8ad91","lease_epoch":1,
            "lease_token":"t","seq":1,"completion_id":"c","status":"completed","outcome":"verified",
            "verification_report":{"status":"pass"},"from_the_future":true}"#;
        let WorkerMessage::TaskComplete { result, .. } = serde_json::from_str(text).unwrap() else {
            panic!("another message")
        };
        assert_eq!(result.verification_report.unwrap()["status"], "pass");
        let text = r#"{"type":"moonrise","phase":"full"}"#;
        assert_eq!(
            serde_json::from_str::<HubMessage>(text).unwrap(),
            HubMessage::Unknown
        );
    }

    #[test]
    fn an_answer_for_a_lease_is_one_flat_object() {
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
