//! Charts as SVG, rendered on the server: shapes only, coloured by classes of the stylesheet. Every chart is
//! accompanied by its data in text and tables, so that it is optional.

use crate::text::Markup;

/// A part of a bar: class of the stylesheet, and size.
pub type ChartSegment = (&'static str, f64);

/// One horizontal bar with its parts side by side. `says` is the text alternative for screen readers.
pub fn bar(parts: &[ChartSegment], says: &str) -> Markup {
    let total: f64 = parts.iter().map(|(_, amount)| amount).sum();
    let mut svg = begin_svg("bar", "0 0 1000 24", says);
    let mut x = 0.0;
    for (class, amount) in parts.iter().filter(|(_, amount)| *amount > 0.0) {
        let width = amount / total * 1000.0;
        push_rectangle(&mut svg, class, [x, 0.0, width, 24.0]);
        x += width;
    }
    svg.push_tag("</svg>");
    svg
}

/// Columns side by side, each with its label and its parts stacked. The highest column fills the height; the label
/// is shown while the pointer is on the column.
pub fn columns(columns: &[(String, Vec<ChartSegment>)], says: &str) -> Markup {
    let height = |parts: &[ChartSegment]| parts.iter().map(|(_, amount)| amount).sum::<f64>();
    let heights = columns.iter().map(|(_, parts)| height(parts));
    let highest = heights.fold(1.0, f64::max);
    let mut svg = begin_svg("columns", "0 0 1000 200", says);
    for line in [50.0, 100.0, 150.0] {
        push_rectangle(&mut svg, "ground", [0.0, line, 1000.0, 1.0]);
    }
    let count = u32::try_from(columns.len().max(8)).unwrap_or(u32::MAX);
    let step = 1000.0 / f64::from(count);
    let mut x = step * 0.1;
    for (label, column) in columns {
        svg.push_tag("<g><title>");
        svg.push_text(&crate::text::make_visible(label));
        svg.push_tag("</title>");
        let mut y = 200.0;
        for (class, amount) in column.iter().filter(|(_, amount)| *amount > 0.0) {
            let height = amount / highest * 196.0;
            y -= height;
            push_rectangle(&mut svg, class, [x, y, step * 0.8, height]);
        }
        svg.push_tag("</g>");
        x += step;
    }
    svg.push_tag("</svg>");
    svg
}

/// A timeline in one row: each part has a class, a start and a length within `total`.
pub fn span(parts: &[(&'static str, f64, f64)], total: f64, says: &str) -> Markup {
    let mut svg = begin_svg("span", "0 0 1000 16", says);
    let scale = 1000.0 / total.max(1.0);
    push_rectangle(&mut svg, "ground", [0.0, 7.0, 1000.0, 2.0]);
    for (class, from, length) in parts {
        // A minimum width keeps very short parts visible.
        let width = (length * scale).clamp(4.0, 1000.0);
        let x = (from * scale).clamp(0.0, 1000.0 - width);
        push_rectangle(&mut svg, class, [x, 2.0, width, 12.0]);
    }
    svg.push_tag("</svg>");
    svg
}

fn begin_svg(class: &'static str, view: &'static str, says: &str) -> Markup {
    let mut svg = Markup::new();
    svg.push_tag("<svg class=\"chart ");
    svg.push_tag(class);
    svg.push_tag("\" viewBox=\"");
    svg.push_tag(view);
    svg.push_tag("\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"");
    // Markup inside an attribute would be shown as text, so invisible characters are made visible before.
    svg.push_text(&crate::text::make_visible(says));
    svg.push_tag("\">");
    svg
}

fn push_rectangle(svg: &mut Markup, class: &'static str, [x, y, width, height]: [f64; 4]) {
    svg.push_tag("<rect class=\"c-");
    svg.push_tag(class);
    for (name, value) in [
        ("\" x=\"", x),
        ("\" y=\"", y),
        ("\" width=\"", width),
        ("\" height=\"", height),
    ] {
        svg.push_tag(name);
        svg.push_number(value);
    }
    svg.push_tag("\"/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_divide_the_bar_without_rounding_errors() {
        let svg = bar(&[("first", 3.0), ("rescued", 1.0)], "3 of \"4\"");
        assert!(svg.as_str().contains("width=\"750.0\""), "{svg}");
        assert!(
            svg.as_str().contains("aria-label=\"3 of &#34;4&#34;\""),
            "{svg}"
        );
        for empty in [
            bar(&[], ""),
            columns(&[], ""),
            columns(&[(String::new(), vec![])], ""),
            span(&[("agent", 0.0, 0.0)], 0.0, ""),
        ] {
            assert!(!empty.as_str().contains("NaN") && !empty.as_str().contains("inf"));
        }
    }
}
