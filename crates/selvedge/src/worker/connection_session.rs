//! One connection's exchange with the hub: hello, renewals, offers, acknowledgements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use selvedge_core::protocol::{
    HubMessage, LeaseId, LeaseRenewal, LeaseTiming, RefusalCode, RenewalResult, WorkerMessage,
};
use selvedge_store::fault;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;

use super::connection::{
    ConnectionEvent, FrameWriter, OutgoingFrame, WorkerIdentity, read_text_frame,
};
use super::lease::WorkerLease;

/// How long a hub may take to answer `hello`.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);

/// How a connection ended.
pub(super) enum ConnectionEnd {
    /// It broke off.
    Broken(String),
    /// Nobody listens to us any more.
    WorkerGone,
}

/// One connection.
pub(super) struct ConnectionSession<'a> {
    /// Its number.
    connection: u64,
    identity: &'a WorkerIdentity,
    events: &'a mpsc::Sender<ConnectionEvent>,
    timing: LeaseTiming,
    /// Renewals that were sent and not answered: when each was.
    pending_renewals: BTreeMap<u64, Instant>,
    last_renewal: u64,
    /// Whether the hub has answered a renewal on it.
    pub(super) is_proven: bool,
}

impl<'a> ConnectionSession<'a> {
    pub(super) fn new(
        connection: u64,
        identity: &'a WorkerIdentity,
        news: &'a mpsc::Sender<ConnectionEvent>,
    ) -> Self {
        Self {
            connection,
            identity,
            events: news,
            timing: LeaseTiming::default(),
            pending_renewals: BTreeMap::new(),
            last_renewal: 0,
            is_proven: false,
        }
    }

    /// Speaks for as long as the connection holds.
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
        if let Err(why) = self.exchange_hello(&writer, &mut stream).await {
            return ConnectionEnd::Broken(why);
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
                    if let Err(why) = self.send_renewal(&writer) {
                        return ConnectionEnd::Broken(why);
                    }
                }
                frame = read_text_frame(&mut stream) => match frame {
                    None => return ConnectionEnd::Broken("the hub closed the session".to_owned()),
                    Some(Err(why)) => return ConnectionEnd::Broken(why),
                    Some(Ok(text)) => {
                        if let Some(ended) = self.handle_message(&text).await {
                            return ended;
                        }
                    }
                },
                (frame, room) = async { (outgoing.recv().await, writer.reserve_slot().await) } => {
                    let (Some(frame), Some(room)) = (frame, room) else {
                        return ConnectionEnd::Broken("the hub takes nothing more".to_owned());
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
    ) -> Result<(), String>
    where
        S: futures_util::Stream<
                Item = Result<
                    tokio_tungstenite::tungstenite::Message,
                    tokio_tungstenite::tungstenite::Error,
                >,
            > + Unpin,
    {
        let mut hello = self.identity.hello.clone();
        let lanes = self.identity.leases.all();
        let lanes = lanes
            .iter()
            .filter(|lane| lane.current_status().lost_reason.is_none());
        hello.held = lanes.map(|lane| lane.to_held_lease()).collect();
        let sent = Instant::now();
        writer.send_urgent(&WorkerMessage::Hello(hello));
        let until = tokio::time::Instant::now() + HELLO_TIMEOUT;
        loop {
            let frame = tokio::time::timeout_at(until, read_text_frame(stream));
            let frame = frame
                .await
                .map_err(|_| "the hub does not answer".to_owned())?;
            let text = frame.ok_or("the hub closed the session")??;
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

    fn send_renewal(&mut self, writer: &FrameWriter) -> Result<(), String> {
        let late = self.timing.renew_interval() * 2;
        if self
            .pending_renewals
            .values()
            .any(|sent| sent.elapsed() > late)
        {
            return Err("the hub does not answer".to_owned());
        }
        let lanes = self.identity.leases.all();
        self.resend_acceptances(&lanes, writer);
        let leases = lanes.iter().filter(|lane| {
            let standing = lane.current_status();
            standing.accepted
                && standing.lost_reason.is_none()
                && standing.connection == self.connection
        });
        let leases = leases.map(|lane| lane.lease.clone()).collect();
        self.last_renewal += 1;
        let id = self.last_renewal;
        self.pending_renewals.insert(id, Instant::now());
        if writer.send_urgent(&WorkerMessage::Renew { id, leases }) {
            Ok(())
        } else {
            Err("the hub takes nothing more".to_owned())
        }
    }

    /// An acceptance that the hub's store would not take was answered by nothing: it is said again.
    fn resend_acceptances(&self, lanes: &[Arc<WorkerLease>], writer: &FrameWriter) {
        for lane in lanes {
            let standing = lane.current_status();
            let asked = standing
                .deadline
                .is_some_and(|at| at.elapsed() > self.timing.renew_interval());
            if !standing.accepted && standing.lost_reason.is_none() && asked {
                let lease = lane.lease.clone();
                // What does not go now goes with the next renewal.
                writer.send_urgent(&WorkerMessage::TaskAccept { lease });
            }
        }
    }

    async fn handle_message(&mut self, text: &str) -> Option<ConnectionEnd> {
        // What cannot be read is of a later release, or no message of a hub's.
        let message: HubMessage = serde_json::from_str(text).ok()?;
        let news = match message {
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
                if let Some(lane) = self.identity.leases.get(key) {
                    lane.update_status(|standing| standing.cancel_reason = Some(reason));
                }
                return None;
            }
            HubMessage::Welcome { .. } | HubMessage::Unknown => return None,
        };
        self.events
            .send(news)
            .await
            .is_err()
            .then_some(ConnectionEnd::WorkerGone)
    }

    fn handle_ack(&self, key: LeaseId, seq: u64) {
        let fence_after = self.timing.worker_deadline();
        let Some(lane) = self.identity.leases.get(key) else {
            return;
        };
        fault::trace(
            || json!({"what": "acked", "task": key.task_id, "epoch": key.lease_epoch, "seq": seq}),
        );
        lane.update_status(|standing| {
            if seq == 0 && standing.accepted {
                // Said twice; the fence may have been moved since.
            } else if seq == 0 {
                standing.accepted = true;
                standing.connection = self.connection;
                // The acceptance was sent after the offer was taken down, which is when it was asked.
                let asked = standing.deadline.unwrap_or_else(Instant::now);
                standing.deadline = Some(asked + fence_after);
            } else {
                standing.next_seq = standing.next_seq.max(seq.saturating_add(1));
            }
        });
        fault::failpoint("worker.entry.acknowledged");
    }

    fn handle_refusal(&self, key: LeaseId, seq: u64, code: RefusalCode, detail: &str) {
        let Some(lane) = self.identity.leases.get(key) else {
            return;
        };
        lane.update_status(|standing| match code {
            // An entry was lost with an earlier connection: those from there on are sent again.
            RefusalCode::Gap | RefusalCode::MissingBlob => standing.resend_count += 1,
            code => {
                let lost = format!("the hub refuses entry {seq}: {code:?}: {detail}");
                standing.lost_reason.get_or_insert(lost);
            }
        });
    }

    fn apply_renewal(&self, answer: LeaseRenewal, sent: Instant, hello: bool) {
        let Some(lane) = self.identity.leases.get(answer.key) else {
            return;
        };
        let fence_at = sent + self.timing.worker_deadline();
        lane.update_status(|standing| match answer.verdict {
            RenewalResult::Keep {
                next_seq, cancel, ..
            } => {
                standing.deadline = standing.deadline.max(Some(fence_at));
                standing.accepted = true;
                standing.connection = self.connection;
                if hello {
                    standing.next_seq = next_seq;
                } else {
                    // The hub says nothing of an entry that its store would not take: where it stands still
                    // from one renewal to the next, what it lacks is sent again. Twice is harmless.
                    let lacks = next_seq <= lane.last_seq();
                    if lacks && standing.next_seq_at_renewal == next_seq {
                        standing.resend_count += 1;
                    }
                    standing.next_seq_at_renewal = next_seq;
                    standing.next_seq = standing.next_seq.max(next_seq);
                }
                if cancel.is_some() {
                    standing.cancel_reason = cancel;
                }
            }
            RenewalResult::Abort { reason } => {
                standing.connection = self.connection;
                standing.lost_reason.get_or_insert(reason);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use selvedge_core::protocol::{Hello, LeaseToken, SESSION_VERSION};

    use super::*;
    use crate::worker::lease::LeaseTable;

    #[test]
    fn what_the_hub_still_lacks_at_the_next_renewal_is_sent_again() {
        let lease = LeaseToken {
            task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
            lease_epoch: 1,
            lease_token: "t".to_owned(),
        };
        let lane = WorkerLease::new(lease, 0, 0);
        let lanes = LeaseTable::default();
        lanes.add(Arc::clone(&lane));
        let hello = Hello {
            v: SESSION_VERSION,
            worker: "one".to_owned(),
            boot_id: String::new(),
            version: String::new(),
            labels: Vec::new(),
            slots: 1,
            sandbox: None,
            held: Vec::new(),
        };
        let (news, _heard) = mpsc::channel(1);
        let identity = WorkerIdentity {
            hello,
            leases: lanes,
        };
        let conversation = ConnectionSession::new(1, &identity, &news);
        lane.record_written(3, 1);
        let renewed = |next_seq| {
            let verdict = RenewalResult::Keep {
                expires_in_ms: 1,
                next_seq,
                cancel: None,
            };
            let key = lane.key();
            conversation.apply_renewal(LeaseRenewal { key, verdict }, Instant::now(), false);
            lane.current_status().resend_count
        };
        assert_eq!(renewed(2), 0, "it may be on its way");
        assert_eq!(renewed(3), 0, "it goes on");
        assert_eq!(renewed(3), 1, "it stands still");
        assert_eq!(renewed(4), 1, "it has everything");
        assert_eq!(renewed(4), 1);
    }
}
