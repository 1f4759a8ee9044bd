//! One session with the hub: hello, renewals, offers, acknowledgements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use selvedge_protocol::{
    HubMessage, LeaseId, LeaseRenewal, LeaseTiming, RefusalCode, RenewalResult, WorkerMessage,
};
use selvedge_store::fault;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message};

use super::connection::{
    ConnectionEvent, FrameWriter, OutgoingFrame, WorkerIdentity, read_text_frame,
};
use super::lease::WorkerLease;

/// Time limit for the hub's answer to `hello`.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a connection broke.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error("the hub closed the session")]
    ClosedByHub,
    #[error("the hub closed the session: {0}")]
    Closed(String),
    #[error("the hub does not respond")]
    NoResponse,
    #[error("the connection to the hub is closed")]
    WriterClosed,
    #[error(transparent)]
    Read(#[from] tungstenite::Error),
}

/// How a session ended.
pub(super) enum ConnectionEnd {
    /// The connection broke.
    Broken(ConnectionError),
    /// The worker's main loop has ended.
    WorkerGone,
}

pub(super) struct ConnectionSession<'a> {
    /// The connection's number.
    connection: u64,
    identity: &'a WorkerIdentity,
    events: &'a mpsc::Sender<ConnectionEvent>,
    timing: LeaseTiming,
    /// The times at which unanswered renewals were sent.
    pending_renewals: BTreeMap<u64, Instant>,
    last_renewal: u64,
    /// Whether the hub has answered a renewal on this connection.
    pub(super) is_proven: bool,
}

impl<'a> ConnectionSession<'a> {
    pub(super) fn new(
        connection: u64,
        identity: &'a WorkerIdentity,
        events: &'a mpsc::Sender<ConnectionEvent>,
    ) -> Self {
        Self {
            connection,
            identity,
            events,
            timing: LeaseTiming::default(),
            pending_renewals: BTreeMap::new(),
            last_renewal: 0,
            is_proven: false,
        }
    }

    /// Runs the session until the connection breaks.
    pub(super) async fn run_session<S>(
        &mut self,
        socket: WebSocketStream<S>,
        outgoing: &mut mpsc::Receiver<OutgoingFrame>,
    ) -> ConnectionEnd
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sink, mut stream) = socket.split();
        let writer = FrameWriter::new(sink);
        if let Err(error) = self.exchange_hello(&writer, &mut stream).await {
            return ConnectionEnd::Broken(error);
        }
        if self
            .events
            .send(ConnectionEvent::Connected(self.connection))
            .await
            .is_err()
        {
            return ConnectionEnd::WorkerGone;
        }
        let mut renew = tokio::time::interval(self.timing.renew_interval());
        renew.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                _ = renew.tick() => {
                    if let Err(error) = self.send_renewal(&writer) {
                        return ConnectionEnd::Broken(error);
                    }
                }
                frame = read_text_frame(&mut stream) => match frame {
                    None => return ConnectionEnd::Broken(ConnectionError::ClosedByHub),
                    Some(Err(error)) => return ConnectionEnd::Broken(error),
                    Some(Ok(text)) => {
                        if let Some(ended) = self.handle_message(&text).await {
                            return ended;
                        }
                    }
                },
                (frame, room) = async { (outgoing.recv().await, writer.reserve_slot().await) } => {
                    let (Some(frame), Some(room)) = (frame, room) else {
                        return ConnectionEnd::Broken(ConnectionError::WriterClosed);
                    };
                    if frame.connection == self.connection {
                        room.send(frame.text);
                    }
                }
            }
        }
    }

    async fn exchange_hello<S>(
        &mut self,
        writer: &FrameWriter,
        stream: &mut S,
    ) -> Result<(), ConnectionError>
    where
        S: futures_util::Stream<Item = Result<Message, tungstenite::Error>> + Unpin,
    {
        let mut hello = self.identity.hello.clone();
        let leases = self.identity.leases.all();
        let leases = leases
            .iter()
            .filter(|worker_lease| worker_lease.current_status().lost_reason.is_none());
        hello.held = leases
            .map(|worker_lease| worker_lease.to_held_lease())
            .collect();
        let sent = Instant::now();
        writer.send_urgent(&WorkerMessage::Hello(hello));
        let until = tokio::time::Instant::now() + HELLO_TIMEOUT;
        loop {
            let frame = tokio::time::timeout_at(until, read_text_frame(stream));
            let frame = frame.await.map_err(|_| ConnectionError::NoResponse)?;
            let text = frame.ok_or(ConnectionError::ClosedByHub)??;
            let Ok(message) = serde_json::from_str::<HubMessage>(&text) else {
                continue;
            };
            if let HubMessage::Welcome {
                ttl_ms, answers, ..
            } = message
            {
                self.timing = LeaseTiming::of_ttl(Duration::from_millis(ttl_ms.max(1)));
                for answer in answers {
                    self.apply_renewal(answer, sent, true);
                }
                return Ok(());
            }
        }
    }

    fn send_renewal(&mut self, writer: &FrameWriter) -> Result<(), ConnectionError> {
        let late = self.timing.renew_interval() * 2;
        if self
            .pending_renewals
            .values()
            .any(|sent| sent.elapsed() > late)
        {
            return Err(ConnectionError::NoResponse);
        }
        let leases = self.identity.leases.all();
        self.resend_acceptances(&leases, writer);
        let leases = leases.iter().filter(|worker_lease| {
            let status = worker_lease.current_status();
            status.accepted && status.lost_reason.is_none() && status.connection == self.connection
        });
        let leases: Vec<_> = leases.collect();
        let waiting = leases
            .iter()
            .filter(|worker_lease| worker_lease.is_waiting());
        let waiting = waiting.map(|worker_lease| worker_lease.key()).collect();
        let leases = leases
            .iter()
            .map(|worker_lease| worker_lease.lease.clone())
            .collect();
        self.last_renewal += 1;
        let id = self.last_renewal;
        self.pending_renewals.insert(id, Instant::now());
        if writer.send_urgent(&WorkerMessage::Renew {
            id,
            leases,
            waiting,
        }) {
            Ok(())
        } else {
            Err(ConnectionError::WriterClosed)
        }
    }

    /// Sends unanswered acceptances again: the hub does not answer if its store fails.
    fn resend_acceptances(&self, leases: &[Arc<WorkerLease>], writer: &FrameWriter) {
        for worker_lease in leases {
            let status = worker_lease.current_status();
            let is_overdue = status
                .deadline
                .is_some_and(|at| at.elapsed() > self.timing.renew_interval());
            if !status.accepted && status.lost_reason.is_none() && is_overdue {
                let lease = worker_lease.lease.clone();
                // If it cannot be sent now, it is sent with the next renewal.
                writer.send_urgent(&WorkerMessage::TaskAccept { lease });
            }
        }
    }

    async fn handle_message(&mut self, text: &str) -> Option<ConnectionEnd> {
        // An unreadable message is from a later release, or not from a hub.
        let message: HubMessage = serde_json::from_str(text).ok()?;
        let event = match message {
            HubMessage::TaskAssign(assign) => ConnectionEvent::Offer(assign, self.connection),
            HubMessage::Drain { .. } => ConnectionEvent::Drain,
            HubMessage::Ack { key, seq } => {
                self.handle_ack(key, seq);
                return None;
            }
            HubMessage::Refused {
                key,
                seq,
                code,
                detail,
            } => {
                self.handle_refusal(key, seq, code, &detail);
                return None;
            }
            HubMessage::Renewed { id, answers } => {
                if let Some(sent) = self.pending_renewals.remove(&id) {
                    self.is_proven = true;
                    self.pending_renewals.retain(|earlier, _| *earlier > id);
                    for answer in answers {
                        self.apply_renewal(answer, sent, false);
                    }
                }
                return None;
            }
            HubMessage::Cancel { key, reason } => {
                if let Some(worker_lease) = self.identity.leases.get(key) {
                    worker_lease.update_status(|status| status.cancel_reason = Some(reason));
                }
                return None;
            }
            HubMessage::Welcome { .. } | HubMessage::Unknown => return None,
        };
        self.events
            .send(event)
            .await
            .is_err()
            .then_some(ConnectionEnd::WorkerGone)
    }

    fn handle_ack(&self, key: LeaseId, seq: u64) {
        let deadline_after = self.timing.worker_deadline();
        let Some(worker_lease) = self.identity.leases.get(key) else {
            return;
        };
        fault::trace(
            || json!({"what": "acked", "task": key.task_id, "epoch": key.lease_epoch, "seq": seq}),
        );
        worker_lease.update_status(|status| {
            if seq == 0 && status.accepted {
                // A repeated acknowledgement; the deadline may have been extended since.
            } else if seq == 0 {
                status.accepted = true;
                status.connection = self.connection;
                // The acceptance was sent after the offer was stored, and `deadline` holds the time of the offer.
                let offered_at = status.deadline.unwrap_or_else(Instant::now);
                status.deadline = Some(offered_at + deadline_after);
            } else {
                status.next_seq = status.next_seq.max(seq.saturating_add(1));
            }
        });
        fault::failpoint("worker.entry.acknowledged");
    }

    fn handle_refusal(&self, key: LeaseId, seq: u64, code: RefusalCode, detail: &str) {
        let Some(worker_lease) = self.identity.leases.get(key) else {
            return;
        };
        worker_lease.update_status(|status| match code {
            // An entry was lost with an earlier connection; it and all later ones are sent again.
            RefusalCode::Gap | RefusalCode::MissingBlob => status.resend_count += 1,
            code => {
                let lost = format!("the hub rejected entry {seq}: {code:?}: {detail}");
                status.lost_reason.get_or_insert(lost);
            }
        });
    }

    fn apply_renewal(&self, answer: LeaseRenewal, sent: Instant, hello: bool) {
        let Some(worker_lease) = self.identity.leases.get(answer.key) else {
            return;
        };
        let deadline = sent + self.timing.worker_deadline();
        worker_lease.update_status(|status| match answer.verdict {
            RenewalResult::Keep {
                next_seq, cancel, ..
            } => {
                status.deadline = status.deadline.max(Some(deadline));
                status.accepted = true;
                status.connection = self.connection;
                if hello {
                    status.next_seq = next_seq;
                } else {
                    // The hub does not answer an entry that its store could not write. If its position is the same at
                    // two renewals, the missing entries are sent again. Duplicates are harmless.
                    let lacks = next_seq <= worker_lease.last_seq();
                    if lacks && status.next_seq_at_renewal == next_seq {
                        status.resend_count += 1;
                    }
                    status.next_seq_at_renewal = next_seq;
                    status.next_seq = status.next_seq.max(next_seq);
                }
                if cancel.is_some() {
                    status.cancel_reason = cancel;
                }
            }
            RenewalResult::Abort { reason } => {
                status.connection = self.connection;
                status.lost_reason.get_or_insert(reason);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::{Hello, LeaseToken, SESSION_VERSION};

    use super::*;
    use crate::worker::lease::LeaseTable;

    #[test]
    fn connection_resends_unacknowledged_acceptances() {
        let lease = LeaseToken {
            task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
            lease_epoch: 1,
            lease_token: "t".to_owned(),
        };
        let worker_lease = WorkerLease::new(lease, 0, 0);
        let leases = LeaseTable::default();
        leases.add(Arc::clone(&worker_lease));
        let hello = Hello {
            v: SESSION_VERSION,
            worker: "one".to_owned(),
            boot_id: String::new(),
            version: String::new(),
            labels: Vec::new(),
            slots: 1,
            sandbox: None,
            capabilities: None,
            held: Vec::new(),
        };
        let (events, _receiver) = mpsc::channel(1);
        let identity = WorkerIdentity { hello, leases };
        let session = ConnectionSession::new(1, &identity, &events);
        worker_lease.record_written(3, 1);
        let renewed = |next_seq| {
            let verdict = RenewalResult::Keep {
                expires_in_ms: 1,
                next_seq,
                cancel: None,
            };
            let key = worker_lease.key();
            session.apply_renewal(LeaseRenewal { key, verdict }, Instant::now(), false);
            worker_lease.current_status().resend_count
        };
        assert_eq!(renewed(2), 0, "it may be on its way");
        assert_eq!(renewed(3), 0, "it goes on");
        assert_eq!(renewed(3), 1, "it stands still");
        assert_eq!(renewed(4), 1, "it has everything");
        assert_eq!(renewed(4), 1);
    }
}
