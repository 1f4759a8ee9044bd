//! The supervisor's end of the control socket.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::process::wire::{self, MAX_DESCRIPTORS};

/// Arguments and environment take a few megabytes at most.
const MAX_LINE_BYTES: usize = 64 << 20;

/// Exchanges lines in both directions over descriptor 0.
pub(crate) struct ControlSocket {
    socket: UnixStream,
    received: Vec<u8>,
    /// Length of the beginning of `received` that is known to contain no line end.
    searched: usize,
    /// Descriptors received with the lines.
    descriptors: Vec<OwnedFd>,
}

impl ControlSocket {
    /// Takes the socket from descriptor 0. The copy closes on exec, and descriptor 0 itself is
    /// replaced by the program's own standard input.
    pub(crate) fn inherited() -> io::Result<Self> {
        let socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
        Ok(Self::new(socket))
    }

    /// Exchanges lines over a socket.
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            received: Vec::new(),
            searched: 0,
            descriptors: Vec::new(),
        }
    }

    /// Makes [`ControlSocket::receive_ready`] non-blocking: an empty socket is then not an error.
    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)
    }

    /// Waits for the next line; `None` if the main program is gone.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(line) = self.take_line() {
                return wire::decode(&line).map(Some);
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads the available lines of a socket that is known to be readable. `Err` if the main
    /// program is gone or sends an invalid message, which is treated the same way.
    pub(crate) fn receive_ready<T: DeserializeOwned>(&mut self) -> io::Result<Vec<T>> {
        let filled = self.fill();
        let mut messages = Vec::new();
        // Lines may have arrived together with one that was waited for: they count whatever has
        // happened to the socket since.
        while let Some(line) = self.take_line() {
            messages.push(wire::decode(&line)?);
        }
        match filled {
            Ok(false) if messages.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if messages.is_empty() => Err(error),
            _ => Ok(messages),
        }
    }

    /// Sends a message with descriptors.
    pub(crate) fn send_with_descriptors(
        &mut self,
        message: &impl Serialize,
        descriptors: &[OwnedFd],
    ) -> io::Result<()> {
        let line = wire::encode(message)?;
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&borrowed));
        let slices = [IoSlice::new(&line)];
        let sent = sendmsg(&self.socket, &slices, &mut ancillary, SendFlags::NOSIGNAL)?;
        self.socket.write_all(line.get(sent..).unwrap_or_default())
    }

    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.socket.write_all(&wire::encode(message)?)
    }

    /// Sends and ignores errors; the next read of the socket shows whether the main program is
    /// gone.
    pub(crate) fn send_or_ignore(&mut self, message: &impl Serialize) {
        let _ = self.send(message);
    }

    /// Takes the descriptors received so far.
    pub(crate) fn take_descriptors(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.descriptors)
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let Some(end) = memchr::memchr(b'\n', &self.received[self.searched..]) else {
            self.searched = self.received.len();
            return None;
        };
        let rest = self.received.split_off(self.searched + end + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.received, rest))
    }

    /// Reads once; returns `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 16 << 10];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let read = loop {
            let mut into = [IoSliceMut::new(&mut chunk)];
            // The descriptors must not be inherited by a program by accident.
            let flags = RecvFlags::CMSG_CLOEXEC;
            match recvmsg(&self.socket, &mut into, &mut ancillary, flags) {
                Err(Errno::INTR) => {}
                result => break result?.bytes,
            }
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        self.received.extend_from_slice(&chunk[..read]);
        if self.received.len() > MAX_LINE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "line too long"));
        }
        Ok(read > 0)
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
