//! Charts as SVG, rendered on the server: shapes only, coloured by classes of the stylesheet. Every chart is
//! accompanied by its data in text and tables, so that it is optional.

use crate::text::Markup;

/// A part of a bar: class of the stylesheet, and size.
pub type ChartSegment = (&'static str, f64);

/// One horizontal bar with its parts side by side. `label` is the text alternative for screen readers.
pub fn bar(parts: &[ChartSegment], label: &str) -> Markup {
    let total: f64 = parts.iter().map(|(_, amount)| amount).sum();
    let mut svg = begin_svg("bar", "0 0 1000 24", label);
    let mut x = 0.0;
    for (class, amount) in parts.iter().filter(|(_, amount)| *amount > 0.0) {
        let width = amount / total * 1000.0;
        push_rectangle(&mut svg, class, [x, 0.0, width, 24.0]);
        x += width;
    }
    svg.push_tag("</svg>");
    svg
}

/// One column of a plot with its parts stacked, where `highest` fills the height.
pub fn column(parts: &[ChartSegment], highest: f64) -> Markup {
    let mut svg = Markup::new();
    svg.push_tag(
        "<svg class=\"chart column\" viewBox=\"0 0 10 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
    );
    let mut y = 100.0;
    for (class, amount) in parts.iter().filter(|(_, amount)| *amount > 0.0) {
        let height = amount / highest.max(1.0) * 100.0;
        y -= height;
        push_rectangle(&mut svg, class, [0.0, y, 10.0, height]);
    }
    svg.push_tag("</svg>");
    svg
}

/// The end of an axis for values up to `highest`: a round number, of which the half is round too.
pub fn axis_end(highest: u64) -> u64 {
    let mut power = 1_u64;
    while let Some(next) = power.checked_mul(10).filter(|next| *next <= highest) {
        power = next;
    }
    let steps = [2, 4, 6, 8, 10, 20];
    let ends = steps.iter().map(|step| power.saturating_mul(*step));
    let mut ends = ends.filter(|end| *end >= highest);
    ends.next().unwrap_or(highest)
}

/// The end of an axis for durations up to `highest` milliseconds.
pub fn duration_axis_end(highest: u64) -> u64 {
    const SECOND: u64 = 1_000;
    const MINUTE: u64 = 60 * SECOND;
    const HOUR: u64 = 60 * MINUTE;
    let (unit, base) = match highest {
        _ if highest <= SECOND => (1, 10),
        _ if highest <= MINUTE => (SECOND, 60),
        _ if highest <= HOUR => (MINUTE, 60),
        _ => return axis_end(highest.div_ceil(HOUR)) * HOUR,
    };
    let units = highest.div_ceil(unit);
    let end = axis_end(units);
    unit * if base == 60 && end > 30 { 60 } else { end }
}

/// A timeline in one row: each part has a class, a start and a length within `total`.
pub fn span(parts: &[(&'static str, f64, f64)], total: f64, label: &str) -> Markup {
    let mut svg = begin_svg("span", "0 0 1000 16", label);
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

fn begin_svg(class: &'static str, view: &'static str, label: &str) -> Markup {
    let mut svg = Markup::new();
    svg.push_tag("<svg class=\"chart ");
    svg.push_tag(class);
    svg.push_tag("\" viewBox=\"");
    svg.push_tag(view);
    svg.push_tag("\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"");
    // Markup inside an attribute would be shown as text, so invisible characters are made visible before.
    svg.push_text(&crate::text::make_visible(label));
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
    fn axis_ends_at_round_numbers() {
        let ends = [0, 1, 3, 4, 7, 11, 21, 95, 430].map(axis_end);
        assert_eq!(ends, [2, 2, 4, 4, 8, 20, 40, 100, 600]);
        let ends = [756, 3_300, 41_000, 61_000, 5_000_000].map(duration_axis_end);
        assert_eq!(ends, [800, 4_000, 60_000, 120_000, 7_200_000]);
    }

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
            column(&[], 0.0),
            column(&[("first", 0.0)], 0.0),
            span(&[("agent", 0.0, 0.0)], 0.0, ""),
        ] {
            assert!(!empty.as_str().contains("NaN") && !empty.as_str().contains("inf"));
        }
    }
}
