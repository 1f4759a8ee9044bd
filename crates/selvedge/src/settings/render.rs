//! A diagnostic as people read it: the message, the line that it is about, what to do.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use selvedge_core::config::{ConfigSource, Diagnostic};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiagnosticSeverity {
    /// Nothing can be run.
    Error,
    /// Something was ignored.
    Warning,
    /// Something to know before it happens.
    Note,
}

/// The text, without a newline at its end; `styled` adds colours.
pub(crate) fn render_diagnostic(
    diagnostic: &Diagnostic,
    severity: DiagnosticSeverity,
    styled: bool,
) -> String {
    let level = match severity {
        DiagnosticSeverity::Error => Level::ERROR,
        DiagnosticSeverity::Warning => Level::WARNING,
        DiagnosticSeverity::Note => Level::NOTE,
    };
    let place = &diagnostic.span;
    let snippet = match (&*place.source, place.source.text()) {
        (ConfigSource::File { path, .. }, Some(text)) => Some(
            Snippet::source(text)
                .path(path.display().to_string())
                .annotation(
                    AnnotationKind::Primary.span(first_line_span(text, place.span.clone())),
                ),
        ),
        _ => None,
    };
    // Without a text to point into, the message itself must say where it is from.
    let title = match snippet {
        Some(_) => diagnostic.message.clone(),
        None => format!("{place}: {}", diagnostic.message),
    };
    let mut group = level.primary_title(title).elements(snippet);
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    let renderer = if styled {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.decor_style(DecorStyle::Ascii).render(&[group])
}

/// A value over many lines is pointed at by its first.
fn first_line_span(text: &str, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let end = text.get(span.clone()).and_then(|value| value.find('\n'));
    span.start..end.map_or(span.end, |length| span.start + length)
}
