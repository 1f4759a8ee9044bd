//! Renders a diagnostic: message, source line and hint.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use selvedge_core::config::{ConfigSource, Diagnostic};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiagnosticSeverity {
    /// The command cannot run.
    Error,
    /// A setting is ignored.
    Warning,
    /// Information.
    Note,
}

/// Renders without a trailing newline; `styled` adds colours.
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
    let location = &diagnostic.span;
    let snippet = match (&*location.source, location.source.text()) {
        (ConfigSource::File { path, .. }, Some(text)) => Some(
            Snippet::source(text)
                .path(path.display().to_string())
                .annotation(
                    AnnotationKind::Primary.span(first_line_span(text, location.span.clone())),
                ),
        ),
        _ => None,
    };
    // Without a source line, the title has to name the source.
    let title = match snippet {
        Some(_) => diagnostic.message.clone(),
        None => format!("{location}: {}", diagnostic.message),
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

/// The first line of a value that spans several lines.
fn first_line_span(text: &str, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let end = text.get(span.clone()).and_then(|value| value.find('\n'));
    span.start..end.map_or(span.end, |length| span.start + length)
}
