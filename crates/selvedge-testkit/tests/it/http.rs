//! A minimal HTTP client that shows exactly what is sent; a library would hide where a body was cut
//! off.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// A request that was sent; its response has not been read yet.
pub(crate) struct Pending(TcpStream);

/// A response as it was received.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the body is complete.
    pub(crate) is_whole: bool,
}

pub(crate) fn get(url: &str, path: &str) -> Answer {
    send(url, &format!("GET {path} HTTP/1.1\r\n"), "").read()
}

pub(crate) fn post(url: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    start_post(url, path, headers, body).read()
}

pub(crate) fn start_post(url: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Pending {
    let lines = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let headers = lines.collect::<Vec<_>>().concat();
    send(
        url,
        &format!("POST {path} HTTP/1.1\r\n{headers}"),
        &body.to_string(),
    )
}

fn send(url: &str, head: &str, body: &str) -> Pending {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let length = body.len();
    let rest = format!("host: test\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(rest.as_bytes()).unwrap();
    Pending(stream)
}

impl Pending {
    /// Reads until the server closes the connection.
    pub(crate) fn read(mut self) -> Answer {
        let mut bytes = Vec::new();
        // After a reset, the body is incomplete.
        let _ = self.0.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let Some((head, raw)) = text.split_once("\r\n\r\n") else {
            return Answer::default();
        };
        let is_chunked = head.contains("transfer-encoding: chunked");
        let (body, is_whole) = if is_chunked {
            dechunk(raw)
        } else {
            (raw.to_owned(), true)
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer {
            status,
            head: head.to_owned(),
            body,
            is_whole,
        }
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The records of the body: one JSON value per line, or the `data` lines of server-sent events.
    pub(crate) fn records(&self) -> Vec<Result<Value, serde_json::Error>> {
        let lines = self
            .body
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with("event:"));
        lines
            .map(|line| serde_json::from_str(line.trim_start_matches("data: ")))
            .collect()
    }
}

fn dechunk(mut raw: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, rest)) = raw.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.push_str(&rest[..size]);
        raw = rest[size..].trim_start_matches("\r\n");
    }
    (body, false)
}
