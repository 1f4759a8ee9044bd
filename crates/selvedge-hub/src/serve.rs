//! The HTTP server. It has its own accept loop, to limit slow request heads, idle connections and the number
//! of connections. With TLS, clients that offer HTTP/2 get it; workers' WebSockets use HTTP/1.1.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tower::{Layer, ServiceExt};

use crate::hub::Hub;
use crate::tls::ALPN_HTTP2;
use crate::{
    active_access, dispatch, object_storage, observe, oidc, peers, plans, reaper, run_stats,
    schedules, webhooks,
};

/// Maximum number of a request's headers, and maximum size of its head in bytes.
const MAX_HEADERS: usize = 64;
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// Maximum number of concurrent requests in one HTTP/2 connection, event streams included.
const MAX_STREAMS: u32 = 128;

/// How long open requests may take while the hub shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// A running hub.
#[derive(Debug)]
pub struct HubServerHandle {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl HubServerHandle {
    /// Stops the hub: accepts no new connections and ends open ones. Acknowledged data is in the store.
    pub async fn stop(self) {
        // All receivers may be gone already.
        let _ = self.stop.send(true);
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
    }
}

/// Serves `router` on `listener`, and starts the hub's background tasks.
pub fn run(
    hub: &Arc<Hub>,
    router: Router,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
) -> HubServerHandle {
    let observe = from_fn_with_state(Arc::clone(hub), observe::observe_request);
    let router = router.layer(observe);
    let (stop, stopping) = watch::channel(false);
    let tasks = vec![
        tokio::spawn(accept(Arc::clone(hub), router, listener, tls, stopping)),
        tokio::spawn(dispatch::run(Arc::clone(hub))),
        tokio::spawn(reaper::run(Arc::clone(hub))),
        tokio::spawn(reaper::purge_expired(Arc::clone(hub))),
        tokio::spawn(plans::run(Arc::clone(hub))),
        tokio::spawn(run_stats::run(Arc::clone(hub))),
        tokio::spawn(peers::run(Arc::clone(hub))),
        tokio::spawn(active_access::run(Arc::clone(hub))),
        tokio::spawn(webhooks::run(Arc::clone(hub))),
        tokio::spawn(oidc::run(Arc::clone(hub))),
        tokio::spawn(schedules::run(Arc::clone(hub))),
        tokio::spawn(object_storage::delete_unused_objects(Arc::clone(hub))),
    ];
    HubServerHandle { stop, tasks }
}

async fn accept(
    hub: Arc<Hub>,
    router: Router,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stopping: watch::Receiver<bool>,
) {
    let connection_limit = Arc::new(Semaphore::new(hub.settings.connections));
    loop {
        let Ok(permit) = Arc::clone(&connection_limit).acquire_owned().await else {
            return;
        };
        let (socket, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Most likely out of file descriptors: open connections may end.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Sends small messages immediately; the socket also works without this.
        let _ = socket.set_nodelay(true);
        let (router, tls, stopping) = (router.clone(), tls.clone(), stopping.clone());
        let patience = hub.settings.patience;
        // A client that reads nothing for that long is disconnected, whether a watcher, a worker or a download.
        let mut socket = Box::pin(TimeoutStream::new(socket));
        socket.as_mut().set_write_timeout_pinned(Some(patience));
        tokio::spawn(async move {
            let served = match tls {
                None => connection(socket, from, router, patience, stopping).await,
                Some(tls) => match timeout(patience, tls.accept(socket)).await {
                    Ok(Ok(mut socket)) => {
                        if socket.get_ref().1.alpn_protocol() == Some(ALPN_HTTP2) {
                            // Clients answer pings, so silence is a lost connection.
                            let transport = socket.get_mut().0.as_mut();
                            transport.set_read_timeout_pinned(Some(patience * 2));
                            http2_connection(socket, from, router, patience, stopping).await
                        } else {
                            connection(socket, from, router, patience, stopping).await
                        }
                    }
                    Ok(Err(error)) => Err(error),
                    Err(_) => Err(io::ErrorKind::TimedOut.into()),
                },
            };
            if let Err(error) = served {
                tracing::debug!(%error, %from, "connection ended");
            }
            drop(permit);
        });
    }
}

async fn connection(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    from: SocketAddr,
    router: Router,
    patience: Duration,
    stopping: watch::Receiver<bool>,
) -> Result<(), io::Error> {
    let service = TowerToHyperService::new(Extension(ConnectInfo(from)).layer(router));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    serve_until_stopped(
        serving,
        http1::UpgradeableConnection::graceful_shutdown,
        stopping,
    )
    .await
}

async fn http2_connection(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    from: SocketAddr,
    router: Router,
    patience: Duration,
    stopping: watch::Receiver<bool>,
) -> Result<(), io::Error> {
    let router = Extension(ConnectInfo(from)).layer(router);
    let service = TowerToHyperService::new(router.map_request(set_host));
    let serving = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(patience)
        .keep_alive_timeout(patience)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX))
        .serve_connection(TokioIo::new(socket), service);
    serve_until_stopped(serving, http2::Connection::graceful_shutdown, stopping).await
}

/// Serves a connection until it ends; when the hub stops, lets its open requests end.
async fn serve_until_stopped<C: Future<Output = hyper::Result<()>>>(
    serving: C,
    begin_shutdown: impl FnOnce(Pin<&mut C>),
    stopping: watch::Receiver<bool>,
) -> Result<(), io::Error> {
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => served.map_err(io::Error::other),
        () = stopped(stopping) => {
            begin_shutdown(serving.as_mut());
            // Connections that do not end in time are cut: clients repeat their requests and workers
            // reconnect.
            let _ = timeout(SHUTDOWN_TIMEOUT, serving).await;
            Ok(())
        }
    }
}

/// Copies the host that an HTTP/2 request is sent to into the header that HTTP/1.1 requires, where it is checked.
fn set_host<B>(mut request: Request<B>) -> Request<B> {
    let authority = request.uri().authority();
    if let Some(host) = authority.and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
        request.headers_mut().insert(header::HOST, host);
    }
    request
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // A dropped sender also stops.
    let _ = stopping.wait_for(|stop| *stop).await;
}
