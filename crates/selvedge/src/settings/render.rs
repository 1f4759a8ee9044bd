//! Shows a diagnostic: message, source line and hint.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use selvedge_core::config::{ConfigSource, Diagnostic};

use crate::error::{CliError, print_hint};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiagnosticSeverity {
    /// The command cannot run.
    Error,
    /// A setting is ignored.
    Warning,
    /// Information.
    Note,
}

/// Prints a diagnostic to standard error, with its hint.
pub(crate) fn print_diagnostic(diagnostic: &Diagnostic, severity: DiagnosticSeverity) {
    errln!("{}", render(diagnostic, severity, has_styles()));
    if let Some(hint) = &diagnostic.hint {
        print_hint(hint);
    }
}

/// A usage error that shows a diagnostic.
pub(crate) fn diagnostic_error(diagnostic: &Diagnostic) -> CliError {
    let rendered = render(diagnostic, DiagnosticSeverity::Error, has_styles());
    let error = CliError::prerendered(rendered);
    match &diagnostic.hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Whether standard error shows styles.
fn has_styles() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Renders everything except for the hint, without a trailing newline.
pub(super) fn render(
    diagnostic: &Diagnostic,
    severity: DiagnosticSeverity,
    has_styles: bool,
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
    let group = level.primary_title(title).elements(snippet);
    let renderer = if has_styles {
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
