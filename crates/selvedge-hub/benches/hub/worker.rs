//! A worker's end of a session that carries out no-op tasks: each is accepted, begun, reported with its cost,
//! and completed. Each step waits for the acknowledgement that a real worker waits for.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use selvedge_core::model::{Cost, CostSource, MicroUsd, TaskId, Usage};
use selvedge_protocol::{
    AttemptReport, AttemptStart, CostEntry, EntryHeader, Hello, HubMessage, LeaseToken,
    SESSION_PROTOCOL, TaskCompletion, TaskResult, WORKER_PATH, WorkerMessage,
};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::{Instant, Interval, interval, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::load::event;

/// How often a worker sends a renewal.
const SHOWS: Duration = Duration::from_secs(5);
/// The entry that completes a task.
const LAST: u64 = 3;
/// Number of events in an entry.
const EVENTS: usize = 10;

pub(crate) struct BenchWorker {
    socket: WebSocketStream<TcpStream>,
    held: HashMap<TaskId, LeaseToken>,
    shows: Interval,
}

impl BenchWorker {
    pub(crate) async fn connect(host: &str, token: &str, name: &str, slots: u32) -> Self {
        let mut request = format!("ws://{host}{WORKER_PATH}")
            .into_client_request()
            .unwrap();
        let headers = request.headers_mut();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        headers.insert("sec-websocket-protocol", SESSION_PROTOCOL.parse().unwrap());
        let stream = TcpStream::connect(host).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (socket, _) = tokio_tungstenite::client_async(request, stream)
            .await
            .unwrap();
        let mut worker = Self {
            socket,
            held: HashMap::new(),
            shows: interval(SHOWS),
        };
        let hello = Hello {
            v: 1,
            worker: name.to_owned(),
            boot_id: "bench".to_owned(),
            version: String::new(),
            labels: Vec::new(),
            slots,
            sandbox: None,
            capabilities: None,
            held: Vec::new(),
        };
        worker.send(&WorkerMessage::Hello(hello)).await;
        assert!(matches!(worker.next().await, HubMessage::Welcome { .. }));
        worker
    }

    pub(crate) async fn send(&mut self, message: &WorkerMessage) {
        let text = serde_json::to_string(message).unwrap();
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// The next message; meanwhile sends renewals.
    pub(crate) async fn next(&mut self) -> HubMessage {
        loop {
            tokio::select! {
                message = self.socket.next() => {
                    let message = message.expect("an open session").unwrap();
                    if let Message::Text(text) = message {
                        match serde_json::from_str(&text).unwrap() {
                            HubMessage::Renewed { .. } => {}
                            message => return message,
                        }
                    }
                }
                _ = self.shows.tick() => {
                    let leases = self.held.values().cloned().collect();
                    self.send(&WorkerMessage::Renew { id: 0, leases, waiting: Vec::new() }).await;
                }
            }
        }
    }

    /// Accepts the next offer.
    pub(crate) async fn assigned(&mut self) -> LeaseToken {
        loop {
            if let HubMessage::TaskAssign(assign) = self.next().await {
                return assign.lease;
            }
        }
    }

    /// Takes the next step; returns whether it was the last one of a task.
    pub(crate) async fn step(&mut self) -> bool {
        match self.next().await {
            HubMessage::TaskAssign(assign) => {
                let lease = assign.lease;
                self.held.insert(lease.task_id, lease.clone());
                self.send(&WorkerMessage::TaskAccept { lease }).await;
                false
            }
            HubMessage::Ack { key, seq: LAST } => self.held.remove(&key.task_id).is_some(),
            HubMessage::Ack { key, seq } => {
                let lease = self.held[&key.task_id].clone();
                self.go_on(lease, seq).await;
                false
            }
            other => panic!("{other:?}"),
        }
    }

    /// Takes the next task and carries it out, with so many entries of events and a pause before each.
    pub(crate) async fn carry_out(&mut self, entries: u64, pause: Duration) {
        let lease = self.assigned().await;
        let task = lease.task_id;
        self.held.insert(task, lease.clone());
        let accepted = lease.clone();
        self.send(&WorkerMessage::TaskAccept { lease: accepted })
            .await;
        self.acknowledged(0).await;
        self.go_on(lease.clone(), 0).await;
        self.acknowledged(1).await;
        let mut seq = 1;
        for number in 0..entries {
            let until = Instant::now() + pause;
            // Renews the lease meanwhile.
            while let Ok(message) = timeout_at(until, self.next()).await {
                assert!(matches!(message, HubMessage::Ack { .. }), "{message:?}");
            }
            seq += 1;
            let mut entry = EntryHeader::new(lease.clone(), seq);
            let first = usize::try_from(number).unwrap() * EVENTS + 1;
            entry.events = (first..first + EVENTS)
                .map(|seq| event(&task.to_string(), seq))
                .collect();
            self.send(&WorkerMessage::TaskProgress(entry)).await;
        }
        self.send(&report(lease.clone(), seq + 1)).await;
        self.send(&complete(lease, seq + 2)).await;
        self.acknowledged(seq + 2).await;
        self.held.remove(&task);
    }

    /// Waits for the acknowledgement of an entry.
    async fn acknowledged(&mut self, wanted: u64) {
        loop {
            match self.next().await {
                HubMessage::Ack { seq, .. } if seq == wanted => return,
                HubMessage::Ack { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn go_on(&mut self, lease: LeaseToken, acknowledged: u64) {
        if acknowledged == 0 {
            let begin = WorkerMessage::BeginRun {
                entry: EntryHeader::new(lease, 1),
                effect: AttemptStart {
                    attempt_number: 1,
                    from_tree: None,
                },
            };
            self.send(&begin).await;
        } else if acknowledged == 1 {
            self.send(&report(lease.clone(), LAST - 1)).await;
            // A real worker's outbox does not wait between these two either.
            self.send(&complete(lease, LAST)).await;
        }
    }
}

fn report(lease: LeaseToken, seq: u64) -> WorkerMessage {
    let mut entry = EntryHeader::new(lease, seq);
    entry.costs = vec![CostEntry {
        attempt_number: 1,
        call_id: "session".to_owned(),
        cost: Cost {
            micro_usd: Some(MicroUsd(1)),
            source: CostSource::Reported,
        },
        usage: Usage::default(),
        model: None,
    }];
    let effect = AttemptReport {
        attempt_number: 1,
        report: json!({"status": "pass", "summary": {"total": 1, "passed": 1}}),
    };
    WorkerMessage::SubmitReport { entry, effect }
}

fn complete(lease: LeaseToken, seq: u64) -> WorkerMessage {
    let result: TaskResult =
        serde_json::from_value(json!({"status": "completed", "outcome": "verified"})).unwrap();
    WorkerMessage::TaskComplete {
        entry: EntryHeader::new(lease, seq),
        effect: TaskCompletion {
            completion_id: "once".to_owned(),
            result: Box::new(result),
        },
    }
}
