//! A receiver of HTTP requests on loopback. The test answers each of them, or leaves it without an answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::watched_value::WAIT_TIMEOUT;

/// A server that passes requests to the test.
#[derive(Debug)]
pub struct HttpReceiver {
    url: String,
    requests: Receiver<ReceivedRequest>,
}

/// A request that waits for its response.
#[derive(Debug)]
pub struct ReceivedRequest {
    headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    socket: TcpStream,
}

impl HttpReceiver {
    /// Listens on a free port.
    #[track_caller]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let sender: Sender<ReceivedRequest> = sender.clone();
                std::thread::spawn(move || {
                    // The test may have ended.
                    let _ = read_request(socket).map(|request| sender.send(request));
                });
            }
        });
        Self {
            url: format!("http://{address}"),
            requests,
        }
    }

    /// The URL of the server, without a path.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the next request.
    #[track_caller]
    pub fn next_request(&self) -> ReceivedRequest {
        let request = self.requests.recv_timeout(WAIT_TIMEOUT);
        request.expect("a request")
    }

    /// A request that has already arrived.
    pub fn try_next_request(&self) -> Option<ReceivedRequest> {
        self.requests.try_recv().ok()
    }
}

impl ReceivedRequest {
    /// The value of a header, by its lower-case name.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map_or_else(
            || panic!("no header {name} in {:?}", self.headers),
            |(_, value)| value.as_str(),
        )
    }

    /// Answers with a status.
    pub fn respond(mut self, status: u16) {
        let head = format!(
            "HTTP/1.1 {status} Answer\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:9/\r\nConnection: close\r\n\r\n"
        );
        // The client may have gone away.
        let _ = self.socket.write_all(head.as_bytes());
    }
}

fn read_request(socket: TcpStream) -> Option<ReceivedRequest> {
    let mut reader = BufReader::new(socket.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Ok(0), |(_, length)| length.parse::<usize>());
    let mut body = vec![0; length.ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedRequest {
        headers,
        body: String::from_utf8(body).ok()?,
        socket,
    })
}
