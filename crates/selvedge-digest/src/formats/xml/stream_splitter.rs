//! Splits an XML document that arrives in pieces into tags and text.
//!
//! `quick-xml` pulls from a reader that may block; here pieces are pushed, so the document is first split at
//! its angle brackets, and each tag is parsed whole.
//!
//! Invariant: the result does not depend on how the document is split into pieces, except that very long text
//! is emitted in parts.

use std::borrow::Cow;

use memchr::{memchr, memchr3};
use quick_xml::escape::unescape;
use quick_xml::events::BytesStart;

/// Maximum length of a tag, in bytes.
const TAG_BYTES: usize = 1 << 20;
/// Maximum length of text that is emitted in one part, in bytes.
const TEXT_BYTES: usize = 64 << 10;
/// How deep elements may be nested.
const DEPTH: usize = 64;

/// A fragment of the document.
#[derive(Debug)]
pub(super) enum XmlFragment<'a> {
    Open(&'a XmlTag<'a>),
    Close,
    Text(&'a str),
}

/// State of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum XmlProgress {
    Open,
    Ended,
    /// It is not valid XML, or not of a supported kind.
    Broken,
}

/// The tag that opens an element.
#[derive(Debug)]
pub(super) struct XmlTag<'a>(BytesStart<'a>);

impl XmlTag<'_> {
    /// Its name, without the prefix of a namespace.
    pub(super) fn name(&self) -> String {
        self.0.name().local_name().into_inner().to_owned()
    }

    /// An attribute, unescaped.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let mut attributes = attributes.with_checks(false).flatten();
        let found = attributes.find(|a| a.key.into_inner() == name)?;
        Some(decode_entities(&found.value).into_owned())
    }

    /// An attribute that is a whole number.
    pub(super) fn number_attribute<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.attribute(name)?.trim().parse().ok()
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum XmlLexState {
    #[default]
    Text,
    /// After `<`, before the kind of markup is known.
    Markup,
    /// In a tag, and the quote that is open in it.
    Tag(Option<u8>),
    Cdata,
    Comment,
    Instruction,
}

impl XmlLexState {
    /// The bytes that end this state, if more than one.
    fn end(self) -> &'static [u8] {
        match self {
            Self::Cdata => b"]]>",
            Self::Comment => b"-->",
            _ => b"?>",
        }
    }
}

/// Splits one document.
#[derive(Debug, Default)]
pub(super) struct XmlStreamSplitter {
    state: XmlLexState,
    buffer: Vec<u8>,
    depth: usize,
    ended: bool,
}

impl XmlStreamSplitter {
    /// Reads a piece of the document.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        emit: &mut impl FnMut(XmlFragment<'_>),
    ) -> XmlProgress {
        while !bytes.is_empty() {
            if self.ended {
                return XmlProgress::Ended;
            }
            let taken = match self.state {
                XmlLexState::Text => self.read_text(bytes, emit),
                XmlLexState::Markup => self.detect_markup(bytes),
                XmlLexState::Tag(quote) => self.read_tag(bytes, quote, emit),
                XmlLexState::Cdata | XmlLexState::Comment | XmlLexState::Instruction => {
                    Some(self.read_until_end(bytes, emit))
                }
            };
            match taken {
                Some(taken) => bytes = &bytes[taken..],
                None => return XmlProgress::Broken,
            }
        }
        if self.ended {
            XmlProgress::Ended
        } else {
            XmlProgress::Open
        }
    }

    fn read_text(&mut self, bytes: &[u8], emit: &mut impl FnMut(XmlFragment<'_>)) -> Option<usize> {
        let end = memchr(b'<', bytes);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        if self.depth == 0 {
            return text
                .trim_ascii()
                .is_empty()
                .then(|| self.begin_markup(end, text));
        }
        self.buffer.extend_from_slice(text);
        if end.is_some() {
            emit(XmlFragment::Text(&decode_entities(
                &String::from_utf8_lossy(&self.buffer),
            )));
        } else {
            self.flush(0, |text| emit(XmlFragment::Text(&decode_entities(text))));
        }
        Some(self.begin_markup(end, text))
    }

    fn begin_markup(&mut self, at: Option<usize>, text: &[u8]) -> usize {
        if at.is_none() {
            return text.len();
        }
        self.buffer.clear();
        self.buffer.push(b'<');
        self.state = XmlLexState::Markup;
        text.len() + 1
    }

    /// Detects the kind of markup after `<`.
    fn detect_markup(&mut self, bytes: &[u8]) -> Option<usize> {
        const CDATA: &[u8] = b"<![CDATA[";
        self.buffer.push(*bytes.first()?);
        let begun = self.buffer.as_slice();
        let last = *begun.last()?;
        let part = match begun {
            b"<?" => XmlLexState::Instruction,
            b"<!--" => XmlLexState::Comment,
            CDATA => XmlLexState::Cdata,
            b"<!" | b"<!-" => return Some(1),
            _ if CDATA.starts_with(begun) => return Some(1),
            [b'<', first, ..] if first.is_ascii_alphabetic() || b"!/_".contains(first) => {
                if last == b'>' {
                    return None;
                }
                self.state = XmlLexState::Tag(None);
                return Some(1);
            }
            _ => return None,
        };
        self.buffer.clear();
        self.state = part;
        Some(1)
    }

    fn read_tag(
        &mut self,
        bytes: &[u8],
        quote: Option<u8>,
        emit: &mut impl FnMut(XmlFragment<'_>),
    ) -> Option<usize> {
        let end = match quote {
            Some(quote) => memchr(quote, bytes),
            None => memchr3(b'>', b'"', b'\'', bytes),
        };
        let taken = end.map_or(bytes.len(), |end| end + 1);
        if self.buffer.len() + taken > TAG_BYTES {
            return None;
        }
        self.buffer.extend_from_slice(&bytes[..taken]);
        match (quote, end.map(|end| bytes[end])) {
            (None, Some(b'>')) => self.end_tag(emit)?,
            (None, quote) => self.state = XmlLexState::Tag(quote),
            (Some(_), Some(_)) => self.state = XmlLexState::Tag(None),
            (Some(_), None) => {}
        }
        Some(taken)
    }

    fn end_tag(&mut self, emit: &mut impl FnMut(XmlFragment<'_>)) -> Option<()> {
        self.state = XmlLexState::Text;
        let buffer = std::mem::take(&mut self.buffer);
        let text = String::from_utf8_lossy(&buffer);
        let inner = text.strip_prefix('<')?.strip_suffix('>')?;
        if inner.starts_with('!') {
            return Some(());
        }
        let closes = inner.starts_with('/');
        if !closes {
            let empty = inner.strip_suffix('/');
            let inner = empty.unwrap_or(inner);
            let name = inner
                .find(|c: char| c.is_ascii_whitespace())
                .unwrap_or(inner.len());
            emit(XmlFragment::Open(&XmlTag(BytesStart::from_content(
                inner, name,
            ))));
            self.depth += 1;
            if empty.is_none() {
                return (self.depth < DEPTH).then_some(());
            }
        }
        emit(XmlFragment::Close);
        self.depth = self.depth.checked_sub(1)?;
        self.ended = self.depth == 0;
        Some(())
    }

    /// Reads up to an end of several bytes; only the text of CDATA is emitted.
    fn read_until_end(&mut self, bytes: &[u8], emit: &mut impl FnMut(XmlFragment<'_>)) -> usize {
        let close = memchr(b'>', bytes);
        let taken = close.map_or(bytes.len(), |close| close + 1);
        self.buffer.extend_from_slice(&bytes[..taken]);
        let end = self.state.end();
        let text = self.state == XmlLexState::Cdata && self.depth > 0;
        let mut emit = |chunk: &str| {
            if text {
                emit(XmlFragment::Text(chunk));
            }
        };
        if close.is_some() && self.buffer.ends_with(end) {
            self.buffer.truncate(self.buffer.len() - end.len());
            emit(&String::from_utf8_lossy(&self.buffer));
            self.buffer.clear();
            self.state = XmlLexState::Text;
        } else {
            self.flush(end.len(), emit);
        }
        taken
    }

    /// Emits long text up to its last line end, without its last `kept_bytes` bytes.
    fn flush(&mut self, kept_bytes: usize, mut emit: impl FnMut(&str)) {
        while self.buffer.len() > TEXT_BYTES + kept_bytes {
            let head = &self.buffer[..TEXT_BYTES];
            let end = memchr::memrchr(b'\n', head).map_or(TEXT_BYTES, |at| at + 1);
            emit(&String::from_utf8_lossy(&head[..end]));
            self.buffer.drain(..end);
        }
    }
}

/// Decodes the entities of text; text that cannot be unescaped stays unchanged.
fn decode_entities(text: &str) -> Cow<'_, str> {
    unescape(text).unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> (String, XmlProgress) {
        let mut out = String::new();
        let mut cutter = XmlStreamSplitter::default();
        let mut progress = XmlProgress::Open;
        let mut emit = |cut: XmlFragment<'_>| match cut {
            XmlFragment::Open(tag) => {
                out.push('<');
                out.push_str(&tag.name());
                out.push_str(
                    &tag.attribute("a")
                        .map_or(String::new(), |a| format!(" {a}")),
                );
                out.push('>');
            }
            XmlFragment::Close => out.push_str("</>"),
            XmlFragment::Text(text) => out.push_str(text),
        };
        for piece in pieces {
            progress = cutter.feed(piece, &mut emit);
            if progress != XmlProgress::Open {
                break;
            }
        }
        (out, progress)
    }

    fn read(text: &str) -> (String, XmlProgress) {
        let whole = cut(&[text.as_bytes()]);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(whole, cut(&bytes), "{text}");
        whole
    }

    #[test]
    fn xml_splitter_returns_tags_and_text() {
        let text = "<?xml version='1.0'?>\n<!-- <x> -- --><!DOCTYPE r>\n<r n:b=\">\" a='1 &lt; 2'><s a=\"'\"/>é &amp; &#x3C;\
            <![CDATA[<t> ]] ]>&amp;]]></r>";
        assert_eq!(
            read(text),
            (
                "<r 1 < 2><s '></>é & <<t> ]] ]>&amp;</>".to_owned(),
                XmlProgress::Ended
            )
        );
    }

    #[test]
    fn xml_splitter_keeps_tags_of_truncated_document() {
        assert_eq!(read("<r><s>x</s><t a=\"").0, "<r><s>x</>");
    }

    #[test]
    fn xml_splitter_splits_long_text() {
        let text = "0123456\n".repeat(TEXT_BYTES / 4);
        for document in [
            format!("<r>{text}</r>"),
            format!("<r><![CDATA[{text}]]></r>"),
        ] {
            assert_eq!(
                read(&document),
                (format!("<r>{text}</>"), XmlProgress::Ended)
            );
        }
    }

    #[test]
    fn xml_splitter_rejects_other_text_early() {
        for text in ["x", "< a", "<>", "</r>"] {
            assert_eq!(read(text).1, XmlProgress::Broken, "{text}");
        }
        assert_eq!(read(&"<r>".repeat(DEPTH)).1, XmlProgress::Broken);
    }
}
