//! Renders a message of a model: fenced code, inline code, bold text and headings of Markdown. Links, images and HTML stay
//! text.

use super::Markup;

/// Renders a message. The whole text is kept, except for the Markdown marks that are rendered.
pub fn message(text: &str) -> Markup {
    let mut markup = Markup::new();
    let mut in_fence = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            markup.push_tag(if in_fence {
                "<pre tabindex=\"0\">"
            } else {
                "</pre>"
            });
            continue;
        }
        if in_fence {
            markup.push_text(line);
            markup.push_tag("\n");
            continue;
        }
        let level = line.len() - line.trim_start_matches('#').len();
        let heading = line.get(level..).and_then(|rest| rest.strip_prefix(' '));
        if let Some(heading) = heading.filter(|_| (1..=6).contains(&level)) {
            markup.push_tag("<b>");
            markup.push_text(heading);
            markup.push_tag("</b>");
        } else {
            push_inline(&mut markup, line);
        }
        let before_fence = lines
            .peek()
            .is_some_and(|next| next.trim_start().starts_with("```"));
        if lines.peek().is_some() && !before_fence {
            markup.push_tag("\n");
        }
    }
    if in_fence {
        markup.push_tag("</pre>");
    }
    markup
}

/// One line with its code and bold text.
fn push_inline(markup: &mut Markup, line: &str) {
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*']) {
        let (before, marked) = rest.split_at(at);
        markup.push_text(before);
        let (mark, open, close) = if marked.starts_with('`') {
            ("`", "<code>", "</code>")
        } else {
            ("**", "<b>", "</b>")
        };
        let inner = marked.strip_prefix(mark).and_then(|it| it.split_once(mark));
        // An empty pair, or one with spaces inside of its marks, is plain text.
        let inner = inner.filter(|(text, _)| !text.is_empty() && text.trim() == *text);
        if let Some((text, after)) = inner {
            markup.push_tag(open);
            markup.push_text(text);
            markup.push_tag(close);
            rest = after;
        } else {
            markup.push_text(marked.get(..1).unwrap_or_default());
            rest = marked.get(1..).unwrap_or_default();
        }
    }
    markup.push_text(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_renders_code_and_nothing_else() {
        let check = |text: &str, expected: &str| {
            assert_eq!(message(text).as_str(), expected, "{text}");
        };
        check(
            "## Fix\nIn `a<b>` it is **bad**:\n```rs\nlet a = `1`;\n```\nDone",
            "<b>Fix</b>\nIn <code>a&lt;b&gt;</code> it is <b>bad</b>:<pre tabindex=\"0\">let a = `1`;\n</pre>Done",
        );
        check("a * b ** c ` d", "a * b ** c ` d");
        check(
            "```\nnever closed",
            "<pre tabindex=\"0\">never closed\n</pre>",
        );
        check(
            "[x](javascript:1) <img> **<b>**",
            "[x](javascript:1) &lt;img&gt; <b>&lt;b&gt;</b>",
        );
        check("#include `", "#include `");
    }
}
