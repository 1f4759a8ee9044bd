//! A client for plain HTTP/1.1 over one persistent connection.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub(crate) struct HttpClient {
    host: String,
    token: String,
    stream: BufReader<TcpStream>,
}

impl HttpClient {
    pub(crate) async fn connect(host: &str, token: &str) -> Self {
        let stream = TcpStream::connect(host).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            host: host.to_owned(),
            token: token.to_owned(),
            stream: BufReader::new(stream),
        }
    }

    /// Sends a request, and reads the head of the response.
    async fn ask(&mut self, method: &str, path: &str, body: &str) -> (u16, usize) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            self.token,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                return (status, length);
            }
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().unwrap();
            }
            if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().unwrap();
            }
        }
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Value {
        let (status, length) = self.ask("POST", path, &body.to_string()).await;
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!((200..300).contains(&status), "{status}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Follows an event stream until it ends.
    pub(crate) async fn follow_to_end(&mut self, path: &str) {
        let (status, _) = self.ask("GET", path, "").await;
        assert_eq!(status, 200);
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.stream.read_line(&mut line).await.unwrap();
            assert_ne!(read, 0, "the stream was cut off");
            // The last chunk of the body, and the empty line after it.
            if line.trim_end() == "0" {
                self.stream.read_line(&mut line).await.unwrap();
                return;
            }
        }
    }

    /// Follows an event stream until `count` events of this kind have arrived.
    pub(crate) async fn follow(&mut self, path: &str, kind: &str, count: usize) {
        let (status, _) = self.ask("GET", path, "").await;
        assert_eq!(status, 200);
        let wanted = format!("event: {kind}");
        let mut seen = 0;
        let mut line = String::new();
        while seen < count {
            line.clear();
            assert_ne!(
                self.stream.read_line(&mut line).await.unwrap(),
                0,
                "the stream ended"
            );
            seen += usize::from(line.trim_end() == wanted);
        }
    }
}
