//! One connection's exchange with the hub: hello, renewals, offers, acknowledgements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use selvedge_core::fleet::{
    HeldAnswer, HeldVerdict, HubMessage, LeaseKey, RefusalCode, Timing, WorkerMessage,
};
use selvedge_store::fault;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;

use super::lane::Lane;
use super::link::{Identity, News, Outgoing, Writer, read};

/// How long a hub may take to answer `hello`.
const WELCOME_WITHIN: Duration = Duration::from_secs(20);

/// How a connection ended.
pub(super) enum Ended {
    /// It broke off.
    Broken(String),
    /// Nobody listens to us any more.
    Over,
}

/// One connection.
pub(super) struct Conversation<'a> {
    /// Its number.
    connection: u64,
    identity: &'a Identity,
    news: &'a mpsc::Sender<News>,
    timing: Timing,
    /// Renewals that were sent and not answered: when each was.
    renewals: BTreeMap<u64, Instant>,
    renewal: u64,
    /// Whether the hub has answered a renewal on it.
    pub(super) proven: bool,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        connection: u64,
        identity: &'a Identity,
        news: &'a mpsc::Sender<News>,
    ) -> Self {
        Self {
            connection,
            identity,
            news,
            timing: Timing::default(),
            renewals: BTreeMap::new(),
            renewal: 0,
            proven: false,
        }
    }

    /// Speaks for as long as the connection holds.
    pub(super) async fn hold<S>(
        &mut self,
        socket: WebSocketStream<S>,
        outgoing: &mut mpsc::Receiver<Outgoing>,
    ) -> Ended
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sink, mut stream) = socket.split();
        let writer = Writer::new(sink);
        if let Err(why) = self.greet(&writer, &mut stream).await {
            return Ended::Broken(why);
        }
        if self
            .news
            .send(News::Connected(self.connection))
            .await
            .is_err()
        {
            return Ended::Over;
        }
        let mut renew = tokio::time::interval(self.timing.renew_every());
        renew.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                _ = renew.tick() => {
                    if let Err(why) = self.renew(&writer) {
                        return Ended::Broken(why);
                    }
                }
                frame = read(&mut stream) => match frame {
                    None => return Ended::Broken("the hub closed the session".to_owned()),
                    Some(Err(why)) => return Ended::Broken(why),
                    Some(Ok(text)) => {
                        if let Some(ended) = self.hear(&text).await {
                            return ended;
                        }
                    }
                },
                (frame, room) = async { (outgoing.recv().await, writer.room().await) } => {
                    let (Some(frame), Some(room)) = (frame, room) else {
                        return Ended::Broken("the hub takes nothing more".to_owned());
                    };
                    if frame.connection == self.connection {
                        room.send(frame.text);
                    }
                }
            }
        }
    }

    async fn greet<S>(&mut self, writer: &Writer, stream: &mut S) -> Result<(), String>
    where
        S: futures_util::Stream<
                Item = Result<
                    tokio_tungstenite::tungstenite::Message,
                    tokio_tungstenite::tungstenite::Error,
                >,
            > + Unpin,
    {
        let mut hello = self.identity.hello.clone();
        let lanes = self.identity.lanes.all();
        let lanes = lanes.iter().filter(|lane| lane.standing().lost.is_none());
        hello.held = lanes.map(|lane| lane.held()).collect();
        let sent = Instant::now();
        writer.urgent(&WorkerMessage::Hello(hello));
        let until = tokio::time::Instant::now() + WELCOME_WITHIN;
        loop {
            let frame = tokio::time::timeout_at(until, read(stream));
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
                self.timing = Timing::of_ttl(Duration::from_millis(ttl_ms.max(1)));
                for answer in answers {
                    self.answered(answer, sent, true);
                }
                return Ok(());
            }
        }
    }

    fn renew(&mut self, writer: &Writer) -> Result<(), String> {
        let late = self.timing.renew_every() * 2;
        if self.renewals.values().any(|sent| sent.elapsed() > late) {
            return Err("the hub does not answer".to_owned());
        }
        let lanes = self.identity.lanes.all();
        self.accept_again(&lanes, writer);
        let leases = lanes.iter().filter(|lane| {
            let standing = lane.standing();
            standing.accepted && standing.lost.is_none() && standing.connection == self.connection
        });
        let leases = leases.map(|lane| lane.lease.clone()).collect();
        self.renewal += 1;
        let id = self.renewal;
        self.renewals.insert(id, Instant::now());
        if writer.urgent(&WorkerMessage::Renew { id, leases }) {
            Ok(())
        } else {
            Err("the hub takes nothing more".to_owned())
        }
    }

    /// An acceptance that the hub's store would not take was answered by nothing: it is said again.
    fn accept_again(&self, lanes: &[Arc<Lane>], writer: &Writer) {
        for lane in lanes {
            let standing = lane.standing();
            let asked = standing
                .fence_at
                .is_some_and(|at| at.elapsed() > self.timing.renew_every());
            if !standing.accepted && standing.lost.is_none() && asked {
                let lease = lane.lease.clone();
                // What does not go now goes with the next renewal.
                writer.urgent(&WorkerMessage::TaskAccept { lease });
            }
        }
    }

    async fn hear(&mut self, text: &str) -> Option<Ended> {
        // What cannot be read is of a later release, or no message of a hub's.
        let message: HubMessage = serde_json::from_str(text).ok()?;
        let news = match message {
            HubMessage::TaskAssign(assign) => News::Offer(assign, self.connection),
            HubMessage::Drain { .. } => News::Drain,
            HubMessage::Ack { key, seq } => {
                self.acknowledged(key, seq);
                return None;
            }
            HubMessage::Refused {
                key,
                seq,
                code,
                detail,
            } => {
                self.refused(key, seq, code, &detail);
                return None;
            }
            HubMessage::Renewed { id, answers } => {
                if let Some(sent) = self.renewals.remove(&id) {
                    self.proven = true;
                    self.renewals.retain(|earlier, _| *earlier > id);
                    for answer in answers {
                        self.answered(answer, sent, false);
                    }
                }
                return None;
            }
            HubMessage::Cancel { key, reason } => {
                if let Some(lane) = self.identity.lanes.get(key) {
                    lane.change(|standing| standing.cancel = Some(reason));
                }
                return None;
            }
            HubMessage::Welcome { .. } | HubMessage::Unknown => return None,
        };
        self.news.send(news).await.is_err().then_some(Ended::Over)
    }

    fn acknowledged(&self, key: LeaseKey, seq: u64) {
        let fence_after = self.timing.fence_after();
        let Some(lane) = self.identity.lanes.get(key) else {
            return;
        };
        fault::note(
            || json!({"what": "acked", "task": key.task_id, "epoch": key.lease_epoch, "seq": seq}),
        );
        lane.change(|standing| {
            if seq == 0 && standing.accepted {
                // Said twice; the fence may have been moved since.
            } else if seq == 0 {
                standing.accepted = true;
                standing.connection = self.connection;
                // The acceptance was sent after the offer was taken down, which is when it was asked.
                let asked = standing.fence_at.unwrap_or_else(Instant::now);
                standing.fence_at = Some(asked + fence_after);
            } else {
                standing.next_seq = standing.next_seq.max(seq.saturating_add(1));
            }
        });
        fault::reached("worker.entry.acknowledged");
    }

    fn refused(&self, key: LeaseKey, seq: u64, code: RefusalCode, detail: &str) {
        let Some(lane) = self.identity.lanes.get(key) else {
            return;
        };
        lane.change(|standing| match code {
            // An entry was lost with an earlier connection: those from there on are sent again.
            RefusalCode::Gap | RefusalCode::MissingBlob => standing.again += 1,
            code => {
                let lost = format!("the hub refuses entry {seq}: {code:?}: {detail}");
                standing.lost.get_or_insert(lost);
            }
        });
    }

    fn answered(&self, answer: HeldAnswer, sent: Instant, hello: bool) {
        let Some(lane) = self.identity.lanes.get(answer.key) else {
            return;
        };
        let fence_at = sent + self.timing.fence_after();
        lane.change(|standing| match answer.verdict {
            HeldVerdict::Keep {
                next_seq, cancel, ..
            } => {
                standing.fence_at = standing.fence_at.max(Some(fence_at));
                standing.accepted = true;
                standing.connection = self.connection;
                if hello {
                    standing.next_seq = next_seq;
                } else {
                    // The hub says nothing of an entry that its store would not take: where it stands still
                    // from one renewal to the next, what it lacks is sent again. Twice is harmless.
                    let lacks = next_seq <= lane.last_seq();
                    if lacks && standing.wanted == next_seq {
                        standing.again += 1;
                    }
                    standing.wanted = next_seq;
                    standing.next_seq = standing.next_seq.max(next_seq);
                }
                if cancel.is_some() {
                    standing.cancel = cancel;
                }
            }
            HeldVerdict::Abort { reason } => {
                standing.connection = self.connection;
                standing.lost.get_or_insert(reason);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use selvedge_core::fleet::{Hello, Lease, SESSION_VERSION};

    use super::*;
    use crate::worker::lane::Lanes;

    #[test]
    fn what_the_hub_still_lacks_at_the_next_renewal_is_sent_again() {
        let lease = Lease {
            task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
            lease_epoch: 1,
            lease_token: "t".to_owned(),
        };
        let lane = Lane::new(lease, 0, 0);
        let lanes = Lanes::default();
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
        let identity = Identity { hello, lanes };
        let conversation = Conversation::new(1, &identity, &news);
        lane.wrote(3, 1);
        let renewed = |next_seq| {
            let verdict = HeldVerdict::Keep {
                expires_in_ms: 1,
                next_seq,
                cancel: None,
            };
            let key = lane.key();
            conversation.answered(HeldAnswer { key, verdict }, Instant::now(), false);
            lane.standing().again
        };
        assert_eq!(renewed(2), 0, "it may be on its way");
        assert_eq!(renewed(3), 0, "it goes on");
        assert_eq!(renewed(3), 1, "it stands still");
        assert_eq!(renewed(4), 1, "it has everything");
        assert_eq!(renewed(4), 1);
    }
}
